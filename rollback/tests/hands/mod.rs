//! Seats that change hands, one promise a test.

mod anything;
mod returns;

use env_core::{Policy, World};
use protocol::change::Change;
use protocol::control::Return;
use protocol::datagram::{Datagram, DatagramLayout};
use protocol::{Controller, Era, Life, Seat, Tick};
use rollback::{ChangeError, Config, DatagramError, ResumeError, Session, SessionEvent};

use crate::support::toy::{NOOP, Partner, Toy};

const HZ: u16 = 10;
const TICK_US: u64 = 100_000;
const UP: u16 = 1;
const DOWN: u16 = 2;

fn config(people: u8, local: u8) -> Config {
    Config {
        era: Era(3),
        local: Some(Seat(local)),
        controllers: vec![Controller::Human; usize::from(people)],
        seed: 5,
        tick_hz: HZ,
        input_delay: 0,
        window: 8,
        t0_us: 0,
        rules: Default::default(),
    }
}

fn session(people: u8) -> Session<Toy> {
    Session::new(
        config(people, 0),
        Toy::new(people, 1_000, 1_000),
        Vec::new(),
    )
}

fn due(tick: u64) -> u64 {
    tick * TICK_US + 1_000
}

fn ai() -> Controller {
    Controller::Ai {
        policy: "toy".into(),
    }
}

fn partner() -> Option<Box<dyn Policy>> {
    Some(Box::new(Partner::new(false)))
}

fn take(number: u16, seat: u8, tick: u32, controller: Controller, inputs: &[u16]) -> Change {
    Change {
        number,
        seat: Seat(seat),
        tick: Tick(tick),
        controller,
        life: Life(number as u8 + 1),
        from: Tick(0),
        inputs: inputs.to_vec(),
        key: None,
    }
}

fn give(number: u16, seat: u8, tick: u32, from: u32) -> Change {
    Change {
        from: Tick(from),
        ..take(number, seat, tick, Controller::Human, &[])
    }
}

/// A packet of a seat: its inputs, and up to where it has everybody's.
#[derive(Clone, Debug)]
struct Packet {
    seats: u8,
    from: u8,
    life: u8,
    changes: u8,
    first: u32,
    inputs: Vec<u16>,
    have: u32,
}

impl Packet {
    fn of(seats: u8, from: u8, inputs: &[u16], have: u32) -> Self {
        Self {
            seats,
            from,
            life: 0,
            changes: 0,
            first: 0,
            inputs: inputs.to_vec(),
            have,
        }
    }

    /// The packet comes, and wakes the page.
    fn give(self, session: &mut Session<Toy>, now_us: u64) -> Result<(), DatagramError> {
        let datagram = Datagram {
            era: Era(3),
            from: Seat(self.from),
            life: Life(self.life),
            changes: self.changes,
            first: Tick(self.first),
            inputs: self.inputs,
            have: vec![Tick(self.have); usize::from(self.seats)],
            ..Datagram::default()
        };
        let layout = DatagramLayout {
            seats: self.seats,
            actions: 6,
        };
        let mut bytes = Vec::new();
        datagram.encode(layout, &mut bytes);
        session.handle_datagram(now_us, Seat(self.from), &bytes)?;
        session.handle_timeout(now_us);
        Ok(())
    }
}

fn events(session: &mut Session<Toy>) -> Vec<SessionEvent> {
    std::iter::from_fn(|| session.poll_event()).collect()
}

fn run(session: &mut Session<Toy>, ticks: std::ops::Range<u64>) {
    ticks.for_each(|tick| session.handle_timeout(due(tick)));
}

/// The same rows again, in a fresh world with partners that begin where they are said to.
fn replayed(rows: &[u16], seats: usize, begins: &[(usize, u32)]) -> Vec<u16> {
    let mut world = Toy::new(seats as u8, 1_000, 1_000);
    world.reset(5);
    let mut partners: Vec<Option<Partner>> = (0..seats).map(|_| None).collect();
    let (mut out, mut observation) = (Vec::new(), Vec::new());
    for (tick, row) in rows.chunks(seats).enumerate() {
        for &(seat, _) in begins.iter().filter(|(_, from)| *from as usize == tick) {
            let mut partner = Partner::new(false);
            partner.reset(seat, 5);
            partners[seat] = Some(partner);
        }
        let mut row = row.to_vec();
        for (seat, partner) in partners.iter_mut().enumerate() {
            if let Some(partner) = partner {
                world.observe(seat, &mut observation);
                let action = partner.act(&observation);
                row[seat] = if action < 6 { action } else { NOOP };
            }
        }
        world.step(&row);
        out.extend(row);
    }
    out
}

