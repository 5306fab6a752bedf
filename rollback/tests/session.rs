//! What a session promises, one promise a test. Two sessions, packets handed over by the test.

mod support;

use env_core::{Action, Spec, World};
use protocol::datagram::{Datagram, Echo, Layout};
use protocol::{Controller, Era, Seat, Tick};
use rollback::{Config, DatagramError, Event, Session};
use support::toy::{NOOP, PRESS, Partner, Toy};

const HZ: u16 = 10;
const TICK_US: u64 = 100_000;
const T0_US: u64 = 1_000_000;
const LAYOUT: Layout = Layout {
    seats: 2,
    actions: 6,
};
const UP: Action = 1;
const DOWN: Action = 2;

fn config(local: u8) -> Config {
    Config {
        era: Era(3),
        local: Some(Seat(local)),
        controllers: vec![Controller::Human; 2],
        seed: 5,
        tick_hz: HZ,
        input_delay: 0,
        window: 4,
        t0_us: T0_US,
    }
}

fn session(config: Config) -> Session<Toy> {
    Session::new(config, Toy::new(2, 1_000, 1_000), Vec::new())
}

fn pair(input_delay: u8) -> [Session<Toy>; 2] {
    [0, 1].map(|seat| {
        session(Config {
            input_delay,
            ..config(seat)
        })
    })
}

/// When tick `k` is due, and a little more.
fn due(tick: u64) -> u64 {
    T0_US + tick * TICK_US + 1_000
}

fn packets(session: &mut Session<Toy>) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| {
        session
            .poll_transmit()
            .map(|transmit| transmit.bytes.to_vec())
    })
    .collect()
}

fn events(session: &mut Session<Toy>) -> Vec<Event> {
    std::iter::from_fn(|| session.poll_event()).collect()
}

/// Everything that one has to say reaches the other.
fn hand_over(from: &mut Session<Toy>, to: &mut Session<Toy>, now_us: u64) {
    for packet in packets(from) {
        to.handle_datagram(now_us, sender(&packet), &packet)
            .expect("an honest packet");
    }
}

fn exchange(peers: &mut [Session<Toy>; 2], now_us: u64) {
    let [left, right] = peers;
    hand_over(left, right, now_us);
    hand_over(right, left, now_us);
}

/// A tick of both in which everything arrives at once.
fn run(peers: &mut [Session<Toy>; 2], ticks: std::ops::Range<u64>) {
    for tick in ticks {
        peers
            .iter_mut()
            .for_each(|peer| peer.handle_timeout(due(tick)));
        exchange(peers, due(tick));
    }
}

/// A packet from seat 1 with these inputs, and receipts for nothing.
fn packet(first: u32, inputs: &[Action]) -> Vec<u8> {
    packet_with(first, inputs, 0)
}

/// A packet from seat 1 with its inputs from tick 0 on, which has as many of the other.
fn acknowledging(inputs: &[Action]) -> Vec<u8> {
    packet_with(0, inputs, inputs.len() as u32)
}

fn packet_with(first: u32, inputs: &[Action], have: u32) -> Vec<u8> {
    let end = Tick(first + inputs.len() as u32);
    let datagram = Datagram {
        era: Era(3),
        from: Seat(1),
        first: Tick(first),
        inputs: inputs.to_vec(),
        have: vec![Tick(have), end],
        ..Datagram::default()
    };
    let mut bytes = Vec::new();
    datagram.encode(LAYOUT, &mut bytes);
    bytes
}

/// Whose a packet says that it is.
fn sender(packet: &[u8]) -> Seat {
    Seat(packet[0] >> 4)
}

/// Column of a seat in the confirmed rows.
fn column(session: &Session<Toy>, seat: usize) -> Vec<Action> {
    session.rows().chunks(2).map(|row| row[seat]).collect()
}

