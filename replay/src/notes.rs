//! Key presses and faults of the network, from the notes of pages and of the server.

use std::collections::BTreeSet;

use env_core::Spec;
use protocol::change::Presence;
use protocol::control::{KeyEvent, Link, Timing};
use protocol::log::{Log, Record};
use protocol::seen;
use protocol::{Seat, Tick};
use serde::Serialize;

/// A key event: the first tick that it entered, the action, if the key went down, when, and when the screen answered;
/// microseconds since tick 0 was due.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct KeyNote(Option<u32>, u16, bool, i64, Option<i64>);

/// Something of network, page or controller that a seat met.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Note {
    tick: u32,
    kind: &'static str,
    /// Milliseconds, or a count of ticks for rollbacks; `None` for kinds without an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<u8>,
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
}

/// The notes of a seat.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct SeatNotes {
    keys: Vec<KeyNote>,
    notes: Vec<Note>,
    /// Tick at which it was noted, seat at the other end, and the smoothed round trip in milliseconds.
    round_trips: Vec<(u32, u8, f64)>,
    #[serde(skip)]
    tick: u32,
}

/// Lists the notes of every seat; those of a seat that is left out are empty.
pub(crate) fn list_notes(log: &Log, spec: &Spec, left_out: &BTreeSet<Seat>) -> Vec<SeatNotes> {
    let mut all: Vec<SeatNotes> = Vec::new();
    all.resize_with(log.count_seats(), SeatNotes::default);
    for record in &log.records {
        let Some((seat, notes)) = seat_of(record).and_then(|seat| {
            let kept = all.get_mut(seat.index())?;
            (!left_out.contains(&seat)).then_some((seat, kept))
        }) else {
            continue;
        };
        match record {
            Record::Timing { timing, .. } => notes.add_timing(timing, log.count_seats(), spec),
            Record::Presence {
                at_us, presence, ..
            } => {
                let kind = presence_kind(*presence);
                notes.push(tick_at(log, *at_us), kind, None, None, String::new());
            }
            Record::Route {
                other, at_us, link, ..
            } => {
                let kind = match link {
                    Link::Direct => "direct",
                    Link::Relay => "relay",
                };
                let tick = tick_at(log, *at_us);
                notes.push(tick, kind, None, Some(other.0), String::new());
            }
            Record::Diverged { tick, .. } => {
                notes.push(tick.0, "diverged", None, None, String::new());
            }
            Record::Equivocation { tick, by, .. } => {
                let other = Some(by.0).filter(|_| *by != seat);
                notes.push(tick.0, "equivocation", None, other, String::new());
            }
            _ => {}
        }
    }
    for notes in &mut all {
        notes.notes.sort_by_key(|note| note.tick);
    }
    all
}

fn seat_of(record: &Record) -> Option<Seat> {
    match record {
        Record::Timing { seat, .. }
        | Record::Presence { seat, .. }
        | Record::Route { seat, .. }
        | Record::Diverged { seat, .. }
        | Record::Equivocation { seat, .. } => Some(*seat),
        _ => None,
    }
}

fn presence_kind(presence: Presence) -> &'static str {
    match presence {
        Presence::Here => "here",
        Presence::Hidden => "hidden",
        Presence::Gone => "gone",
        Presence::Returning => "returning",
    }
}

/// The tick that was due at a time of the server's clock.
fn tick_at(log: &Log, at_us: u64) -> u32 {
    let since_us = at_us.saturating_sub(log.header.t0_us);
    let tick = u128::from(since_us) * u128::from(log.header.tick_hz) / 1_000_000;
    u32::try_from(tick).map_or(log.through.0, |tick| tick.min(log.through.0))
}

impl SeatNotes {
    fn push(
        &mut self,
        tick: u32,
        kind: &'static str,
        amount: Option<i64>,
        other: Option<u8>,
        detail: String,
    ) {
        self.notes.push(Note {
            tick,
            kind,
            amount,
            other,
            detail,
        });
    }

    fn add_timing(&mut self, timing: &Timing, seats: usize, spec: &Spec) {
        // A note itself has no tick; its last frame has one.
        let frames = seen::decode(&timing.seen, seats).unwrap_or_default();
        self.tick = frames.last().map_or(self.tick, |frame| frame.tick.0);
        self.keys.extend(timing.keys.iter().map(key_note));
        for (tick, count) in &timing.rollbacks {
            self.push(
                tick.0,
                "rollback",
                Some((*count).into()),
                None,
                String::new(),
            );
        }
        for wrong in &timing.mispredictions {
            let name = |action: u16| {
                let action = spec.actions.get(usize::from(action));
                action.map_or("?", |action| action.name.as_str())
            };
            let detail = format!("{} → {}", name(wrong.predicted), name(wrong.actual));
            let (amount, other) = (Some(wrong.shown_ms.into()), Some(wrong.seat.0));
            self.push(wrong.tick.0, "misprediction", amount, other, detail);
        }
        for (kind, spans) in [("hold", &timing.holds), ("delay", &timing.delays)] {
            for (Tick(tick), ms) in spans {
                self.push(*tick, kind, Some((*ms).into()), None, String::new());
            }
        }
        for (first, end) in &timing.hidden {
            let detail = format!("until tick {}", end.0);
            self.push(first.0, "out of sight", None, None, detail);
        }
        for (tick, is_whole) in &timing.screens {
            let kind = if *is_whole { "full screen" } else { "window" };
            self.push(tick.0, kind, None, None, String::new());
        }
        for (kind, count) in [
            ("refused packets", timing.refused),
            ("contradicting inputs", timing.equivocations),
        ] {
            if count > 0 {
                self.push(self.tick, kind, Some(count.into()), None, String::new());
            }
        }
        let trips = (0..).zip(&timing.rtt_us).filter(|(_, rtt_us)| **rtt_us > 0);
        let tick = self.tick;
        let in_ms = |rtt_us: u32| f64::from(rtt_us.div_ceil(100)) / 10.0;
        self.round_trips
            .extend(trips.map(|(other, rtt_us)| (tick, other, in_ms(*rtt_us))));
    }
}

fn key_note(key: &KeyEvent) -> KeyNote {
    let shown_us = Some(key.shown_us).filter(|shown_us| *shown_us != 0);
    let tick = key.tick.map(|tick| tick.0);
    KeyNote(tick, key.action, key.down, key.at_us, shown_us)
}
