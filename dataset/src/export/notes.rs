//! The tables of keys, events, presence and routes, from the notes of pages and of the server.

use std::collections::BTreeSet;

use protocol::Seat;
use protocol::change::Presence;
use protocol::control::{Link, Timing};
use protocol::log::{Log, Record};
use serde::Serialize;

use super::steps::controller_name;
use super::{KEYS, Keys, Summary, Table};

/// A key event.
#[derive(Serialize)]
struct KeyRow<'a> {
    keys: Keys<'a>,
    life: u8,
    /// `None` if it entered no tick.
    tick: Option<u32>,
    action: u16,
    action_name: &'a str,
    down: bool,
    at_us: i64,
    /// `None` if the answer was not shown.
    shown_us: Option<i64>,
    /// `None` if nothing was.
    frame_us: Option<i64>,
}

const KEY_COLUMNS: [&str; 8] = [
    "life",
    "tick",
    "action",
    "action_name",
    "down",
    "at_us",
    "shown_us",
    "frame_us",
];

/// Something that happened beside the steps; what a kind does not have is empty.
#[derive(Serialize)]
struct EventRow<'a> {
    keys: Keys<'a>,
    life: u8,
    kind: &'a str,
    tick: Option<u32>,
    count: Option<u32>,
    ms: Option<u32>,
    other_seat: Option<u8>,
    predicted: &'a str,
    actual: &'a str,
    controller: &'a str,
}

const EVENT_COLUMNS: [&str; 9] = [
    "life",
    "kind",
    "tick",
    "count",
    "ms",
    "other_seat",
    "predicted",
    "actual",
    "controller",
];

/// How a person is from a time on.
#[derive(Serialize)]
struct PresenceRow<'a> {
    keys: Keys<'a>,
    at_us: u64,
    /// Since tick 0 was due.
    at_ms: i64,
    presence: &'a str,
}

const PRESENCE_COLUMNS: [&str; 3] = ["at_us", "at_ms", "presence"];

/// Which way the datagrams of a page to another travel from a time on.
#[derive(Serialize)]
struct RouteRow<'a> {
    keys: Keys<'a>,
    other_seat: u8,
    at_us: u64,
    /// Since tick 0 was due.
    at_ms: i64,
    link: &'a str,
}

const ROUTE_COLUMNS: [&str; 4] = ["other_seat", "at_us", "at_ms", "link"];

/// The tables of notes.
pub(super) struct Notes {
    keys: Table,
    events: Table,
    presence: Table,
    routes: Table,
}

impl Notes {
    pub(super) fn create(summary: &Summary) -> anyhow::Result<Self> {
        Ok(Self {
            keys: Table::create(&summary.keys_path, &KEYS, &KEY_COLUMNS)?,
            events: Table::create(&summary.events_path, &KEYS, &EVENT_COLUMNS)?,
            presence: Table::create(&summary.presence_path, &KEYS, &PRESENCE_COLUMNS)?,
            routes: Table::create(&summary.routes_path, &KEYS, &ROUTE_COLUMNS)?,
        })
    }

    pub(super) fn finish(self, summary: &mut Summary) -> anyhow::Result<()> {
        summary.keys = self.keys.finish()?;
        summary.events = self.events.finish()?;
        summary.presence = self.presence.finish()?;
        summary.routes = self.routes.finish()?;
        Ok(())
    }

