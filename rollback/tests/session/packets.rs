//! Packets: what they measure, and those that are refused.

use super::*;

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