#[test]
fn late_input_rolls_back_to_its_tick() {
    let mut session = session(config(0));
    (0..3).for_each(|tick| session.handle_timeout(due(tick)));
    session
        .handle_datagram(due(2), Seat(1), &packet(0, &[NOOP, UP]))
        .unwrap();
    session.handle_timeout(due(2));
    assert_eq!(
        events(&mut session),
        [
            Event::Mispredicted {
                seat: Seat(1),
                tick: Tick(1),
                predicted: NOOP,
                actual: UP,
                shown_us: TICK_US
            },
            Event::RolledBack {
                at: Tick(3),
                depth: 2
            }
        ]
    );
    // Tick 1 is true, tick 2 is predicted from it.
    assert_eq!(session.world().state.places[1], 2);
    assert_eq!(
        (
            session.stats().predicted[1],
            session.stats().mispredicted[1]
        ),
        (2, 1)
    );
}

#[test]
fn however_many_packets_come_between_two_wakes_there_is_one_rollback() {
    let mut session = session(config(0));
    (0..3).for_each(|tick| session.handle_timeout(due(tick)));
    for inputs in [&[UP][..], &[UP, DOWN], &[UP, DOWN, UP]] {
        session
            .handle_datagram(due(2), Seat(1), &acknowledging(inputs))
            .unwrap();
        assert_eq!(session.stats().rollbacks, 0);
        assert_eq!(session.confirmed(), Tick(0), "the rows are not true yet");
    }
    session.handle_timeout(due(2));
    let stats = session.stats();
    assert_eq!((stats.rollbacks, stats.resimulated), (1, 3));
    assert_eq!(session.confirmed(), Tick(3));
    assert_eq!(column(&session, 1), [UP, DOWN, UP]);
}

#[test]
fn whoever_looks_sees_all_that_is_known() {
    let late = || {
        let mut session = session(config(0));
        (0..3).for_each(|tick| session.handle_timeout(due(tick)));
        session
            .handle_datagram(due(2), Seat(1), &packet(0, &[UP]))
            .unwrap();
        session
    };
    assert_eq!(late().world().state.places[1], 3);
    let mut shown = 0;
    late().preview(|world| shown = world.state.places[1]);
    assert_eq!(shown, 4);
    let mut session = late();
    session.seen(0, false);
    assert_eq!(session.stats().rollbacks, 1, "a frame tells what is shown");
}

#[test]
fn who_waits_goes_on_as_soon_as_a_packet_allows_it() {
    let mut session = session(config(0));
    (0..6).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!(session.current(), Tick(4), "the window is used up");
    session
        .handle_datagram(due(5), Seat(1), &acknowledging(&[UP]))
        .unwrap();
    assert_eq!(session.confirmed(), Tick(1));
    assert!(session.poll_timeout() <= due(4));
}

/// What was wrongly shown of seat 1: tick, prediction, input, how long.
fn mispredictions(session: &mut Session<impl World>) -> Vec<(u32, Action, Action, u64)> {
    let events = std::iter::from_fn(|| session.poll_event());
    let wrong = events.filter_map(|event| match event {
        Event::Mispredicted {
            seat: Seat(1),
            tick,
            predicted,
            actual,
            shown_us,
        } => Some((tick.0, predicted, actual, shown_us)),
        _ => None,
    });
    wrong.collect()
}

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

#[test]
fn a_lasting_action_holds_and_a_press_enters_one_tick() {
    let mut peers = pair(0);
    peers[0].handle_action(due(0) - 2_000, UP);
    run(&mut peers, 0..2);
    peers[0].handle_action(due(1), PRESS);
    run(&mut peers, 2..5);
    peers[0].handle_action(due(4), NOOP);
    run(&mut peers, 5..8);
    assert_eq!(column(&peers[1], 0)[..6], [UP, UP, PRESS, UP, UP, NOOP]);
}

