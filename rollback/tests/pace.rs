//! Nobody plays faster than the slowest page, and nobody makes up for a stop.

use protocol::datagram::{Datagram, DatagramLayout};
use protocol::{Era, Seat, Tick};
use rollback::{Config, Session, SessionEvent};

use crate::support::network::Conditions;
use crate::support::play::{Mischief, Report, config, play};
use crate::support::scenario::{Pause, READY_US, Scenario};
use crate::support::toy::{NOOP, Toy};

const T0_US: u64 = READY_US + 500_000;

fn calm(tick_hz: u16, delay_us: u32) -> Scenario {
    let conditions = Conditions {
        delay_us,
        ..Conditions::default()
    };
    Scenario::calm(3, tick_hz, u32::from(tick_hz) * 30, conditions)
}

/// 10 to 30 % fewer ticks a second: each takes 11, 25, 43 % longer than a period.
const SLOW: [u64; 3] = [111, 125, 143];

#[test]
fn a_slower_page_is_waited_for() {
    for (tick_hz, delay_us) in [(10, 30_000), (30, 30_000), (60, 10_000), (60, 30_000)] {
        let even = play(&calm(tick_hz, delay_us), &Mischief::none()).expect("an even match");
        let deepest = |report: &Report| report.stats.iter().map(|stats| stats.max_depth).max();
        for slowness in SLOW {
            let scenario = Scenario {
                slowness: vec![slowness, 0],
                ..calm(tick_hz, delay_us)
            };
            let report = play(&scenario, &Mischief::none()).expect("a match");
            assert!(
                report.gap <= 2,
                "{tick_hz} Hz, {slowness} %: {}",
                report.gap
            );
            assert!(
                deepest(&report) <= deepest(&even).map(|depth| depth.max(1) + 2),
                "{tick_hz} Hz, {slowness} %: {:?}",
                deepest(&report)
            );
            // It is the slow page that sets the pace, and it is not stopped besides.
            let due_us = u64::from(report.ticks) * 1_000_000 / u64::from(tick_hz);
            let played_us = report.playing_us * 100;
            assert!(
                (due_us * (slowness - 2)..due_us * (slowness + 8)).contains(&played_us),
                "{due_us} {played_us}"
            );
        }
    }
}

#[test]
fn pages_that_keep_up_are_not_delayed() {
    for tick_hz in [10, 30, 60] {
        for seed in 0..5 {
            let mut scenario = calm(tick_hz, 40_000);
            scenario.seed = seed;
            scenario.conditions.jitter_us = 30_000;
            scenario.conditions.loss = 200;
            scenario.clock_error_us = vec![12_000, -9_000];
            scenario.drift = vec![50, -50];
            let report = play(&scenario, &Mischief::none()).expect("a match");
            assert_eq!(report.delay_ms, 0, "{tick_hz} Hz, seed {seed}");
        }
    }
}

#[test]
fn five_seconds_without_a_page_are_not_played_in_a_burst() {
    let from_us = T0_US + 3_000_000;
    let scenario = Scenario {
        pauses: vec![Pause {
            seat: 1,
            from_us,
            to_us: from_us + 5_000_000,
        }],
        ..calm(60, 30_000)
    };
    let report = play(&scenario, &Mischief::none()).expect("a match");
    // All but the window and half a second are waited for.
    assert!(
        (4_200..5_200).contains(&report.delay_ms),
        "{}",
        report.delay_ms
    );
    let due_us = u64::from(report.ticks) * 1_000_000 / 60;
    assert!(report.playing_us > due_us + 4_200_000);
    assert!(
        report.fastest <= 60 * 12 / 10,
        "{} ticks in a second",
        report.fastest
    );
}

fn session(input_delay: u8) -> Session<Toy> {
    let config = Config {
        input_delay,
        ..config(&calm(10, 0), Some(Seat(0)))
    };
    Session::new(config, Toy::new(2, 1_000, 1_000), Vec::new())
}

fn due(tick: u64) -> u64 {
    T0_US + tick * 100_000 + 1_000
}

