//! The frames of a page take few bytes, and are rebuilt exactly.

use env_core::rng::Rng;
use env_core::{Action, World};
use protocol::seen::{self, Frame};
use protocol::{Controller, Seat};
use rollback::{EpisodeRecord, RebuildError, Rebuilder, Session, rebuild};

use crate::support::network::{Conditions, Network};
use crate::support::play::config;
use crate::support::scenario::{READY_US, Scenario};
use crate::support::toy::Toy;

const SECONDS: u32 = 20;
const FRAME_US: u64 = 16_667;

/// The frames of seat 0, their digests, and the log.
struct Shown {
    scenario: Scenario,
    frames: Vec<Frame>,
    digests: Vec<u64>,
    rows: Vec<Action>,
}

/// Twenty seconds at 60 Hz, drawn 60 times a second: four actions a second, a round trip of 60 ms, some loss and jitter.
fn play(people: u8) -> Shown {
    let conditions = Conditions {
        delay_us: 25_000,
        jitter_us: 10_000,
        loss: 100,
        ..Conditions::default()
    };
    let scenario = Scenario {
        controllers: vec![Controller::Human; usize::from(people)],
        input_delay: 1,
        ..Scenario::calm(4, 60, 60 * SECONDS, conditions)
    };
    let toy = || Toy::new(people, 60 * SECONDS, 60 * SECONDS);
    let session = |seat| Session::new(config(&scenario, Some(Seat(seat))), toy(), Vec::new());
    let mut sessions: Vec<_> = (0..people).map(session).collect();
    let mut network = Network::new(1, conditions, Vec::new(), u64::MAX);
    let (mut rng, mut frames, mut digests) = (Rng::new(9), Vec::new(), Vec::new());
    let t0_us = READY_US + 500_000;
    let mut before = None;
    for beat in 0..(SECONDS + 2) * 250 {
        let now_us = t0_us + u64::from(beat) * 4_000;
        while network.next_us().is_some_and(|at_us| at_us <= now_us) {
            let packet = network.arrive().expect("it was just seen");
            sessions[usize::from(packet.to)]
                .handle_datagram(now_us, Seat(packet.from), &packet.bytes)
                .expect("an honest packet");
        }
        for session in &mut sessions {
            if rng.below(62) == 0 {
                session.handle_action(now_us, rng.below(6) as u16);
            }
            session.handle_timeout(now_us);
            let from = session.config().local.expect("a person");
            while let Some(packet) = session.poll_transmit() {
                network.send(now_us, from, packet.to, packet.bytes);
            }
            while session.poll_event().is_some() {}
        }
        let shows =
            (now_us - t0_us) / FRAME_US != (now_us - t0_us).saturating_sub(4_000) / FRAME_US;
        if !shows {
            continue;
        }
        let mut shown = 0;
        sessions[0].preview(|world| shown = world.digest());
        // A page draws 60 times a second, and notes what shows something new.
        if before.replace(shown) != Some(shown) {
            let at_ms = (now_us - t0_us) / FRAME_US * FRAME_US / 1_000;
            frames.push(sessions[0].record_frame(at_ms as u32, false));
            digests.push(shown);
        }
    }
    assert!(sessions[0].ended().is_some());
    Shown {
        rows: sessions[0].rows().to_vec(),
        scenario,
        frames,
        digests,
    }
}

fn again(shown: &Shown, frames: &[Frame]) -> Result<Vec<u64>, RebuildError> {
    let record = EpisodeRecord {
        changes: &[],
        rows: &shown.rows,
    };
    let seats = shown.scenario.controllers.len() as u8;
    let world = Toy::new(seats, 60 * SECONDS, 60 * SECONDS);
    let config = config(&shown.scenario, Some(Seat(0)));
    rebuild(config, world, |_| None, record, frames)
}

#[test]
fn a_second_costs_less_than_300_bytes_and_is_rebuilt() {
    for (people, limit) in [(2, 50.0), (4, 80.0), (8, 130.0), (16, 230.0)] {
        let shown = play(people);
        let (mut size, mut decoded, mut bytes) = (0, Vec::new(), Vec::new());
        // Chunks of a second, as pages upload them.
        for chunk in shown.frames.chunks(60) {
            seen::encode(chunk, usize::from(people), &mut bytes);
            size += bytes.len();
            decoded.extend(seen::decode(&bytes, usize::from(people)).unwrap());
        }
        let rate = size as f64 / f64::from(SECONDS);
        println!(
            "{people} people: {} frames, {rate:.0} B/s",
            shown.frames.len()
        );
        assert!(rate <= limit, "{people} people: {rate:.0} B/s");
        assert!(shown.frames.len() > 50 * SECONDS as usize);
        assert_eq!(decoded, shown.frames);
        assert_eq!(again(&shown, &decoded), Ok(shown.digests));
    }
}

#[test]
fn a_lost_chunk_costs_only_its_own_frames() {
    let shown = play(2);
    let rest: Vec<_> = shown.frames[..600]
        .iter()
        .chain(&shown.frames[660..])
        .cloned()
        .collect();
    let digests: Vec<_> = shown.digests[..600]
        .iter()
        .chain(&shown.digests[660..])
        .copied()
        .collect();
    assert_eq!(again(&shown, &rest), Ok(digests));
}

#[test]
fn a_frame_that_does_not_fit_is_refused() {
    let shown = play(2);
    let refused = |change: fn(&mut Frame)| {
        let mut frames = shown.frames[..100].to_vec();
        change(&mut frames[90]);
        again(&shown, &frames).err()
    };
    assert_eq!(refused(|_| {}), None);
    let unfit = Some(RebuildError::Frame(90));
    assert_eq!(refused(|frame| _ = frame.have.pop()), unfit);
    assert_eq!(refused(|frame| frame.tick.0 = 3), unfit);
    assert_eq!(refused(|frame| frame.tick.0 = u32::MAX), unfit);
    assert_eq!(refused(|frame| frame.have[1].0 = 5), unfit);
    assert!(matches!(
        refused(|frame| frame.have[1].0 += 50_000),
        Some(RebuildError::Input { .. })
    ));
    assert!(matches!(
        refused(|frame| frame.changes = 1),
        Some(RebuildError::Change {
            number: 0,
            why: None
        })
    ));
}

/// The number of frames that are rebuilt of a page that shows these again and again, and why no more are.
fn rebuilt_of(shown: &Shown, again: &[Frame]) -> (usize, RebuildError) {
    let record = EpisodeRecord {
        changes: &[],
        rows: &shown.rows,
    };
    let world = Toy::new(2, 60 * SECONDS, 60 * SECONDS);
    let config = config(&shown.scenario, Some(Seat(0)));
    let mut rebuilder = Rebuilder::new(config, world, |_| None, record);
    let first = shown.frames[..100].iter();
    let mut frames = first.chain(again.iter().cycle()).enumerate();
    let refused = frames.find_map(|(number, frame)| Some((number, rebuilder.show(frame).err()?)));
    refused.expect("they never end")
}

#[test]
fn frames_without_end_come_to_an_end() {
    let shown = play(2);
    let last = Frame {
        fresh: vec![Vec::new(); 2],
        ..shown.frames[99].clone()
    };
    let mut back = last.clone();
    back.tick.0 -= 12;
    let (number, why) = rebuilt_of(&shown, &[back, last.clone()]);
    assert_eq!(why, RebuildError::Frame(number));
    assert!(number < 50_000, "{number} frames there and back");
    let (number, why) = rebuilt_of(&shown, &[last]);
    assert_eq!(why, RebuildError::TooMany(number));
    assert!((100_000..200_000).contains(&number), "{number} frames");
}