#[test]
fn a_press_shorter_than_a_tick_is_not_lost() {
    let mut peers = pair(0);
    run(&mut peers, 0..1);
    for action in [UP, NOOP, PRESS, PRESS] {
        peers[0].handle_action(due(0), action);
    }
    run(&mut peers, 1..7);
    assert_eq!(column(&peers[1], 0)[1..6], [UP, PRESS, PRESS, NOOP, NOOP]);
}

#[test]
fn an_action_that_does_not_exist_is_the_noop() {
    let mut peers = pair(0);
    peers[0].handle_action(due(0) - 3_000, UP);
    run(&mut peers, 0..1);
    peers[0].handle_action(due(0), 77);
    run(&mut peers, 1..4);
    assert_eq!(column(&peers[1], 0)[..3], [UP, NOOP, NOOP]);
}

#[test]
fn input_delay_is_the_same_for_both_and_told() {
    let mut peers = pair(3);
    assert_eq!(peers[0].input_tick(), Tick(3));
    peers
        .iter_mut()
        .for_each(|peer| peer.handle_action(due(0) - 3_000, UP));
    run(&mut peers, 0..6);
    assert_eq!(peers[0].input_tick(), Tick(9));
    for seat in [0, 1] {
        assert_eq!(column(&peers[0], seat)[..5], [NOOP, NOOP, NOOP, UP, UP]);
    }
    assert_eq!(
        peers[0].stats().rollbacks + peers[1].stats().rollbacks,
        0,
        "the delay hides the network"
    );
}

#[test]
fn the_window_holds_and_the_hold_is_told() {
    let mut peers = pair(0);
    (0..7).for_each(|tick| peers[0].handle_timeout(due(tick)));
    assert_eq!(
        (peers[0].current(), peers[0].confirmed()),
        (Tick(4), Tick(0))
    );
    assert_eq!(events(&mut peers[0]), [Event::Held { since: Tick(4) }]);
    (0..4).for_each(|_| peers[1].handle_timeout(due(6)));
    exchange(&mut peers, due(6));
    exchange(&mut peers, due(6));
    for peer in &mut peers {
        (0..4).for_each(|_| peer.handle_timeout(due(6)));
    }
    exchange(&mut peers, due(6));
    assert_eq!(peers[0].current(), Tick(7), "no due tick is left out");
    assert_eq!(
        events(&mut peers[0]),
        [Event::Resumed {
            since: Tick(4),
            held_ms: 200
        }]
    );
    assert_eq!(peers[0].stats().held_us, 200_000);
}

#[test]
fn a_held_session_resends_at_the_tick_rate() {
    let mut session = session(config(0));
    (0..4).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!(
        packets(&mut session).len(),
        1,
        "one packet for each peer, however many ticks ran"
    );
    session.handle_timeout(due(3) + TICK_US / 2);
    assert_eq!(packets(&mut session).len(), 0);
    assert_eq!(session.poll_timeout(), due(3) + TICK_US);
    session.handle_timeout(due(3) + TICK_US);
    let resent = packets(&mut session);
    let datagram = Datagram::decode(&resent[0], LAYOUT).unwrap();
    assert_eq!(
        (resent.len(), datagram.first, datagram.inputs.len()),
        (1, Tick(0), 4)
    );
}

#[test]
fn catching_up_takes_a_few_ticks_a_call() {
    let mut session = session(Config {
        window: 16,
        ..config(0)
    });
    session.handle_timeout(due(20));
    assert_eq!(session.current(), Tick(4));
    assert!(
        session.poll_timeout() <= due(20),
        "it wants to go on at once"
    );
}

#[test]
fn nothing_is_sent_and_nothing_runs_before_the_start() {
    let mut session = session(config(0));
    session.handle_timeout(T0_US - 1);
    assert_eq!(
        (session.current(), packets(&mut session).len()),
        (Tick(0), 0)
    );
    assert_eq!(session.poll_timeout(), T0_US);
}

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
        // The step that is on its way, the press, and of the other what is known of it.
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

