//! Views and observations in the log of a world that does not repeat itself.

use env_core::StepEvent;
use env_core::draw::DrawList;

use super::*;
use crate::fixtures::no_modules;
use crate::observations::{FreshObservations, RecordedObservations, encode_observations};
use crate::recorded::open_past_episode;
use crate::{ReplicaError, replay_from};

/// Enough for a cook to deliver.
const TICKS: u32 = 400;

/// A world after some number of steps: pictures, words, observations and score.
#[derive(Clone, Debug, PartialEq)]
struct Moment {
    pictures: [DrawList; 2],
    words: [String; 2],
    observations: [Vec<f32>; 2],
    scores: Vec<i64>,
    events: Vec<StepEvent>,
    ends: (u16, u16, bool),
}

fn moment(replica: &mut Replica) -> Moment {
    let seats = [0, 1];
    let pictures = seats.map(|seat| {
        let mut list = DrawList::default();
        replica.world().draw(Some(seat), &mut list);
        list
    });
    let words = seats.map(|seat| {
        let mut words = String::new();
        replica.world().describe(seat, &mut words);
        words
    });
    let observations = seats.map(|seat| {
        let mut values = Vec::new();
        replica.observe(Seat(seat as u8), &mut values);
        values
    });
    let own = replica.seat_totals().scores;
    let outcome = replica.outcome();
    Moment {
        pictures,
        words,
        observations,
        scores: [vec![replica.score()], own].concat(),
        events: outcome.events.clone(),
        ends: (outcome.terminated, outcome.truncated, outcome.over),
    }
}

fn look(episode: &mut Episode, steps: bool, keeps_observations: bool) -> HostedReport {
    let view = |seat| ViewOrder {
        seat,
        is_new: false,
        size: [0; 2],
    };
    episode.host(HostWork {
        steps,
        views: vec![view(ZERO), view(ONE)],
        keeps_observations,
        ..HostWork::default()
    })
}

/// An episode of a cook and a person as its log has it, with what the world was after each tick. The log
/// says that the world came out otherwise when it was run again.
fn recorded(keeps_observations: bool) -> (Log, Vec<Moment>) {
    let dir = tempfile::tempdir().unwrap();
    // With this seed, the person stands in nobody's way.
    let header = Header {
        seed: 43,
        ..hosted([ai_controller("cook"), PERSON], TICKS)
    };
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let mut chooser = Chooser::new(&header, ONE);
    look(&mut episode, false, keeps_observations);
    let mut moments = vec![moment(&mut episode.replica)];
    loop {
        let tick = moments.len() as u32;
        chooser.say(&mut episode, ONE, 6);
        if tick == TICKS / 2 {
            flush(&mut episode);
        }
        let is_over = look(&mut episode, true, keeps_observations).over;
        moments.push(moment(&mut episode.replica));
        if is_over {
            break;
        }
    }
    episode.end(EndReason::Played).unwrap();
    let mut log = log_of(&mut episode);
    let differs = Some(Tick(1));
    log.records.push(Record::Repeated { differs });
    (log, moments)
}

fn replayed(log: &Log) -> Vec<Moment> {
    let (mut replica, _) = open_past_episode(log, no_modules).unwrap();
    let mut moments = vec![moment(&mut replica)];
    replay_from(replica, log, |_, replica| moments.push(moment(replica))).unwrap();
    moments
}

#[test]
fn it_is_shown_as_everybody_saw_it_and_observed_as_they_did() {
    let (mut log, expected) = recorded(true);
    // The words are sent once a second, and after the end.
    let found: Vec<Moment> = replayed(&log)
        .into_iter()
        .zip(&expected)
        .map(|(found, was)| Moment {
            words: was.words.clone(),
            ..found
        })
        .collect();
    assert_eq!(found.len(), TICKS as usize + 1);
    assert_eq!(found, expected);
    assert!(found.iter().any(|moment| !moment.events.is_empty()));
    assert_eq!(found[TICKS as usize].ends, (0, 3, true));
    // From the record alone: nothing is computed.
    for record in &mut log.records {
        match record {
            Record::End(ending) => ending.score = 1_234,
            Record::Observed {
                first: Tick(0),
                rewards,
                ..
            } => rewards[1] = 1.5_f32.to_bits(),
            _ => {}
        }
    }
    log.ending.as_mut().unwrap().score = 1_234;
    let (replica, _) = open_past_episode(&log, no_modules).unwrap();
    let replica = replay_from(replica, &log, |_, _| ()).unwrap();
    assert_eq!(replica.score(), 1_234);
    assert_eq!(replica.reward_sums()[1].fract(), 0.5);
}