#[test]
fn a_taken_seat_is_filled_up_to_the_cut_and_played_by_the_partner_from_there() {
    let mut session = session(2);
    run(&mut session, 0..6);
    Packet::of(2, 1, &[UP], 1)
        .give(&mut session, due(5))
        .unwrap();
    events(&mut session);
    let change = take(0, 1, 3, ai(), &[UP, DOWN, DOWN]);
    session.handle_change(due(5), &change, partner()).unwrap();
    let seen = events(&mut session);
    assert!(
        seen.contains(&SessionEvent::Mispredicted {
            seat: Seat(1),
            tick: Tick(1),
            predicted: UP,
            actual: DOWN,
            // It was simulated with the no-op first, and with this only when the input of tick 0 had come.
            shown_us: 0,
        }),
        "{seen:?}"
    );
    assert!(seen.contains(&SessionEvent::RolledBack {
        at: Tick(6),
        depth: 5
    }));
    assert_eq!(session.confirmed(), Tick(6), "nobody else is awaited");
    let rows = session.rows().to_vec();
    let column: Vec<_> = rows.chunks(2).map(|row| row[1]).collect();
    assert_eq!(column[..3], [UP, DOWN, DOWN]);
    assert_eq!(rows, replayed(&rows, 2, &[(1, 3)]));
}

#[test]
fn a_partner_begins_afresh_each_time_that_its_first_tick_is_simulated() {
    let mut session = session(3);
    run(&mut session, 0..4);
    Packet::of(3, 1, &[UP], 1)
        .give(&mut session, due(3))
        .unwrap();
    Packet::of(3, 2, &[NOOP, UP], 1)
        .give(&mut session, due(3))
        .unwrap();
    let change = take(0, 1, 2, ai(), &[UP, DOWN]);
    session.handle_change(due(3), &change, partner()).unwrap();
    run(&mut session, 4..6);
    // What seat 2 really did takes the partner's first tick back twice.
    for inputs in [&[NOOP, UP, DOWN][..], &[NOOP, UP, DOWN, UP, UP, DOWN]] {
        let packet = Packet {
            changes: 1,
            ..Packet::of(3, 2, inputs, 6)
        };
        packet.give(&mut session, due(5)).unwrap();
    }
    assert_eq!(session.confirmed(), Tick(6));
    let rows = session.rows().to_vec();
    assert_eq!(rows, replayed(&rows, 3, &[(1, 2)]));
    assert!(session.stats().rollbacks >= 3);
}

#[test]
fn a_vacant_seat_does_nothing() {
    let mut session = session(2);
    Packet::of(2, 1, &[UP, UP], 0)
        .give(&mut session, 0)
        .unwrap();
    let change = take(0, 1, 2, Controller::Vacant, &[]);
    session.handle_change(0, &change, None).unwrap();
    run(&mut session, 0..6);
    let column: Vec<_> = session.rows().chunks(2).map(|row| row[1]).collect();
    assert_eq!(column, [UP, UP, NOOP, NOOP, NOOP, NOOP]);
}

#[test]
fn a_change_beyond_what_is_simulated_waits_for_its_tick() {
    let mut session = session(2);
    run(&mut session, 0..2);
    Packet::of(2, 1, &[UP; 4], 2)
        .give(&mut session, due(1))
        .unwrap();
    events(&mut session);
    session
        .handle_change(due(1), &take(0, 1, 4, ai(), &[]), partner())
        .unwrap();
    assert_eq!(events(&mut session), []);
    run(&mut session, 2..7);
    let rows = session.rows().to_vec();
    assert_eq!((rows.len(), &rows), (14, &replayed(&rows, 2, &[(1, 4)])));
}

#[test]
fn changes_come_once_and_in_order_and_only_where_nothing_is_final() {
    let mut session = session(2);
    run(&mut session, 0..3);
    Packet::of(2, 1, &[UP; 3], 3)
        .give(&mut session, due(2))
        .unwrap();
    assert_eq!(session.confirmed(), Tick(3));
    session.handle_durable(Tick(9), Tick(9));
    assert_eq!(session.settled(), Tick(3), "no more than is simulated here");
    let late = session.handle_change(due(2), &take(0, 1, 2, ai(), &[]), partner());
    assert_eq!(
        late,
        Err(ChangeError::Settled {
            tick: Tick(2),
            settled: Tick(3)
        })
    );
    let second = take(1, 1, 9, ai(), &[]);
    let refused = session.handle_change(due(2), &second, partner());
    assert_eq!(
        refused,
        Err(ChangeError::Order {
            expected: 0,
            found: 1
        })
    );
    let nowhere = take(0, 7, 5, ai(), &[]);
    let refused = session.handle_change(due(2), &nowhere, partner());
    assert_eq!(refused, Err(ChangeError::Seat(Seat(7))));
    let gap = take(0, 1, 6, ai(), &[UP]);
    let refused = session.handle_change(due(2), &gap, partner());
    assert_eq!(
        refused,
        Err(ChangeError::Gap {
            seat: Seat(1),
            from: Tick(3)
        })
    );
    assert_eq!(session.changes(), 0);
    let change = take(0, 1, 3, ai(), &[]);
    for _ in 0..2 {
        assert_eq!(session.handle_change(due(2), &change, partner()), Ok(()));
    }
    assert_eq!(session.changes(), 1);
}