#[test]
fn partners_play_alone_with_one_person_and_are_confirmed_at_once() {
    let controllers = vec![
        Controller::Ai {
            policy: "toy".into(),
        },
        Controller::Human,
    ];
    let config = Config {
        controllers,
        ..config(1)
    };
    let partners = vec![Some(Box::new(Partner::new(false)) as _), None];
    let mut session = Session::new(config, Toy::new(2, 30, 30), partners);
    for tick in 0..30 {
        session.handle_timeout(due(tick));
        assert_eq!(session.confirmed(), session.current());
    }
    assert_eq!(packets(&mut session).len(), 0);
    assert_eq!(session.ended(), Some(Tick(30)));
    assert_eq!(
        session.world().saves,
        0,
        "nothing is predicted, so nothing is saved"
    );
    assert!(
        column(&session, 0)
            .windows(2)
            .any(|pair| pair[0] != pair[1])
    );
    assert_eq!(
        session
            .digests()
            .iter()
            .map(|(at, _)| at.0)
            .collect::<Vec<_>>(),
        [10, 20, 30]
    );
    assert_eq!(events(&mut session), [Event::Over { ticks: Tick(30) }]);
    assert_eq!(session.poll_timeout(), u64::MAX);
}

#[test]
fn a_predicted_end_waits_and_goes_on_if_it_was_wrong() {
    let mut session = Session::new(config(0), Ends::on_noop(), Vec::new());
    (0..8).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!((session.current(), session.ended()), (Tick(3), None));
    assert_eq!(std::iter::from_fn(|| session.poll_event()).count(), 0);
    // The peer did not do what was predicted: the world goes on.
    session
        .handle_datagram(due(8), Seat(1), &packet(0, &[NOOP, NOOP, UP]))
        .unwrap();
    session.handle_timeout(due(8));
    assert_eq!((session.current() > Tick(3), session.ended()), (true, None));
}

#[test]
fn a_tick_that_runs_again_after_a_wrong_end_keeps_its_own_input() {
    let mut session = Session::new(config(0), Ends::on_noop(), Vec::new());
    session
        .handle_datagram(due(0), Seat(1), &packet(0, &[UP]))
        .unwrap();
    (0..4).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!(
        (session.current(), session.input_tick()),
        (Tick(4), Tick(4))
    );
    session
        .handle_datagram(due(3), Seat(1), &packet(0, &[UP, NOOP]))
        .unwrap();
    assert_eq!(session.current(), Tick(3), "an end was found on the way");
    session
        .handle_datagram(due(3), Seat(1), &packet(0, &[UP, NOOP, UP]))
        .unwrap();
    session.handle_timeout(due(3));
    assert_eq!(
        (session.current(), session.input_tick()),
        (Tick(4), Tick(4))
    );
}

#[test]
fn a_guess_beyond_a_predicted_end_counts_as_long_as_it_was_shown() {
    let mut session = Session::new(config(0), Ends::on_noop(), Vec::new());
    session
        .handle_datagram(due(0), Seat(1), &packet(0, &[UP]))
        .unwrap();
    (0..4).for_each(|tick| session.handle_timeout(due(tick)));
    session
        .handle_datagram(due(3) + 10, Seat(1), &packet(0, &[UP, NOOP]))
        .unwrap();
    assert_eq!(session.current(), Tick(3), "an end was found on the way");
    session
        .handle_datagram(due(3) + 30, Seat(1), &packet(0, &[UP, NOOP, UP, DOWN]))
        .unwrap();
    let [.., last] = mispredictions(&mut session)[..] else {
        panic!("nothing was wrong");
    };
    assert_eq!(last, (3, UP, DOWN, 10), "not the 20 us of the end");
    let stats = session.stats();
    assert_eq!((stats.predicted[1], stats.mispredicted[1]), (3, 2));
}

