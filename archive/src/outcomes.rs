//! The outcome of each step of a hosted world in its log: scores, ends, events, and the parts of rewards.

use std::iter;

use env_core::StepEvent;
use protocol::Tick;
use protocol::log::{Log, Record};

use crate::replica::Replica;

/// The outcome of a step, beside the rewards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedOutcome {
    /// The score of the group after it.
    pub score: i64,
    /// The score of each seat after it.
    pub seat_scores: Vec<i64>,
    /// Bit `s` is set if seat `s` reached a terminal state.
    pub terminated: u16,
    /// Bit `s` is set if seat `s` was cut off.
    pub truncated: u16,
    /// Events, in their order.
    pub events: Vec<StepEvent>,
    /// The rewards in parts, `[seat, component]`, row-major; empty if all are 0.
    pub components: Vec<f32>,
}

/// The most events in one record.
const MAX_EVENTS: usize = 4_096;

/// Makes the records of the last step of a world, if anything in it is new; many events take several. `told` has the scores
/// of the record before.
pub(super) fn note_outcome(
    tick: Tick,
    replica: &mut Replica,
    told: &mut Option<Vec<i64>>,
) -> Vec<Record> {
    let totals = replica.seat_totals();
    let scores = [&[replica.score()], &totals.scores[..]].concat();
    let outcome = replica.outcome();
    let event = |event: &StepEvent| (event.kind, event.seat, event.to, event.value.to_bits());
    let events: Vec<_> = outcome.events.iter().map(event).collect();
    let earned = outcome.components.iter().any(|part| *part != 0.0);
    let components = outcome.components.iter().filter(|_| earned);
    let components: Vec<u32> = components.map(|part| part.to_bits()).collect();
    let (terminated, truncated) = (outcome.terminated, outcome.truncated);
    let is_told = told.as_ref() == Some(&scores);
    let is_quiet = events.is_empty() && components.is_empty() && terminated | truncated == 0;
    if is_told && is_quiet {
        return Vec::new();
    }
    let scores = match is_told {
        true => Vec::new(),
        false => told.insert(scores).clone(),
    };
    let (now, later) = events.split_at(events.len().min(MAX_EVENTS));
    let first = Record::Outcome {
        tick,
        scores,
        terminated,
        truncated,
        events: now.to_vec(),
        components,
    };
    let more = later.chunks(MAX_EVENTS).map(|events| Record::Outcome {
        tick,
        scores: Vec::new(),
        terminated: 0,
        truncated: 0,
        events: events.to_vec(),
        components: Vec::new(),
    });
    iter::once(first).chain(more).collect()
}

/// Lists the outcomes of a hosted episode, one a tick; empty if the log is older than such records.
pub fn list_recorded_outcomes(log: &Log) -> Vec<RecordedOutcome> {
    let mut found: Vec<RecordedOutcome> = Vec::new();
    let go_on = |found: &mut Vec<RecordedOutcome>, until: Tick| {
        let next = found
            .last()
            .map_or_else(Default::default, |last| RecordedOutcome {
                score: last.score,
                seat_scores: last.seat_scores.clone(),
                ..RecordedOutcome::default()
            });
        found.resize(found.len().max(until.0 as usize), next);
    };
    for record in &log.records {
        let Record::Outcome {
            tick,
            scores,
            terminated,
            truncated,
            events,
            components,
        } = record
        else {
            continue;
        };
        go_on(&mut found, Tick(tick.0 + 1));
        let at = &mut found[tick.0 as usize];
        if let [score, seats @ ..] = &scores[..] {
            (at.score, at.seat_scores) = (*score, seats.to_vec());
        }
        at.terminated |= terminated;
        at.truncated |= truncated;
        let event = |&(kind, seat, to, value): &(u16, u8, Option<u8>, u32)| StepEvent {
            kind,
            seat,
            to,
            value: f32::from_bits(value),
        };
        at.events.extend(events.iter().map(event));
        let parts = components.iter().map(|bits| f32::from_bits(*bits));
        at.components.extend(parts);
    }
    if !found.is_empty() {
        go_on(&mut found, log.through);
    }
    found
}