#[test]
fn where_a_person_said_two_things_the_durable_one_counts() {
    let mut session = session(2);
    run(&mut session, 0..3);
    Packet::of(2, 1, &[UP, UP, UP], 0)
        .give(&mut session, due(2))
        .unwrap();
    let change = take(0, 1, 3, Controller::Vacant, &[UP, DOWN, UP]);
    session.handle_change(due(2), &change, None).unwrap();
    let column: Vec<_> = session.rows().chunks(2).map(|row| row[1]).collect();
    assert_eq!(column, [UP, DOWN, UP]);
    assert_eq!(session.stats().equivocations, 1);
    assert_eq!(session.world().state.places[1], 1);
}

#[test]
fn a_cut_before_what_is_confirmed_is_gone_back_to_and_played_on_from_there() {
    let mut session = session(2);
    for tick in 0..40 {
        let packet = Packet {
            first: tick,
            ..Packet::of(2, 1, &[UP], tick)
        };
        packet.give(&mut session, due(u64::from(tick))).unwrap();
        session.handle_action(due(u64::from(tick)), DOWN);
    }
    assert!(session.confirmed() >= Tick(39));
    session.handle_durable(Tick(7), Tick(7));
    events(&mut session);
    let before = session.rows().to_vec();
    // Far beyond the window of 8.
    session
        .handle_change(due(40), &take(0, 1, 9, ai(), &[UP, UP]), partner())
        .unwrap();
    assert_eq!(session.confirmed(), session.current());
    assert_eq!(session.current(), Tick(40), "it plays on where it was");
    let rows = session.rows().to_vec();
    assert_eq!(rows[..18], before[..18]);
    assert_eq!(rows, replayed(&rows, 2, &[(1, 9)]));
    assert!(
        rows.chunks(2)
            .zip(before.chunks(2))
            .all(|(now, then)| now[0] == then[0]),
        "everybody's own inputs stay"
    );
    assert_eq!(session.digests().len(), 20);
    assert_eq!(session.settled(), Tick(7));
}

#[test]
fn a_cut_goes_back_to_the_tick_in_which_a_partner_begins() {
    let controllers = vec![Controller::Human, Controller::Human, ai()];
    let config = Config {
        controllers,
        ..config(3, 0)
    };
    let mut session = Session::new(
        config,
        Toy::new(3, 1_000, 1_000),
        vec![None, None, partner()],
    );
    for tick in 0..40 {
        let packet = Packet {
            first: tick,
            ..Packet::of(3, 1, &[UP], tick)
        };
        packet.give(&mut session, due(u64::from(tick))).unwrap();
        session.handle_action(due(u64::from(tick)), DOWN);
    }
    assert!(session.confirmed() >= Tick(39));
    // The partner of seat 2 begins with the episode, before any other state is kept.
    let first = take(0, 1, 3, ai(), &[UP, DOWN, UP]);
    session.handle_change(due(40), &first, partner()).unwrap();
    let rows = session.rows().to_vec();
    assert_eq!(rows, replayed(&rows, 3, &[(1, 3), (2, 0)]));
    assert_eq!(session.current(), Tick(40));
}

#[test]
fn a_cut_before_the_end_takes_the_end_back() {
    let world = || Toy::new(2, 12, 12);
    let mut session = Session::new(config(2, 0), world(), Vec::new());
    for tick in 0..12 {
        let packet = Packet {
            first: tick,
            ..Packet::of(2, 1, &[UP], tick)
        };
        packet.give(&mut session, due(u64::from(tick))).unwrap();
    }
    run(&mut session, 12..14);
    Packet {
        first: 12,
        ..Packet::of(2, 1, &[], 12)
    }
    .give(&mut session, due(14))
    .unwrap();
    assert_eq!(session.ended(), Some(Tick(12)));
    events(&mut session);
    let change = take(0, 1, 10, Controller::Vacant, &[UP]);
    session.handle_change(due(14), &change, None).unwrap();
    assert_eq!(
        session.ended(),
        Some(Tick(12)),
        "nobody is awaited any more"
    );
    let over = SessionEvent::Over { ticks: Tick(12) };
    assert!(events(&mut session).contains(&over), "told again");
    let column: Vec<_> = session.rows().chunks(2).map(|row| row[1]).collect();
    assert_eq!(column[9..], [UP, NOOP, NOOP]);
}