    /// Adds the notes of an episode, in the order of its log. `actions` are the names of its actions.
    /// Of seats that are `left_out` there is nothing.
    pub(super) fn add(
        &mut self,
        log: &Log,
        actions: &[String],
        left_out: &BTreeSet<Seat>,
    ) -> anyhow::Result<()> {
        let mut lives = vec![0; log.seats()];
        let is_left_out = |record: &Record| match record {
            Record::Timing { seat, .. }
            | Record::Diverged { seat, .. }
            | Record::Equivocation { seat, .. }
            | Record::Presence { seat, .. }
            | Record::Route { seat, .. } => left_out.contains(seat),
            Record::Change(change) => left_out.contains(&change.seat),
            _ => false,
        };
        for record in log.records.iter().filter(|record| !is_left_out(record)) {
            let event = |seat: Seat, life: u8, kind: &'static str| EventRow {
                keys: Keys::new(&log.header, seat),
                life,
                kind,
                tick: None,
                count: None,
                ms: None,
                other_seat: None,
                predicted: "",
                actual: "",
                controller: "",
            };
            match record {
                Record::Timing { seat, life, timing } => {
                    self.add_keys(log, *seat, life.0, timing, actions)?;
                    let event = |kind| event(*seat, life.0, kind);
                    let rows = events(timing, actions, event);
                    rows.iter().try_for_each(|row| self.events.add(row))?;
                }
                Record::Change(change) => {
                    lives[change.seat.index()] = change.life.0;
                    self.events.add(&EventRow {
                        tick: Some(change.tick.0),
                        controller: controller_name(&change.controller),
                        ..event(change.seat, change.life.0, "change")
                    })?;
                }
                Record::Diverged { seat, tick, .. } => self.events.add(&EventRow {
                    tick: Some(tick.0),
                    ..event(*seat, lives[seat.index()], "diverged")
                })?,
                Record::Equivocation {
                    seat,
                    tick,
                    by,
                    durable,
                    told,
                } => self.events.add(&EventRow {
                    tick: Some(tick.0),
                    other_seat: Some(by.0),
                    predicted: name(actions, *told),
                    actual: name(actions, *durable),
                    ..event(*seat, lives[seat.index()], "equivocation")
                })?,
                Record::Presence {
                    seat,
                    at_us,
                    presence,
                } => self.presence.add(&PresenceRow {
                    keys: Keys::new(&log.header, *seat),
                    at_us: *at_us,
                    at_ms: since_start_ms(log, *at_us),
                    presence: presence_name(*presence),
                })?,
                Record::Route {
                    seat,
                    other,
                    at_us,
                    link,
                } => self.routes.add(&RouteRow {
                    keys: Keys::new(&log.header, *seat),
                    other_seat: other.0,
                    at_us: *at_us,
                    at_ms: since_start_ms(log, *at_us),
                    link: link_name(*link),
                })?,
                Record::Actions { .. } | Record::Digest { .. } | Record::End(_) => {}
            }
        }
        Ok(())
    }

    fn add_keys(
        &mut self,
        log: &Log,
        seat: Seat,
        life: u8,
        timing: &Timing,
        actions: &[String],
    ) -> anyhow::Result<()> {
        // Notes of before do not say it.
        let frames_us = timing
            .frames_us
            .iter()
            .copied()
            .chain(std::iter::repeat(None));
        timing
            .keys
            .iter()
            .zip(frames_us)
            .try_for_each(|(key, frame_us)| {
                self.keys.add(&KeyRow {
                    keys: Keys::new(&log.header, seat),
                    life,
                    tick: key.tick.map(|tick| tick.0),
                    action: key.action,
                    action_name: name(actions, key.action),
                    down: key.down,
                    at_us: key.at_us,
                    shown_us: Some(key.shown_us).filter(|shown_us| *shown_us != 0),
                    frame_us,
                })
            })
    }
}

/// The events of a note, kind by kind.
fn events<'a>(
    timing: &Timing,
    actions: &'a [String],
    event: impl Fn(&'static str) -> EventRow<'a>,
) -> Vec<EventRow<'a>> {
    let mut rows = Vec::new();
    rows.extend(timing.rollbacks.iter().map(|(tick, count)| EventRow {
        tick: Some(tick.0),
        count: Some((*count).into()),
        ..event("rollback")
    }));
    rows.extend(timing.mispredictions.iter().map(|wrong| EventRow {
        tick: Some(wrong.tick.0),
        ms: Some(wrong.shown_ms),
        other_seat: Some(wrong.seat.0),
        predicted: name(actions, wrong.predicted),
        actual: name(actions, wrong.actual),
        ..event("misprediction")
    }));
    rows.extend(timing.holds.iter().map(|(tick, ms)| EventRow {
        tick: Some(tick.0),
        ms: Some(*ms),
        ..event("hold")
    }));
    rows.extend(timing.delays.iter().map(|(tick, ms)| EventRow {
        tick: Some(tick.0),
        ms: Some(*ms),
        ..event("delay")
    }));
    rows.extend(timing.hidden.iter().map(|(first, end)| EventRow {
        tick: Some(first.0),
        count: Some(end.0.saturating_sub(first.0)),
        ..event("hidden")
    }));
    rows.extend(timing.screens.iter().map(|(tick, is_whole)| EventRow {
        tick: Some(tick.0),
        ..event(if *is_whole { "fullscreen" } else { "windowed" })
    }));
    let trips = (0..).zip(&timing.rtt_us).filter(|(_, rtt_us)| **rtt_us > 0);
    rows.extend(trips.map(|(seat, rtt_us)| EventRow {
        ms: Some(rtt_us.div_ceil(1_000)),
        other_seat: Some(seat),
        ..event("round_trip")
    }));
    let counts = [
        ("refused", timing.refused),
        ("equivocation", timing.equivocations),
    ];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    rows.extend(counts.map(|(kind, count)| EventRow {
        count: Some(count),
        ..event(kind)
    }));
    rows
}

/// The name of an action; a page may note one that is not there.
fn name(actions: &[String], action: u16) -> &str {
    actions.get(usize::from(action)).map_or("", String::as_str)
}

/// A time of the server's clock, microseconds, as milliseconds since tick 0 was due.
fn since_start_ms(log: &Log, at_us: u64) -> i64 {
    (i128::from(at_us) - i128::from(log.header.t0_us)).div_euclid(1_000) as i64
}

fn link_name(link: Link) -> &'static str {
    match link {
        Link::Direct => "direct",
        Link::Relay => "relay",
    }
}

fn presence_name(presence: Presence) -> &'static str {
    match presence {
        Presence::Here => "here",
        Presence::Hidden => "hidden",
        Presence::Gone => "gone",
        Presence::Returning => "returning",
    }
}