/// A packet of seat 1 with this many inputs and this delay, which has everything of seat 0 up to a tick.
fn packet(inputs: u32, has: u32, delay_ms: u32) -> Vec<u8> {
    let datagram = Datagram {
        era: Era(9),
        from: Seat(1),
        delay_ms,
        inputs: vec![NOOP; inputs as usize],
        have: vec![Tick(has), Tick(inputs)],
        ..Datagram::default()
    };
    let layout = DatagramLayout {
        seats: 2,
        actions: 6,
    };
    let mut bytes = Vec::new();
    datagram.encode(layout, &mut bytes);
    bytes
}

fn delayed(session: &mut Session<Toy>) -> Vec<(Tick, u32)> {
    std::iter::from_fn(|| session.poll_event())
        .filter_map(|event| match event {
            SessionEvent::Delayed { tick, delay_ms } => Some((tick, delay_ms)),
            _ => None,
        })
        .collect()
}

#[test]
fn the_greatest_delay_is_adopted_and_told() {
    let mut session = session(0);
    (0..3).for_each(|tick| session.handle_timeout(due(tick)));
    for (heard, kept) in [(120, 120), (80, 120), (300, 300)] {
        session
            .handle_datagram(due(2), Seat(1), &packet(0, 0, heard))
            .unwrap();
        assert_eq!(session.delay_ms(), kept);
    }
    assert_eq!(delayed(&mut session), [(Tick(3), 120), (Tick(3), 300)]);
    session.handle_timeout(due(3) + 298_000);
    assert_eq!(session.current(), Tick(3), "tick 3 is due 300 ms later");
    session.handle_timeout(due(3) + 299_000);
    assert_eq!(session.current(), Tick(4));
    let sent = session.poll_transmit().expect("ticks ran").bytes.to_vec();
    let layout = DatagramLayout {
        seats: 2,
        actions: 6,
    };
    assert_eq!(Datagram::decode(&sent, layout).unwrap().delay_ms, 300);
}

#[test]
fn no_delay_puts_the_next_tick_off_by_more_than_four_periods() {
    let mut session = session(0);
    (0..3).for_each(|tick| session.handle_timeout(due(tick)));
    // However often it is said, and however late.
    for now_us in [due(2), due(3), due(5)] {
        let heard = packet(0, 0, 60_000);
        session.handle_datagram(now_us, Seat(1), &heard).unwrap();
        let due_us = session.poll_timeout().map(|(due_us, _)| due_us);
        assert_eq!(due_us, Some(due(2) + 400_000));
    }
}

#[test]
fn claims_of_delay_make_a_game_a_quarter_as_fast_at_the_least() {
    let config = Config {
        tick_hz: 60,
        ..session(0).config().clone()
    };
    let layout = DatagramLayout {
        seats: 2,
        actions: 6,
    };
    let mut session = Session::new(config, Toy::new(2, 100_000, 100_000), Vec::new());
    let mut bytes = Vec::new();
    for now_us in (T0_US..T0_US + 90_000_000).step_by(5_000) {
        session.handle_timeout(now_us);
        // The other page plays along, two ticks ahead, and says each time that the next tick is far away.
        let own = session.current().0;
        let end = own + 2;
        let first = own.saturating_sub(20);
        let datagram = Datagram {
            era: Era(9),
            from: Seat(1),
            delay_ms: 10_000_000,
            first: Tick(first),
            inputs: vec![NOOP; (end - first) as usize],
            have: vec![Tick(own), Tick(end)],
            ..Datagram::default()
        };
        datagram.encode(layout, &mut bytes);
        session.handle_datagram(now_us, Seat(1), &bytes).unwrap();
    }
    let ticks = session.current().0;
    assert!((1_250..1_400).contains(&ticks), "{ticks} ticks");
}

#[test]
fn a_long_hold_is_not_made_up_for_and_a_short_one_is() {
    for (held, made_up) in [(2, true), (4, false)] {
        let mut session = session(0);
        let window = u64::from(session.config().window);
        (0..=window + held).for_each(|tick| session.handle_timeout(due(tick)));
        assert_eq!(u64::from(session.current().0), window);
        let heard = packet(window as u32, window as u32, 0);
        session
            .handle_datagram(due(window + held), Seat(1), &heard)
            .unwrap();
        session.handle_timeout(due(window + held));
        let delay_ms = if made_up { 0 } else { 100 * held as u32 + 1 };
        assert_eq!(session.delay_ms(), delay_ms);
    }
}

