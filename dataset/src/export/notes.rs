//! The tables of keys, events, presence and routes, from the notes of pages and of the server.

use env_core::contract::ActionSpec;
use protocol::Seat;
use protocol::change::Presence;
use protocol::control::{KeyEvent, Link, Timing};
use protocol::log::Record;

use super::column::row;
use super::output::Output;
use super::report::ExportReport;
use super::simulation::{EpisodeTable, SimulatedEpisode, controller_name};
use super::table::{EpisodeKeys, Table};

row! {
    /// One row per key event.
    struct KeyRow<'a> {
        /// The number of the page at this seat: 0 for the first, one more after each hand-over of the seat.
        life: u8,
        /// The tick that the event entered; missing if it entered none.
        tick: Option<u32>,
        /// The action of the key.
        action: u16,
        /// Its name.
        action_name: &'a str,
        /// True if the key was pressed, false if it was released.
        down: bool,
        /// The time of the event, microseconds since the Unix epoch.
        at_unix_us: i64,
        /// The time of the first frame with the effect; missing if there was none.
        shown_unix_us: Option<i64>,
        /// The time of the picture that the person saw when the key moved: the first frame of that tick; missing if there
        /// was none.
        frame_unix_us: Option<i64>,
    }
}

row! {
    /// One row per event beside the steps: what pages and the server recorded of network, time and hand-overs of seats.
    /// Columns that a kind does not have are missing.
    struct EventRow<'a> {
        /// The number of the page at this seat, as in `keys`.
        life: u8,
        /// The kind of event.
        kind: &'a str,
        /// The tick.
        tick: Option<u32>,
        /// A number.
        count: Option<u32>,
        /// A duration, milliseconds.
        ms: Option<u32>,
        /// The other seat of the event.
        other_seat: Option<u8>,
        /// The name of the predicted action.
        predicted: &'a str,
        /// The name of the action that was played.
        actual: &'a str,
        /// The new controller of the seat, as in `steps`.
        controller: &'a str,
    }
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

row! {
    /// One row per change of presence.
    struct PresenceRow<'a> {
        /// The time of the change, microseconds since the Unix epoch.
        at_unix_us: u64,
        /// The state of the person from then on: `here`, `hidden`, `gone` or `returning`.
        presence: &'a str,
    }
}

row! {
    /// One row per change of a packet route; the seat is the page that sends.
    struct RouteRow<'a> {
        /// The receiving page.
        other_seat: u8,
        /// The time of the report, microseconds since the Unix epoch.
        at_unix_us: u64,
        /// From then on: `direct` or `relay`.
        link: &'a str,
    }
}

/// The tables of notes.
pub(super) struct NoteTables {
    keys: Table,
    events: Table,
    presence: Table,
    routes: Table,
}

impl NoteTables {
    pub(super) fn create(output: &Output) -> anyhow::Result<Self> {
        Ok(Self {
            keys: Table::create::<(EpisodeKeys<'_>, KeyRow<'_>)>(output, "keys")?,
            events: Table::create::<(EpisodeKeys<'_>, EventRow<'_>)>(output, "events")?,
            presence: Table::create::<(EpisodeKeys<'_>, PresenceRow<'_>)>(output, "presence")?,
            routes: Table::create::<(EpisodeKeys<'_>, RouteRow<'_>)>(output, "routes")?,
        })
    }

    /// Adds a record of the log; `lives` are the lives of the seats by then.
    fn add_record(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        lives: &mut [u8],
        record: &Record,
    ) -> anyhow::Result<()> {
        let (log, actions) = (&episode.log, &episode.spec.actions[..]);
        let keys = |seat: Seat| episode.keys(seat);
        match record {
            Record::Timing { seat, life, timing } => {
                for row in list_keys(timing, life.0, log.header.t0_us, actions) {
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
                let at = recount.first.0 as usize * log.count_seats() + recount.seat.index();
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
                    at_unix_us: *at_us,
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
                    at_unix_us: *at_us,
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
            | Record::Infos { .. }
            | Record::Viewed { .. }
            | Record::Observations { .. }
            | Record::Outcome { .. }
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
        let mut lives = vec![0; log.count_seats()];
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
        records.try_for_each(|record| self.add_record(episode, &mut lives, record))
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        for table in [self.keys, self.events, self.presence, self.routes] {
            report.tables.push(table.finish()?);
        }
        Ok(())
    }
}

/// The key events of a note.
fn list_keys<'a>(
    timing: &Timing,
    life: u8,
    t0_us: u64,
    actions: &'a [ActionSpec],
) -> Vec<KeyRow<'a>> {
    // Pages count from when tick 0 was due.
    let unix_us = |us: i64| us.saturating_add_unsigned(t0_us);
    // Older notes do not say it.
    let frames_us = timing.frames_us.iter().copied();
    let frames_us = frames_us.chain(std::iter::repeat(None));
    let rows = timing.keys.iter().zip(frames_us);
    let row = |(key, frame_us): (&KeyEvent, Option<i64>)| KeyRow {
        life,
        tick: key.tick.map(|tick| tick.0),
        action: key.action,
        action_name: name(actions, key.action),
        down: key.down,
        at_unix_us: unix_us(key.at_us),
        shown_unix_us: Some(key.shown_us).filter(|us| *us != 0).map(unix_us),
        frame_unix_us: frame_us.map(unix_us),
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
