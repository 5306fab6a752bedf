//! Guesses about other people's actions, and the events for wrong ones.

use super::*;

#[test]
fn a_wrong_guess_is_told_for_every_tick_that_it_was_shown_in() {
    let mut session = session(config(0));
    (0..3).for_each(|tick| session.handle_timeout(due(tick)));
    session
        .handle_datagram(due(3), Seat(1), &packet(0, &[UP]))
        .unwrap();
    assert_eq!(
        mispredictions(&mut session),
        [(0, NOOP, UP, 3 * TICK_US)],
        "of the others it is not known yet"
    );
    session.preview(|_| ());
    // By now ticks 1 and 2 are predicted rightly, but they were not at first.
    session
        .handle_datagram(due(4), Seat(1), &packet(0, &[UP, UP, UP]))
        .unwrap();
    assert_eq!(
        mispredictions(&mut session),
        [(1, NOOP, UP, 2 * TICK_US), (2, NOOP, UP, TICK_US)]
    );
    let stats = session.stats();
    assert_eq!((stats.predicted[1], stats.mispredicted[1]), (3, 3));
    assert_eq!(stats.rollbacks, 1);
}

#[test]
fn every_guess_that_was_wrong_is_told_and_none_that_was_right() {
    let mut session = session(config(0));
    (0..3).for_each(|tick| session.handle_timeout(due(tick)));
    for (late_us, inputs) in [(10, &[UP][..]), (30, &[UP, NOOP]), (60, &[UP, NOOP, DOWN])] {
        let now_us = due(2) + late_us;
        session
            .handle_datagram(now_us, Seat(1), &packet(0, inputs))
            .unwrap();
        session.preview(|_| ());
    }
    assert_eq!(
        mispredictions(&mut session),
        [
            (0, NOOP, UP, 2 * TICK_US + 10),
            // Right at first, then wrong.
            (1, UP, NOOP, 20),
            (2, NOOP, DOWN, 10),
            (2, UP, DOWN, 20),
            (2, NOOP, DOWN, 30),
        ]
    );
    let stats = session.stats();
    assert_eq!((stats.predicted[1], stats.mispredicted[1]), (3, 2));
}

#[test]
fn the_guesses_of_a_tick_are_forgotten_with_it() {
    let mut session = session(config(0));
    // The window has five places: tick 5 is simulated where tick 0 was.
    for tick in 0..8 {
        session.handle_timeout(due(tick));
        let inputs: Vec<_> = (0..=tick)
            .map(|tick| if tick < 3 { UP } else { DOWN })
            .collect();
        session
            .handle_datagram(due(tick) + 5, Seat(1), &acknowledging(&inputs))
            .unwrap();
    }
    assert_eq!(
        mispredictions(&mut session),
        [(0, NOOP, UP, 5), (3, UP, DOWN, 5)]
    );
    let stats = session.stats();
    assert_eq!((stats.predicted[1], stats.mispredicted[1]), (8, 2));
}

#[test]
fn a_right_prediction_costs_nothing() {
    let mut session = session(config(0));
    session.handle_timeout(due(0));
    session
        .handle_datagram(due(0), Seat(1), &packet(0, &[UP]))
        .unwrap();
    (1..4).for_each(|tick| session.handle_timeout(due(tick)));
    events(&mut session);
    session
        .handle_datagram(due(3), Seat(1), &packet(0, &[UP, UP, UP, UP]))
        .unwrap();
    assert_eq!(events(&mut session), []);
    assert_eq!(session.world().state.places[1], 4);
}

#[test]
fn where_presses_are_captured_a_step_of_a_peer_is_not_predicted_again() {
    for (press, steps) in [(true, 1), (false, 3)] {
        let mut session = session(Config {
            rules: Rules { press, ..PRESSES },
            ..config(0)
        });
        session
            .handle_datagram(due(0), Seat(1), &packet(0, &[UP]))
            .unwrap();
        (0..3).for_each(|tick| session.handle_timeout(due(tick)));
        assert_eq!(session.world().state.places[1], steps);
    }
}

#[test]
fn a_press_of_a_peer_is_not_predicted_again() {
    let mut session = session(config(0));
    session
        .handle_datagram(due(0), Seat(1), &packet(0, &[PRESS]))
        .unwrap();
    (0..4).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!(session.world().state.presses, 1);
}

#[test]
fn a_predictor_can_be_replaced() {
    fn stubborn(_spec: &Spec, seat: Seat, _last: Action) -> Action {
        if seat == Seat(1) { DOWN } else { NOOP }
    }
    let mut session = session(config(0)).with_predictor(stubborn);
    (0..3).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!(session.world().state.places[1], -3);
}