#[test]
fn a_page_that_slept_goes_on_from_where_it_is() {
    let mut session = session(0);
    (0..3).for_each(|tick| session.handle_timeout(due(tick)));
    session.handle_timeout(due(40));
    assert_eq!(
        session.current(),
        Tick(4),
        "one tick, not those of four seconds"
    );
    assert_eq!(delayed(&mut session), [(Tick(3), 3_701)]);
}

#[test]
fn a_short_hiccup_delays_nobody() {
    let mut session = session(0);
    (0..3).for_each(|tick| session.handle_timeout(due(tick)));
    for late_us in [140_000, 141_000, 200_000, 300_000] {
        session.handle_timeout(due(3) + late_us);
    }
    assert_eq!((session.current(), session.delay_ms()), (Tick(7), 0));
}

/// Two people at 60 ticks a second for this many seconds: their clocks are off by so much, packets take so long.
struct Duel {
    sessions: Vec<Session<Toy>>,
    /// Milliseconds in which a session had been held for longer than 300 ms, and ticks that ran in them.
    held_ms: [u32; 2],
    ran_while_held: [u32; 2],
    /// Holds that began, and those that ended.
    holds: [(u32, u32); 2],
}

fn duel(off_us: [u64; 2], way_us: u64, seconds: u64) -> Duel {
    let new = |seat| {
        let config = Config {
            local: Some(Seat(seat)),
            tick_hz: 60,
            input_delay: 3,
            window: 16,
            ..session(0).config().clone()
        };
        Session::new(config, Toy::new(2, 100_000, 100_000), Vec::new())
    };
    let mut duel = Duel {
        sessions: vec![new(0), new(1)],
        held_ms: [0; 2],
        ran_while_held: [0; 2],
        holds: [(0, 0); 2],
    };
    let mut flights: Vec<(u64, usize, Vec<u8>)> = Vec::new();
    let mut since = [None; 2];
    let mut before = [Tick(0); 2];
    for now_us in (T0_US..T0_US + seconds * 1_000_000).step_by(1_000) {
        let (due, later) = flights
            .into_iter()
            .partition(|(at_us, ..)| *at_us <= now_us);
        flights = later;
        let due: Vec<(u64, usize, Vec<u8>)> = due;
        for (_, to, bytes) in due {
            duel.sessions[to]
                .handle_datagram(now_us + off_us[to], Seat(1 - to as u8), &bytes)
                .expect("a packet of the other");
        }
        for (i, session) in duel.sessions.iter_mut().enumerate() {
            if (now_us / 1_000) % 4 == i as u64 {
                session.handle_timeout(now_us + off_us[i]);
            }
            while let Some(packet) = session.poll_transmit() {
                flights.push((now_us + way_us, packet.to.index(), packet.bytes.to_vec()));
            }
            while let Some(event) = session.poll_event() {
                match event {
                    SessionEvent::Held { .. } => {
                        duel.holds[i].0 += 1;
                        since[i] = Some(now_us);
                    }
                    SessionEvent::Resumed { .. } => {
                        duel.holds[i].1 += 1;
                        since[i] = None;
                    }
                    _ => {}
                }
            }
            if since[i].is_some_and(|since_us| now_us > since_us + 300_000) {
                duel.held_ms[i] += 1;
                duel.ran_while_held[i] += session.current().0 - before[i].0;
            }
            before[i] = session.current();
        }
    }
    duel
}

#[test]
fn one_clock_that_is_ahead_slows_nobody() {
    for off_us in [300_000, 600_000, 800_000, 990_000] {
        let duel = duel([off_us, 0], 20_000, 30);
        for session in &duel.sessions {
            let ticks = session.current().0;
            assert!(ticks >= 1_790, "{off_us} µs ahead: {ticks} ticks in 30 s");
        }
    }
}

#[test]
fn nobody_is_held_while_ticks_run() {
    for (off_us, way_us) in [(0, 175_000), (0, 250_000), (450_000, 20_000)] {
        let duel = duel([off_us, 0], way_us, 30);
        assert_eq!(duel.ran_while_held, [0, 0], "{way_us}");
        for (began, ended) in duel.holds {
            assert!(began <= ended + 1, "{began} {ended}");
        }
        assert!(
            duel.held_ms.iter().all(|ms| *ms < 1_000),
            "{:?}",
            duel.held_ms
        );
    }
}