/// The toy, but it ends after a third step in which seat 1 does nothing.
struct Ends {
    toy: Toy,
    outcome: env_core::Outcome,
}

impl Ends {
    fn on_noop() -> Self {
        Self {
            toy: Toy::new(2, 1_000, 1_000),
            outcome: env_core::Outcome::default(),
        }
    }
}

impl World for Ends {
    fn spec(&self) -> &Spec {
        self.toy.spec()
    }
    fn reset(&mut self, seed: u64) {
        self.toy.reset(seed);
    }
    fn step(&mut self, actions: &[Action]) -> &env_core::Outcome {
        self.toy.step(actions);
        self.outcome.over = self.toy.state.steps == 3 && actions[1] == NOOP;
        &self.outcome
    }
    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        self.toy.observe(seat, out);
    }
    fn save(&mut self, slot: usize) {
        self.toy.save(slot);
    }
    fn load(&mut self, slot: usize) {
        self.toy.load(slot);
    }
    fn digest(&mut self) -> u64 {
        self.toy.digest()
    }
    fn state(&mut self, out: &mut Vec<u8>) {
        self.toy.state(out);
    }
    fn restore(&mut self, bytes: &[u8]) -> Result<(), env_core::contract::StateError> {
        self.toy.restore(bytes)
    }
    fn score(&mut self) -> i64 {
        self.toy.score()
    }
    fn draw(&mut self, out: &mut env_core::draw::DrawList) {
        self.toy.draw(out);
    }
    fn describe(&mut self, seat: usize, out: &mut String) {
        self.toy.describe(seat, out);
    }
    fn inject(&mut self, draws: &[u32]) {
        self.toy.inject(draws);
    }
}

#[test]
fn two_finished_sessions_fall_silent() {
    let mut peers = [0, 1].map(|seat| Session::new(config(seat), Toy::new(2, 20, 20), Vec::new()));
    run(&mut peers, 0..20);
    exchange(&mut peers, due(20));
    for tick in 20..24 {
        peers
            .iter_mut()
            .for_each(|peer| peer.handle_timeout(due(tick)));
        exchange(&mut peers, due(tick));
    }
    for peer in &mut peers {
        assert!(peer.finished());
        assert_eq!(peer.ended(), Some(Tick(20)));
        assert_eq!(peer.poll_timeout(), u64::MAX);
        peer.handle_timeout(due(30));
        assert_eq!(packets(peer).len(), 0);
    }
}

#[test]
fn a_finished_session_answers_a_peer_that_has_not_heard() {
    let mut peers = [0, 1].map(|seat| Session::new(config(seat), Toy::new(2, 20, 20), Vec::new()));
    run(&mut peers, 0..20);
    // Seat 1 hears that seat 0 is done; what it says itself from then on is lost.
    for tick in 20..24 {
        peers
            .iter_mut()
            .for_each(|peer| peer.handle_timeout(due(tick)));
        let [left, right] = &mut peers;
        packets(right);
        hand_over(left, right, due(tick));
        packets(right);
    }
    assert!(peers[1].finished() && !peers[0].finished());
    assert_eq!(peers[1].poll_timeout(), u64::MAX);
    peers[0].handle_timeout(due(24));
    exchange(&mut peers, due(24));
    assert!(peers[0].finished());
    exchange(&mut peers, due(25));
    assert_eq!(peers.each_mut().map(|peer| packets(peer).len()), [0, 0]);
}

#[test]
fn the_round_trip_is_measured_without_the_time_that_the_peer_held_it() {
    let mut session = session(config(0));
    session.handle_timeout(due(0));
    let sent = Datagram::decode(&packets(&mut session)[0], LAYOUT).unwrap();
    let mut answer = Datagram::decode(&packet(0, &[UP]), LAYOUT).unwrap();
    answer.echo = Some(Echo {
        sent_ms: sent.sent_ms,
        held_ms: 40,
    });
    let mut bytes = Vec::new();
    answer.encode(LAYOUT, &mut bytes);
    session
        .handle_datagram(due(0) + 100_000, Seat(1), &bytes)
        .unwrap();
    assert_eq!(session.rtt_us(Seat(1)), 60_000);
    assert_eq!(session.rtt_us(Seat(200)), 0);
}

