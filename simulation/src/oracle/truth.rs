//! What is known of an episode, and what its archive must therefore say.

use std::collections::BTreeMap;

use env_core::Action;
use protocol::change::Change;
use protocol::control::{EndReason, Report};
use protocol::log::Log;
use protocol::{Controller, MAX_SEATS, Seat, Tick};
use signaling_server::archive;

use crate::page::Shown;

/// What is known of an episode.
#[derive(Debug, Default)]
pub(super) struct Truth {
    pub(super) episode: String,
    pub(super) controllers: Vec<Controller>,
    pub(super) window: u32,
    /// What anybody has confirmed, `[tick, seat]`, from tick 0.
    pub(super) rows: Vec<Option<Action>>,
    pub(super) digests: BTreeMap<Tick, u64>,
    pub(super) changes: BTreeMap<u16, Change>,
    /// Ticks that a page was told are durable.
    pub(super) acknowledged: Tick,
    /// Notes of each page life that it was told are durable.
    pub(super) notes: BTreeMap<(Seat, u8), u32>,
    /// What pages were told of the end.
    pub(super) verdict: Option<(EndReason, Tick, i64, u64)>,
    /// Where pages have confirmed the end.
    pub(super) ended: Option<Tick>,
    /// The receipts that each seat has ever sent, `[seat][seat]`.
    pub(super) told: [[u32; MAX_SEATS]; MAX_SEATS],
    /// What was on each page's screen in each life of its seat, in order.
    pub(super) shown: BTreeMap<(Seat, u8), Vec<Shown>>,
    /// What pages have reported, and from which tick on the person of each plays.
    pub(super) reports: Vec<(Report, Tick)>,
    /// Seats taken with nobody's report: the number of the change and its tick.
    pub(super) lonely: Vec<(u16, Tick)>,
    /// Whether a page was told to start.
    pub(super) is_started: bool,
    pub(super) is_judged: bool,
}

impl Truth {
    pub(super) fn row(&mut self, tick: u32, row: &[Action]) -> Result<(), String> {
        let at = tick as usize * row.len();
        if self.rows.len() < at + row.len() {
            self.rows.resize(at + row.len(), None);
        }
        for (seat, (known, &action)) in self.rows[at..].iter_mut().zip(row).enumerate() {
            let known = *known.get_or_insert(action);
            if known != action {
                return Err(format!(
                    "log: tick {tick} seat {seat}: {known} for one, {action} for another"
                ));
            }
        }
        Ok(())
    }

    pub(super) fn digest(&mut self, tick: Tick, digest: u64) -> Result<(), String> {
        let known = *self.digests.entry(tick).or_insert(digest);
        if known != digest {
            return Err(format!(
                "digest: {known:016x} for one, {digest:016x} for another after {} ticks",
                tick.0
            ));
        }
        Ok(())
    }

    /// Whether everybody has said to have everything before a tick; while no seat has changed hands.
    pub(super) fn receipts(&self, own: Seat, confirmed: u32, delay: u32) -> Result<(), String> {
        let people = || {
            let seats = self.controllers.iter().enumerate();
            seats
                .filter(|(_, controller)| **controller == Controller::Human)
                .map(|(seat, _)| seat)
        };
        for seat in people() {
            for by in people().filter(|&by| by != seat && by != own.index()) {
                let told = self.told[by][seat].max(delay);
                if told < confirmed {
                    return Err(format!(
                        "receipts: seat {} has confirmed {confirmed} ticks, but seat {by} has {told} of seat {seat}",
                        own.0
                    ));
                }
            }
        }
        Ok(())
    }

    /// Up to which tick somebody who knows so many changes speaks of the same episode.
    pub(super) fn known(&self, changes: u16) -> Tick {
        let unknown = self.lonely.iter().filter(|(number, _)| *number >= changes);
        unknown.map(|(_, cut)| *cut).min().unwrap_or(Tick(u32::MAX))
    }