#[test]
fn inputs_from_the_server_add_to_others_and_replace_what_is_not_final() {
    let mut session = session(2);
    run(&mut session, 0..6);
    Packet::of(2, 1, &[UP, UP, UP], 6)
        .give(&mut session, due(5))
        .unwrap();
    assert_eq!(session.confirmed(), Tick(3));
    session.handle_durable(Tick(1), Tick(1));
    session.handle_inputs(
        due(5),
        Seat(1),
        Life(0),
        Tick(0),
        &[DOWN, DOWN, UP, DOWN, DOWN],
    );
    assert_eq!(session.confirmed(), Tick(5));
    let column: Vec<_> = session.rows().chunks(2).map(|row| row[1]).collect();
    assert_eq!(column, [UP, DOWN, UP, DOWN, DOWN], "tick 0 is final");
    assert_eq!(session.stats().equivocations, 1);
    let rows = session.rows().to_vec();
    assert_eq!(rows, replayed(&rows, 2, &[]));
    for (seat, life) in [(1, 1), (0, 0), (9, 0)] {
        session.handle_inputs(due(5), Seat(seat), Life(life), Tick(5), &[UP]);
        session.handle_inputs(due(5), Seat(seat), Life(life), Tick(u32::MAX), &[UP]);
    }
    session.handle_inputs(due(5), Seat(1), Life(0), Tick(5), &[77]);
    assert_eq!(session.confirmed(), Tick(5));
}

#[test]
fn a_page_has_its_own_inputs_in_the_ticks_that_are_its_own() {
    let mut session = session(2);
    session.handle_action(due(0), UP);
    run(&mut session, 0..4);
    let inputs = |session: &Session<Toy>, first| {
        let (first, inputs) = session.own_inputs(Tick(first));
        (first.0, inputs.collect::<Vec<u16>>())
    };
    assert_eq!(inputs(&session, 0).1.len(), 4);
    assert_eq!(
        inputs(&session, 2),
        (2, inputs(&session, 0).1[2..].to_vec())
    );
    assert_eq!(inputs(&session, 9).1, [0; 0]);
    let change = take(0, 0, 2, ai(), &[]);
    session.handle_change(due(3), &change, partner()).unwrap();
    assert_eq!(
        inputs(&session, 0).1,
        [0; 0],
        "another page speaks for the seat"
    );
}

#[test]
fn packets_of_another_life_era_or_channel_are_refused_and_counted() {
    let mut session = session(2);
    let change = take(0, 1, 2, Controller::Vacant, &[NOOP, NOOP]);
    session.handle_change(0, &change, None).unwrap();
    let old = Packet::of(2, 1, &[UP], 0).give(&mut session, 0);
    let life = DatagramError::Life {
        seat: Seat(1),
        present: Life(1),
        found: Life(0),
    };
    assert_eq!(old, Err(life));
    let sender = Packet {
        life: 1,
        ..Packet::of(2, 1, &[UP], 0)
    };
    assert_eq!(
        sender.give(&mut session, 0),
        Err(DatagramError::Sender(Seat(1)))
    );
    let mut bytes = Vec::new();
    let (layout, mut datagram) = (
        DatagramLayout {
            seats: 2,
            actions: 6,
        },
        Datagram {
            era: Era(3),
            from: Seat(1),
            ..Datagram::default()
        },
    );
    datagram.encode(layout, &mut bytes);
    assert_eq!(
        session.handle_datagram(0, Seat(0), &bytes),
        Err(DatagramError::Channel {
            channel: Seat(0),
            named: Seat(1)
        })
    );
    datagram.era = Era(2);
    datagram.encode(layout, &mut bytes);
    assert_eq!(
        session.handle_datagram(0, Seat(1), &bytes),
        Err(DatagramError::Era)
    );
    let refused = session.stats().refused;
    assert_eq!(
        (refused.life, refused.sender, refused.channel, refused.era),
        (1, 1, 1, 1)
    );
    assert_eq!(session.stats().dropped, 4);
}

#[test]
fn a_seat_without_a_person_binds_nobody_until_its_next_person() {
    let mut session = session(2);
    let change = take(0, 1, 0, Controller::Vacant, &[]);
    session.handle_change(0, &change, None).unwrap();
    run(&mut session, 0..25);
    assert_eq!(session.confirmed(), Tick(25));
    session
        .handle_change(due(24), &give(1, 1, 27, 3), None)
        .unwrap();
    run(&mut session, 25..32);
    assert_eq!(session.confirmed(), Tick(27));
    assert_eq!(session.waiting_for(), Some(Seat(1)));
}

#[test]
fn a_partner_from_the_start_binds_nobody() {
    let config = Config {
        controllers: vec![Controller::Human, ai()],
        ..config(2, 0)
    };
    let mut session = Session::new(config, Toy::new(2, 1_000, 1_000), vec![None, partner()]);
    run(&mut session, 0..100);
    assert_eq!(session.confirmed(), Tick(100));
}
