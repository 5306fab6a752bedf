//! The promises of a session, one a test. Two sessions, packets handed over by the test.

mod ends;
mod guesses;
mod packets;
mod previews;
mod rules;

use env_core::{Action, Spec, World};
use protocol::datagram::{Datagram, DatagramLayout, Echo};
use protocol::rules::Rules;
use protocol::{Controller, Era, Seat, Tick};
use rollback::{Config, DatagramError, Session, SessionEvent};

use crate::support::toy::{NOOP, PRESS, Partner, Toy};

const HZ: u16 = 10;
const TICK_US: u64 = 100_000;
const T0_US: u64 = 1_000_000;
const LAYOUT: DatagramLayout = DatagramLayout {
    seats: 2,
    actions: 6,
};
const UP: Action = 1;
const DOWN: Action = 2;
/// Every press enters one tick.
const PRESSES: Rules = Rules {
    until: None,
    turns: false,
    press: true,
};

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
        rules: Default::default(),
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

fn events(session: &mut Session<Toy>) -> Vec<SessionEvent> {
    std::iter::from_fn(|| session.poll_event()).collect()
}

/// Delivers all packets of one session to the other.
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

/// Runs ticks of both in which everything arrives immediately.
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

/// The sender that a packet names.
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
            SessionEvent::Mispredicted {
                seat: Seat(1),
                tick: Tick(1),
                predicted: NOOP,
                actual: UP,
                shown_us: TICK_US
            },
            SessionEvent::RolledBack {
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
    session.record_frame(0, false);
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
    assert!((session.poll_timeout()).is_some_and(|(due_us, _)| due_us <= due(4)));
}

/// The wrong predictions shown of seat 1: tick, prediction, input, how long.
fn mispredictions(session: &mut Session<impl World>) -> Vec<(u32, Action, Action, u64)> {
    let events = std::iter::from_fn(|| session.poll_event());
    let wrong = events.filter_map(|event| match event {
        SessionEvent::Mispredicted {
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
fn where_presses_are_captured_every_wish_enters_one_tick() {
    let mut peers = [0, 1].map(|seat| {
        session(Config {
            rules: PRESSES,
            ..config(seat)
        })
    });
    run(&mut peers, 0..1);
    for action in [UP, UP, DOWN] {
        peers[0].handle_action(due(0), action);
    }
    run(&mut peers, 1..6);
    assert_eq!(column(&peers[1], 0)[..5], [NOOP, UP, UP, DOWN, NOOP]);
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
        .for_each(|peer| assert_eq!(peer.handle_action(due(0) - 3_000, UP), Some(Tick(3))));
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
    assert_eq!(
        events(&mut peers[0]),
        [SessionEvent::Held { since: Tick(4) }]
    );
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
        [SessionEvent::Resumed {
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
    let again = Some((due(3) + TICK_US, "packets to send again"));
    assert_eq!(session.poll_timeout(), again);
    session.handle_timeout(due(3) + TICK_US);
    let resent = packets(&mut session);
    let datagram = Datagram::decode(&resent[0], LAYOUT).unwrap();
    assert_eq!(
        (resent.len(), datagram.first, datagram.inputs.len()),
        (1, Tick(0), 4)
    );
}

#[test]
fn a_digest_is_taken_of_each_quarter_of_a_second_and_of_the_end() {
    for (tick_hz, expected) in [
        (10, &[2, 4, 6, 7][..]),
        (3, &[1, 2, 3, 4, 5, 6, 7][..]),
        (60, &[7][..]),
    ] {
        let config = Config {
            tick_hz,
            controllers: vec![Controller::Human, Controller::Vacant],
            ..config(0)
        };
        let mut session = Session::new(config, Toy::new(2, 7, 7), Vec::new());
        let period_us = 1_000_000 / u64::from(tick_hz) + 1;
        (0..8).for_each(|tick| session.handle_timeout(T0_US + tick * period_us));
        let digests = session.digests().iter();
        let at: Vec<u32> = digests.map(|(tick, _)| tick.0).collect();
        assert_eq!(at, expected, "{tick_hz} Hz");
    }
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
        (session.poll_timeout()).is_some_and(|(due_us, _)| due_us <= due(20)),
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
    assert_eq!(session.poll_timeout(), Some((T0_US, "tick")));
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
        (1..=15).map(|k| 2 * k).collect::<Vec<_>>()
    );
    assert_eq!(
        events(&mut session),
        [SessionEvent::Over { ticks: Tick(30) }]
    );
    assert_eq!(session.poll_timeout(), None);
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