    pub(super) fn durable(&self, log: &Log) -> Result<(), String> {
        if log.through < self.acknowledged {
            return Err(format!(
                "durable: {} ticks were acknowledged, the file has {}",
                self.acknowledged.0, log.through.0
            ));
        }
        let known: Vec<&Change> = self.changes.values().collect();
        let there: Vec<&Change> = log.changes().collect();
        if there.len() < known.len()
            || known
                .iter()
                .any(|change| there[usize::from(change.number)] != *change)
        {
            return Err(format!(
                "change: told {known:?}, but the file has {there:?}"
            ));
        }
        for (&(seat, life), &notes) in &self.notes {
            let stored = log.records.iter().filter(|record| {
                matches!(record, protocol::log::Record::Timing { seat: of, life: by, .. } if (*of, by.0) == (seat, life))
            });
            let stored = stored.count();
            if stored < notes as usize {
                return Err(format!(
                    "durable: {notes} notes of seat {} were acknowledged, the file has {stored}",
                    seat.0
                ));
            }
        }
        Ok(())
    }

    pub(super) fn judge(&mut self, log: &Log) -> Result<(), String> {
        self.durable(log)?;
        let Some(ending) = log.ending else {
            return Err(format!("end: {} has none in the archive", self.episode));
        };
        let told = (ending.reason, ending.ticks, ending.score, ending.digest);
        if let Some(verdict) = self.verdict.filter(|verdict| *verdict != told) {
            return Err(format!(
                "end: {verdict:?} was told, {told:?} is in the archive"
            ));
        }
        let seats = log.seats();
        let mut states = Vec::new();
        let replayed = archive::replay(
            log,
            |_| Err(std::io::Error::other("native")),
            |_, replica| {
                states.push((replica.ticks(), replica.digest(replica.ticks())));
            },
        );
        let replica = replayed.map_err(|error| format!("replay: {error}"))?;
        let over = replica.outcome().over;
        if over != (ending.reason == EndReason::Played) {
            return Err(format!(
                "end: the environment is over: {over}, but the reason is {:?}",
                ending.reason
            ));
        }
        if self.ended.is_some_and(|ended| over && ended != log.through) {
            return Err(format!(
                "end: {:?} on the pages, {:?} in the archive",
                self.ended, log.through
            ));
        }
        for (tick, row) in log.rows().chunks_exact(seats).enumerate() {
            self.row(tick as u32, row)
                .map_err(|differs| format!("{differs} (the archive)"))?;
        }
        for (tick, digest) in states {
            if let Some(known) = self
                .digests
                .get(&tick)
                .filter(|known| Some(**known) != digest)
            {
                return Err(format!(
                    "digest: {known:016x} on a page, {digest:?} in the replica after {} ticks",
                    tick.0
                ));
            }
        }
        Ok(())
    }

    /// Rebuilds what was shown, as far as its notes became durable; gives the number of frames.
    pub(super) fn rebuild(&self, log: &Log) -> Result<u64, String> {
        let pages = archive::shown(log, |_| Err(std::io::Error::other("native")));
        let pages = pages.map_err(|error| format!("seen: {error}"))?;
        let mut count = 0;
        for page in pages {
            let of = format!("seen: seat {} in life {}", page.seat.0, page.life.0);
            let frames = page.frames.map_err(|error| format!("{of}: {error}"))?;
            let shown = self.shown.get(&(page.seat, page.life.0));
            // What no later note follows may not have become durable.
            let end_ms = frames.last().map_or(0, |frame| frame.frame.at_ms);
            for shown in shown
                .into_iter()
                .flatten()
                .filter(|shown| shown.at_ms < end_ms)
            {
                let next = frames.partition_point(|frame| frame.frame.at_ms <= shown.at_ms);
                let last = next.checked_sub(1).map(|last| &frames[last]);
                // Before tick 0 is due, all frames have the same time.
                let mut same = frames[..next]
                    .iter()
                    .rev()
                    .take_while(|frame| frame.frame.at_ms == shown.at_ms);
                let is_rebuilt = same.any(|frame| frame.shown == shown.digest)
                    || last.is_some_and(|frame| frame.shown == shown.digest);
                if !is_rebuilt {
                    return Err(format!(
                        "{of}: after {} ms {:016x} was shown, {last:?} is rebuilt",
                        shown.at_ms, shown.digest
                    ));
                }
                count += 1;
            }
        }
        Ok(count)
    }
}
