//! Pages that come back.

use super::*;

#[test]
fn a_person_who_comes_back_is_awaited_from_their_tick_on_and_told_everything_from_the_start() {
    let mut session = session(2);
    Packet::of(2, 1, &[UP, UP], 0)
        .give(&mut session, 0)
        .unwrap();
    session
        .handle_change(0, &take(0, 1, 2, ai(), &[]), partner())
        .unwrap();
    run(&mut session, 0..60);
    run(&mut session, 60..70);
    while session.poll_transmit().is_some() {}
    session
        .handle_change(due(69), &give(1, 1, 75, 10), None)
        .unwrap();
    run(&mut session, 70..120);
    assert_eq!(session.confirmed(), Tick(75));
    assert_eq!(session.current(), Tick(83), "the window beyond");
    let layout = DatagramLayout {
        seats: 2,
        actions: 6,
    };
    session.handle_timeout(due(125));
    let mut told = Vec::new();
    while let Some(packet) = session.poll_transmit() {
        let datagram = Datagram::decode(packet.bytes, layout).unwrap();
        assert_eq!((datagram.changes, datagram.have[1]), (2, Tick(75)));
        told.push((datagram.first.0, datagram.inputs.len()));
    }
    assert_eq!(told, [(10, 40), (50, 33)], "more than one packet holds");
    let back = Packet {
        life: 2,
        changes: 2,
        first: 75,
        ..Packet::of(2, 1, &[DOWN, UP], 83)
    };
    back.give(&mut session, due(125)).unwrap();
    assert_eq!(session.confirmed(), Tick(77));
    let rows = session.rows();
    let column: Vec<_> = rows.chunks(2).map(|row| row[1]).collect();
    assert_eq!(column[75..], [DOWN, UP]);
    assert_eq!(rows[..150], replayed(&rows[..150], 2, &[(1, 2)]));
}

#[test]
fn receipts_of_who_knows_other_changes_count_as_far_as_both_know() {
    let mut session = session(3);
    run(&mut session, 0..8);
    Packet::of(3, 1, &[NOOP; 8], 8)
        .give(&mut session, due(7))
        .unwrap();
    // Seat 2 has inputs of seat 1 up to 8, and so has this page; the cut is at 5.
    Packet::of(3, 2, &[NOOP; 8], 0)
        .give(&mut session, due(7))
        .unwrap();
    session
        .handle_change(due(7), &take(0, 1, 5, ai(), &[]), partner())
        .unwrap();
    session
        .handle_change(due(7), &give(1, 1, 6, 5), None)
        .unwrap();
    let back = Packet {
        life: 2,
        changes: 2,
        first: 6,
        ..Packet::of(3, 1, &[NOOP; 2], 8)
    };
    back.give(&mut session, due(7)).unwrap();
    // An earlier packet: its receipt for seat 1 is for the earlier page.
    Packet::of(3, 2, &[NOOP; 8], 8)
        .give(&mut session, due(7))
        .unwrap();
    assert_eq!(session.confirmed(), Tick(6));
    assert_eq!(session.waiting_for(), Some(Seat(2)));
    // A peer that knows more changes than this page means lives that are unknown here.
    let ahead = Packet {
        changes: 3,
        ..Packet::of(3, 2, &[NOOP; 8], 8)
    };
    ahead.give(&mut session, due(7)).unwrap();
    assert_eq!(session.confirmed(), Tick(6));
    let same = Packet {
        changes: 2,
        ..Packet::of(3, 2, &[NOOP; 8], 8)
    };
    same.give(&mut session, due(7)).unwrap();
    assert_eq!(session.confirmed(), Tick(8));
}

#[test]
fn a_page_that_loses_its_seat_stands_still() {
    let mut session = session(2);
    run(&mut session, 0..3);
    while session.poll_transmit().is_some() {}
    events(&mut session);
    session
        .handle_change(due(2), &take(0, 0, 1, ai(), &[NOOP]), partner())
        .unwrap();
    assert_eq!(events(&mut session), [SessionEvent::Lost { tick: Tick(1) }]);
    run(&mut session, 3..9);
    assert_eq!(session.current(), Tick(3));
    assert!(session.poll_transmit().is_none());
    assert_eq!(session.poll_timeout(), None);
    Packet::of(2, 1, &[UP; 3], 3)
        .give(&mut session, due(9))
        .unwrap();
    assert_eq!(session.confirmed(), Tick(0));
}

