//! The picture of a press before its tick runs.

use super::*;

#[test]
fn a_preview_shows_the_pending_action_and_leaves_nothing() {
    let mut peers = pair(0);
    peers[1].handle_action(due(0) - 3_000, DOWN);
    run(&mut peers, 0..2);
    peers[0].handle_action(due(1), UP);
    let before = peers[0].world().state;
    let mut shown = None;
    peers[0].preview(|world| shown = Some(world.state));
    let shown = shown.unwrap();
    assert_eq!((shown.steps, shown.places[0], shown.places[1]), (3, 1, -3));
    assert_eq!(peers[0].world().state, before);
    run(&mut peers, 2..3);
    assert_eq!(peers[0].world().state, shown, "the preview was right");
}

#[test]
fn before_the_start_only_what_is_held_until_then_counts() {
    let mut session = session(config(0));
    for action in [PRESS, DOWN, PRESS, UP, PRESS] {
        session.handle_action(T0_US - 1, action);
    }
    (0..2).for_each(|tick| session.handle_timeout(due(tick)));
    let state = session.world().state;
    assert_eq!((state.places[0], state.presses), (2, 0));
}

#[test]
fn a_preview_shows_a_press_at_once_through_the_input_delay() {
    for delay in 1..4_u8 {
        let mut peers = pair(delay);
        run(&mut peers, 0..3);
        for peer in &mut peers {
            peer.handle_action(due(3), UP);
            peer.handle_timeout(due(3));
        }
        peers[0].handle_action(due(3) + 1, PRESS);
        let entered = u64::from(peers[0].input_tick().0);
        assert_eq!(entered, 4 + u64::from(delay));
        let before = (peers[0].world().state, peers[0].current());
        let mut shown = None;
        peers[0].preview(|world| shown = Some(world.state));
        let shown = shown.unwrap();
        // The step that is on its way, the press, and the known inputs of the other.
        assert_eq!(
            (shown.steps, shown.places[0], shown.presses),
            (5 + u32::from(delay), 1, 1)
        );
        assert_eq!((peers[0].world().state, peers[0].current()), before);
        exchange(&mut peers, due(3));
        run(&mut peers, 4..5 + entered - 4);
        let own = (peers[0].world().state.places[0], shown.places[0]);
        assert_eq!(own.0, own.1, "the preview was right");
        assert_eq!(peers[0].world().state.presses, shown.presses);
    }
}

#[test]
fn a_preview_ends_with_the_episode_and_looks_no_further_than_a_few_ticks() {
    let delayed = Config {
        input_delay: 20,
        ..config(0)
    };
    let mut shown = 0;
    session(delayed.clone()).preview(|world| shown = world.state.steps);
    assert_eq!(shown, 4);
    let mut ending = Session::new(delayed, Toy::new(2, 3, 3), Vec::new());
    ending.preview(|world| shown = world.state.steps);
    assert_eq!((shown, ending.current()), (3, Tick(0)));
}