#[test]
fn an_observation_is_there_for_every_tick_and_has_the_recorded_hash() {
    let (log, expected) = recorded(true);
    let len = expected[0].observations[0].len();
    let observations = RecordedObservations::read(&log, len).unwrap();
    let mut hashes: Vec<u64> = Vec::new();
    for record in &log.records {
        if let Record::Observed { hashes: more, .. } = record {
            hashes.extend(more);
        }
    }
    for (after, moment) in (0..).map(Tick).zip(&expected) {
        for seat in [ZERO, ONE] {
            let found = observations.get(seat, after).unwrap();
            assert_eq!(found, moment.observations[seat.index()]);
            if let Some(row) = after.0.checked_sub(1) {
                let hash = hashes[row as usize * 2 + seat.index()];
                assert_eq!(crate::hash_observation(&found), hash);
            }
        }
    }
    assert_eq!(observations.get(ZERO, Tick(TICKS + 1)), None);
    assert!(RecordedObservations::read(&log, len + 1).is_err());
}

#[test]
fn without_the_wish_of_the_study_there_are_pictures_and_no_observations() {
    let (log, expected) = recorded(false);
    let (replica, _) = open_past_episode(&log, no_modules).unwrap();
    assert!(!replica.knows_observations());
    for (found, expected) in replayed(&log).iter().zip(&expected) {
        assert_eq!(found.pictures, expected.pictures);
        assert!(found.observations[0].iter().all(|value| *value == 0.0));
    }
}

#[test]
fn who_withdraws_takes_their_views_and_observations_along() {
    let (mut log, expected) = recorded(true);
    assert!(log.withdraw(&log.header.participants[1].clone()));
    let of = |log: &Log, seat: Seat| {
        let is_own = |record: &&Record| match record {
            Record::Viewed { seat: of, .. } | Record::Observations { seat: of, .. } => *of == seat,
            _ => false,
        };
        log.records.iter().filter(is_own).count()
    };
    assert_eq!(of(&log, ONE), 0);
    assert!(of(&log, ZERO) > 40);
    // The seat is shown as the other person saw it.
    let found = replayed(&log);
    assert_eq!(found[9].pictures[1], expected[9].pictures[0]);
    assert!(log.withdraw(&log.header.participants[0].clone()));
    let refused = open_past_episode(&log, no_modules).map(drop);
    let Err(ReplicaError::Module { reason, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.contains("has no pictures"), "{reason}");
}

#[test]
fn long_observations_have_several_records() {
    let values: Vec<u8> = (0..700_000_u32).map(|at| (at % 251) as u8).collect();
    let fresh = FreshObservations {
        first: Tick(3),
        each: values.len(),
        bytes: values.clone(),
    };
    let records = encode_observations(vec![FreshObservations::default(), fresh]);
    assert_eq!(records.len(), 3);
    let (mut log, _) = recorded(false);
    log.records.extend(records);
    let read = RecordedObservations::read(&log, values.len() / 4).unwrap();
    let found = read.get(ONE, Tick(3)).unwrap();
    let bytes: Vec<u8> = found.iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(bytes, values);
}

#[test]
fn a_crash_between_records_of_observations_loses_whole_ones() {
    let (mut log, expected) = recorded(true);
    let len = expected[0].observations[0].len();
    let fresh = FreshObservations {
        first: Tick(0),
        each: 4 * len,
        bytes: vec![7; 4 * len * 400],
    };
    let records = encode_observations(vec![fresh]);
    assert!(records.len() > 1, "{len} values in an observation");
    let is_other = |record: &Record| !matches!(record, Record::Observations { .. });
    log.records.retain(is_other);
    log.records.push(records[0].clone());
    let read = RecordedObservations::read(&log, len).unwrap();
    assert!(read.get(ZERO, Tick(0)).is_some());
    assert_eq!(read.get(ZERO, Tick(399)), None);
}

#[test]
fn the_digest_of_a_tick_that_a_crash_has_changed_stops_no_replay() {
    let (mut log, _) = recorded(false);
    for record in &mut log.records {
        if let Record::Digest { digest, .. } = record {
            *digest ^= 1;
        }
    }
    assert_eq!(replayed(&log).len(), TICKS as usize + 1);
}

#[test]
fn more_observations_than_ticks_are_refused() {
    let (mut log, expected) = recorded(true);
    let again: Vec<Record> = log.records.clone();
    log.records.extend(again);
    let len = expected[0].observations[0].len();
    let refused = RecordedObservations::read(&log, len).unwrap_err();
    assert!(
        refused.contains("more observations than ticks"),
        "{refused}"
    );
}

#[test]
fn views_are_counted_for_a_seat_whoever_has_it_and_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let header = hosted([ai_controller("cook"), PERSON], TICKS);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    look(&mut episode, true, false);
    flush(&mut episode);
    let kept = |episode: &Episode| episode.hosted.as_ref().unwrap().seats[1].kept;
    let before = kept(&episode);
    assert!(before > 0);
    episode.empty_hand(ONE);
    assert_eq!(kept(&episode), before);
    drop(episode);
    assert_eq!(kept(&recover(dir.path())), before);
}