#[test]
fn packets_that_are_not_for_this_session_are_dropped_and_counted() {
    let mut session = session(config(0));
    session.handle_timeout(due(0));
    let mut refused = |change: fn(&mut Datagram)| {
        let mut datagram = Datagram::decode(&packet(0, &[UP]), LAYOUT).unwrap();
        change(&mut datagram);
        let mut bytes = Vec::new();
        datagram.encode(LAYOUT, &mut bytes);
        session
            .handle_datagram(due(0), datagram.from, &bytes)
            .unwrap_err()
    };
    assert_eq!(
        refused(|datagram| datagram.era = Era(4)),
        DatagramError::Era
    );
    assert_eq!(
        refused(|datagram| datagram.from = Seat(0)),
        DatagramError::Sender(Seat(0))
    );
    assert_eq!(
        refused(|datagram| datagram.have[0] = Tick(2)),
        DatagramError::Receipt(Tick(2))
    );
    assert!(matches!(
        session.handle_datagram(due(0), Seat(1), &[]),
        Err(DatagramError::Decode(_))
    ));
    assert_eq!(session.stats().dropped, 4);
    assert_eq!(session.stats().datagrams_received, 4);
    assert_eq!(
        session.world().state.places[1],
        0,
        "nothing of them had an effect"
    );
}

#[test]
fn the_first_input_for_a_tick_stays_and_another_is_counted() {
    let mut session = session(config(0));
    session.handle_timeout(due(0));
    session
        .handle_datagram(due(0), Seat(1), &packet(0, &[UP, UP]))
        .unwrap();
    session
        .handle_datagram(due(0), Seat(1), &packet(0, &[DOWN, UP, UP]))
        .unwrap();
    assert_eq!(session.stats().equivocations, 1);
    assert_eq!(session.world().state.places[1], 1);
}

#[test]
fn a_gap_is_not_bridged() {
    let mut session = session(config(0));
    session.handle_timeout(due(0));
    session
        .handle_datagram(due(0), Seat(1), &packet(2, &[UP, UP]))
        .unwrap();
    assert_eq!(
        (session.stats().predicted[1], session.stats().rollbacks),
        (0, 0)
    );
}

#[test]
fn settings_out_of_range_are_clamped() {
    let session = session(Config {
        input_delay: 200,
        window: 0,
        tick_hz: 0,
        local: Some(Seat(9)),
        ..config(0)
    });
    let config = session.config();
    assert_eq!(
        (
            config.input_delay,
            config.window,
            config.tick_hz,
            config.local
        ),
        (39, 1, 1, None)
    );
}

mod any_bytes {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn never_panic_nor_take_more_than_is_there(
            frames in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..60), 0u64..4), 0..80),
            delay in 0u8..5,
        ) {
            let mut session = session(Config { input_delay: delay, ..config(0) });
            let mut now_us = T0_US;
            for (mut bytes, ticks) in frames {
                now_us += ticks * TICK_US;
                // Most of them get past the version, the seat and the era.
                for (byte, right) in bytes.iter_mut().zip([0x12, 3, 0, 0, 0, ticks as u8, 0, 0]) {
                    *byte = right;
                }
                let _ = session.handle_datagram(now_us, Seat(1), &bytes);
                session.handle_timeout(now_us);
                while let Some(transmit) = session.poll_transmit() {
                    prop_assert!(Datagram::decode(transmit.bytes, LAYOUT).is_ok());
                }
                prop_assert!(session.confirmed() <= session.current());
            }
        }
    }
}
