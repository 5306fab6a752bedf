//! The tables of keys, events, presence and routes, from the notes of pages and of the server.

use std::path::Path;

use env_core::contract::ActionSpec;
use protocol::Seat;
use protocol::change::Presence;
use protocol::control::{KeyEvent, Link, Timing};
use protocol::log::{Log, Record};
use serde::Serialize;

use super::report::ExportReport;
use super::simulation::{EpisodeTable, SimulatedEpisode, controller_name};
use super::table::{EpisodeKeys, Table};

/// A key event.
#[derive(Default, Serialize)]
struct KeyRow<'a> {
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

/// Something that happened beside the steps; what a kind does not have is empty.
#[derive(Default, Serialize)]
struct EventRow<'a> {
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

impl EventRow<'_> {
    fn new(life: u8, kind: &'static str) -> Self {
        Self {
            life,
            kind,
            ..Self::default()
        }
    }
}

/// How a person is from a time on.
#[derive(Default, Serialize)]
struct PresenceRow<'a> {
    at_us: u64,
    /// Since tick 0 was due.
    at_ms: i64,
    presence: &'a str,
}

/// Which way the datagrams of a page to another travel from a time on.
#[derive(Default, Serialize)]
struct RouteRow<'a> {
    other_seat: u8,
    at_us: u64,
    /// Since tick 0 was due.
    at_ms: i64,
    link: &'a str,
}

/// The tables of notes.
pub(super) struct NoteTables {
    keys: Table,
    events: Table,
    presence: Table,
    routes: Table,
}

impl NoteTables {
    pub(super) fn create(out: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            keys: Table::create::<(EpisodeKeys<'_>, KeyRow<'_>)>(out, "keys")?,
            events: Table::create::<(EpisodeKeys<'_>, EventRow<'_>)>(out, "events")?,
            presence: Table::create::<(EpisodeKeys<'_>, PresenceRow<'_>)>(out, "presence")?,
            routes: Table::create::<(EpisodeKeys<'_>, RouteRow<'_>)>(out, "routes")?,
        })
    }

    /// Adds a record of the log; `lives` are the lives of the seats by then.
    fn add_record(
        &mut self,
        log: &Log,
        actions: &[ActionSpec],
        lives: &mut [u8],
        record: &Record,
    ) -> anyhow::Result<()> {
        let keys = |seat: Seat| EpisodeKeys::new(&log.header, seat);
        match record {
            Record::Timing { seat, life, timing } => {
                for row in list_keys(timing, life.0, actions) {
                    self.keys.add(&(keys(*seat), row))?;
                }
                for row in list_events(timing, life.0, actions) {
                    self.events.add(&(keys(*seat), row))?;
                }
            }
            Record::Change(change) => {
                lives[change.seat.index()] = change.life.0;
                let row = EventRow {
                    tick: Some(change.tick.0),
                    controller: controller_name(&change.controller),
                    ..EventRow::new(change.life.0, "change")
                };
                self.events.add(&(keys(change.seat), row))?;
            }
            Record::Diverged { seat, tick, .. } => {
                let row = EventRow {
                    tick: Some(tick.0),
                    ..EventRow::new(lives[seat.index()], "diverged")
                };
                self.events.add(&(keys(*seat), row))?;
            }
            Record::Equivocation {
                seat,
                tick,
                by,
                durable,
                told,
            } => {
                let row = EventRow {
                    tick: Some(tick.0),
                    other_seat: Some(by.0),
                    predicted: name(actions, *told),
                    actual: name(actions, *durable),
                    ..EventRow::new(lives[seat.index()], "equivocation")
                };
                self.events.add(&(keys(*seat), row))?;
            }
            Record::Recount { by, recount } => {
                let at = recount.first.0 as usize * log.seats() + recount.seat.index();
                let (told, played) = (recount.inputs.first().copied(), log.rows().get(at).copied());
                let row = EventRow {
                    tick: Some(recount.first.0),
                    other_seat: Some(by.0),
                    predicted: told.map_or("", |told| name(actions, told)),
                    actual: played.map_or("", |played| name(actions, played)),
                    ..EventRow::new(recount.life.0, "equivocation")
                };
                self.events.add(&(keys(recount.seat), row))?;
            }
            Record::Presence {
                seat,
                at_us,
                presence,
            } => {
                let row = PresenceRow {
                    at_us: *at_us,
                    at_ms: since_start_ms(log, *at_us),
                    presence: presence_name(*presence),
                };
                self.presence.add(&(keys(*seat), row))?;
            }
            Record::Route {
                seat,
                other,
                at_us,
                link,
            } => {
                let row = RouteRow {
                    other_seat: other.0,
                    at_us: *at_us,
                    at_ms: since_start_ms(log, *at_us),
                    link: link_name(*link),
                };
                self.routes.add(&(keys(*seat), row))?;
            }
            Record::Actions { .. }
            | Record::Digest { .. }
            | Record::End(_)
            | Record::Inputs { .. }
            | Record::Erased { .. }
            | Record::Observed { .. }
            | Record::Paced { .. }
            | Record::Repeated { .. } => {}
        }
        Ok(())
    }
}

impl EpisodeTable for NoteTables {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        _: &mut ExportReport,
    ) -> anyhow::Result<()> {
        let log = &episode.log;
        let mut lives = vec![0; log.seats()];
        let is_left_out = |record: &Record| match record {
            Record::Timing { seat, .. }
            | Record::Diverged { seat, .. }
            | Record::Equivocation { seat, .. }
            | Record::Presence { seat, .. }
            | Record::Route { seat, .. } => episode.left_out.contains(seat),
            Record::Change(change) => episode.left_out.contains(&change.seat),
            _ => false,
        };
        let mut records = log.records.iter().filter(|record| !is_left_out(record));
        records
            .try_for_each(|record| self.add_record(log, &episode.spec.actions, &mut lives, record))
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        for table in [self.keys, self.events, self.presence, self.routes] {
            report.tables.push(table.finish()?);
        }
        Ok(())
    }
}

/// The key events of a note.
fn list_keys<'a>(timing: &Timing, life: u8, actions: &'a [ActionSpec]) -> Vec<KeyRow<'a>> {
    // Notes of before do not say it.
    let frames_us = timing.frames_us.iter().copied();
    let frames_us = frames_us.chain(std::iter::repeat(None));
    let rows = timing.keys.iter().zip(frames_us);
    let row = |(key, frame_us): (&KeyEvent, Option<i64>)| KeyRow {
        life,
        tick: key.tick.map(|tick| tick.0),
        action: key.action,
        action_name: name(actions, key.action),
        down: key.down,
        at_us: key.at_us,
        shown_us: Some(key.shown_us).filter(|shown_us| *shown_us != 0),
        frame_us,
    };
    rows.map(row).collect()
}

/// The events of a note, kind by kind.
fn list_events<'a>(timing: &Timing, life: u8, actions: &'a [ActionSpec]) -> Vec<EventRow<'a>> {
    let event = |kind| EventRow::new(life, kind);
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
fn name(actions: &[ActionSpec], action: u16) -> &str {
    actions
        .get(usize::from(action))
        .map_or("", |action| &action.name)
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