/// The state after some ticks of a session that is known to the end, and the changes so far.
fn start(from: &mut Session<Toy>, changes: Vec<Change>) -> Return {
    let rows = from.rows().to_vec();
    let (mut world, ticks) = (Toy::new(2, 1_000, 1_000), rows.len() / 2);
    world.reset(5);
    rows.chunks(2).for_each(|row| _ = world.step(row));
    let mut state = Vec::new();
    world.state(&mut state);
    Return {
        era: Era(3),
        t0_us: 0,
        delay_ms: 70,
        input_delay: 0,
        changes,
        tick: Tick(ticks as u32),
        digest: world.digest(),
        state,
        partners: Vec::new(),
    }
}

#[test]
fn a_page_comes_back_in_the_middle_and_plays_from_its_tick_on() {
    let mut here = session(2);
    Packet::of(2, 1, &[UP, DOWN], 0).give(&mut here, 0).unwrap();
    let changes = vec![
        take(0, 1, 2, Controller::Vacant, &[UP, DOWN]),
        give(1, 1, 9, 6),
    ];
    here.handle_change(0, &changes[0], None).unwrap();
    run(&mut here, 0..6);
    let start = start(&mut here, changes.clone());
    assert_eq!(start.tick, Tick(6));
    here.handle_change(due(5), &changes[1], None).unwrap();
    let world = Toy::new(2, 1_000, 1_000);
    let mut back = Session::resume(config(2, 1), world, |_| None, &start).unwrap();
    assert_eq!((back.first_tick(), back.delay_ms()), (Tick(6), 70));
    assert_eq!((back.rows().len(), back.input_tick()), (0, Tick(9)));
    back.handle_action(due(5), DOWN);
    for tick in 6..16 {
        let now_us = due(tick) + 70_000;
        for session in [&mut here, &mut back] {
            session.handle_timeout(now_us);
        }
        while let Some(packet) = here.poll_transmit() {
            back.handle_datagram(now_us, Seat(0), packet.bytes).unwrap();
        }
        while let Some(packet) = back.poll_transmit() {
            here.handle_datagram(now_us, Seat(1), packet.bytes).unwrap();
        }
    }
    // The last receipt is on its way.
    assert_eq!((here.confirmed(), back.confirmed()), (Tick(16), Tick(15)));
    assert_eq!(here.rows()[12..30], *back.rows());
    let column: Vec<_> = here.rows().chunks(2).map(|row| row[1]).collect();
    assert_eq!(
        column[..9],
        [UP, DOWN, NOOP, NOOP, NOOP, NOOP, NOOP, NOOP, NOOP]
    );
    assert_eq!(column[9..], [DOWN; 7]);
    // One every second tick: of those after its first one, up to what it has confirmed.
    assert_eq!(here.digests()[3..7], *back.digests());
    assert_eq!(here.digests().len(), 8);
}

#[test]
fn a_page_that_comes_back_late_holds_what_it_holds() {
    let mut here = session(2);
    let changes = vec![take(0, 1, 0, Controller::Vacant, &[]), give(1, 1, 3, 2)];
    here.handle_change(0, &changes[0], None).unwrap();
    run(&mut here, 0..2);
    let start = start(&mut here, changes);
    let delayed = Config {
        input_delay: 4,
        ..config(2, 1)
    };
    let world = Toy::new(2, 1_000, 1_000);
    let mut back = Session::resume(delayed, world, |_| None, &start).unwrap();
    back.handle_action(due(1), UP);
    back.handle_timeout(due(3));
    assert_eq!(back.current(), Tick(3));
    assert_eq!(
        back.input_tick(),
        Tick(7),
        "tick 3 and those due by now, at once"
    );
}

#[test]
fn a_state_that_is_another_one_is_refused() {
    let mut here = session(2);
    let changes = vec![take(0, 1, 0, Controller::Vacant, &[]), give(1, 1, 9, 3)];
    here.handle_change(0, &changes[0], None).unwrap();
    run(&mut here, 0..3);
    let good = start(&mut here, changes);
    let resume = |start: &Return| {
        let world = Toy::new(2, 1_000, 1_000);
        Session::resume(config(2, 1), world, |_| None, start).err()
    };
    assert_eq!(resume(&good), None);
    let mut other = good.clone();
    other.digest ^= 1;
    assert!(matches!(resume(&other), Some(ResumeError::Digest { .. })));
    let mut torn = good.clone();
    torn.state.pop();
    assert!(matches!(resume(&torn), Some(ResumeError::State(_))));
    let mut holed = good;
    holed.changes.remove(0);
    assert!(matches!(resume(&holed), Some(ResumeError::Change(_))));
}
