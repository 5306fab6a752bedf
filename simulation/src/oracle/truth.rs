//! The facts of an episode, and the archive that follows from them.

use std::collections::BTreeMap;
use std::ops::Range;

use env_core::shared::is_mark;
use env_core::{Action, World as _};
use protocol::change::Change;
use protocol::control::EndReason;
use protocol::log::{Log, Record};
use protocol::{Controller, Life, Seat, Tick};
use rollback::Session;

use super::rule::{Claims, Hands};
use crate::agent::read_stored;
use crate::native::Native;
use crate::tab::ShownFrame;

/// The most bytes of seen-log that a page may send in a second, on average, and for each seat if that is more: for
/// people who press up to fourteen other keys a second, on networks that deliver inputs in bursts, and on screens of 60
/// Hz.
/// `protocol/PROTOCOL.md` promises it. Each such key has its bits, so more than ten such people cannot keep 300.
const SEEN_PER_S: (u64, u64) = (300, 30);
/// A frame that is shown for less than this is taken to have lasted as long, milliseconds: the head of a chunk weighs more.
const SEEN_OVER_MS: u64 = 2_000;

/// The facts of an episode.
#[derive(Debug, Default)]
pub(super) struct Truth {
    pub(super) episode: String,
    pub(super) controllers: Vec<Controller>,
    pub(super) window: u32,
    pub(super) tick_hz: u32,
    /// The actions that are final for anybody, `[tick, seat]`, from tick 0.
    pub(super) rows: Vec<Option<Action>>,
    /// The state after this many ticks, as it is final for anybody.
    pub(super) digests: BTreeMap<Tick, u64>,
    pub(super) changes: BTreeMap<u16, Change>,
    /// Ticks that a page knows to be durable.
    pub(super) acknowledged: Tick,
    /// Notes of each page life that the page knows to be durable.
    pub(super) notes: BTreeMap<(Seat, u8), u32>,
    /// The end as pages were sent it.
    pub(super) verdict: Option<(EndReason, Tick, i64, u64)>,
    /// The tick at which pages have confirmed the end.
    pub(super) ended: Option<Tick>,
    /// The receipts that pages have sent.
    pub(super) claims: Claims,
    /// The frames on each page's screen in each life of its seat, in order.
    pub(super) shown: BTreeMap<(Seat, u8), Vec<ShownFrame>>,
    /// The inputs that the page of each seat has said, in each life.
    pub(super) said: BTreeMap<(Seat, u8, Tick), Action>,
    /// True if a page was sent the start.
    pub(super) is_started: bool,
    pub(super) is_judged: bool,
    /// Actions in the archive that stand for the choice of an AI partner.
    pub(super) handed_over: u64,
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

    /// A page that knows this many changes confirms some more ticks: whether it may.
    pub(super) fn check_settled(
        &self,
        own: Seat,
        news: Range<u32>,
        changes: u16,
    ) -> Result<(), String> {
        let known = self.changes.values().take(usize::from(changes));
        let hands = Hands::new(&self.controllers, known);
        // The server sends everybody the final ticks.
        let asked = news.start.max(self.acknowledged.0)..news.end;
        asked
            .into_iter()
            .try_for_each(|tick| hands.check_settled(own, tick, &self.claims))
    }

    /// Compares the final ticks of a page with those of others: the actions, and the state after them. Looks again at a
    /// few earlier ticks: they must not change.
    pub(super) fn compare(
        &mut self,
        session: &mut Session<Native>,
        seen: u32,
        settled: u32,
        is_lied_to: bool,
    ) -> Result<(), String> {
        let (first, seats) = (session.first_tick().0, self.controllers.len());
        for tick in seen.saturating_sub(3).max(first)..settled {
            let at = (tick - first) as usize;
            // A lie that changes nothing until the next digest is never discovered: only the digests are compared.
            if is_lied_to {
                continue;
            }
            self.row(tick, &session.rows()[at * seats..(at + 1) * seats])?;
            let state = session.world().states()[at];
            self.digest(Tick(tick + 1), state)?;
        }
        Ok(())
    }

    /// No input of a person is in the archive that their own page has not said.
    fn said(&self, log: &Log) -> Result<(), String> {
        let changes: Vec<&Change> = log.changes().collect();
        for (tick, row) in (0..)
            .map(Tick)
            .zip(log.rows().chunks_exact(log.count_seats()))
        {
            for (seat, &action) in (0..).map(Seat).zip(row) {
                let mut known = changes.iter().rev();
                let last = known.find(|change| change.seat == seat && change.tick <= tick);
                let (controller, life) = match last {
                    Some(change) => (&change.controller, change.life),
                    None => (&log.header.controllers[seat.index()], Life(0)),
                };
                let said = self.said.get(&(seat, life.0, tick));
                if *controller == Controller::Human && said != Some(&action) {
                    return Err(format!(
                        "said: tick {}: seat {} plays {action}, and its page has said {said:?}",
                        tick.0, seat.0
                    ));
                }
            }
        }
        Ok(())
    }

    pub(super) fn check_durable(&self, log: &Log) -> Result<(), String> {
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
        self.check_durable(log)?;
        let Some(ending) = log.ending else {
            return Err(format!("end: {} has none in the archive", self.episode));
        };
        let told = (ending.reason, ending.ticks, ending.score, ending.digest);
        if let Some(verdict) = self.verdict.filter(|verdict| *verdict != told) {
            return Err(format!(
                "end: {verdict:?} was told, {told:?} is in the archive"
            ));
        }
        let seats = log.count_seats();
        let mut states = Vec::new();
        let replayed = archive::replay(log, read_stored, |_, replica| {
            let tick = replica.ticks();
            states.extend(replica.digest(tick).map(|digest| (tick, digest)));
        });
        let replica = replayed.map_err(|error| format!("replay: {error}"))?;
        let over = replica.outcome().over;
        if over != (ending.reason == EndReason::Played) {
            return Err(format!(
                "end: the environment is over: {over}, but the reason is {:?}",
                ending.reason
            ));
        }
        for (tick, row) in log.rows().chunks_exact(seats).enumerate() {
            self.row(tick as u32, row)
                .map_err(|differs| format!("{differs} (the archive)"))?;
        }
        self.said(log)?;
        self.replay(log)?;
        for (tick, digest) in states {
            self.digest(tick, digest)
                .map_err(|differs| format!("{differs} (the replica)"))?;
        }
        // A different state says more than the end that follows from it.
        if self.ended.is_some_and(|ended| over && ended != log.through) {
            return Err(format!(
                "end: {:?} on the pages, {:?} in the archive",
                self.ended, log.through
            ));
        }
        Ok(())
    }

    /// Plays the archive's rows by the rules alone: the state after every tick.
    fn replay(&mut self, log: &Log) -> Result<(), String> {
        let mut world = Native::recorded_world(&log.header)?;
        world.reset(log.header.seed);
        let rows = log.rows();
        for row in rows.chunks_exact(log.count_seats()) {
            world.step(row);
        }
        let marks = rows.iter();
        let marks = marks.filter(|action| is_mark(world.spec(), **action));
        self.handed_over = marks.count() as u64;
        for (tick, &digest) in (1..).map(Tick).zip(world.states()) {
            self.digest(tick, digest)
                .map_err(|differs| format!("{differs} (the archive)"))?;
        }
        Ok(())
    }

    /// The most bytes of seen-log in a second, on average, that the life of a page took.
    pub(super) fn seen_per_s(&self, log: &Log) -> Result<u64, String> {
        let mut pages: BTreeMap<(Seat, u8), (u64, u32, u32)> = BTreeMap::new();
        for record in &log.records {
            let Record::Timing { seat, life, timing } = record else {
                continue;
            };
            if timing.seen.is_empty() {
                continue;
            }
            let frames = protocol::seen::decode(&timing.seen, log.count_seats())
                .map_err(|error| format!("seen: {error}"))?;
            let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
                continue;
            };
            let page = pages.entry((*seat, life.0));
            let (bytes, _, until_ms) = page.or_insert((0, first.at_ms, 0));
            *bytes += timing.seen.len() as u64;
            *until_ms = last.at_ms;
        }
        let spans = pages.values().map(|&(bytes, from_ms, until_ms)| {
            let span_ms = u64::from(until_ms.saturating_sub(from_ms)).max(SEEN_OVER_MS);
            bytes * 1_000 / span_ms
        });
        let most = spans.max().unwrap_or_default();
        let (all, each) = SEEN_PER_S;
        if most > all.max(each * log.count_seats() as u64) {
            return Err(format!("seen: {most} bytes a second"));
        }
        Ok(most)
    }

    /// Rebuilds the shown frames, as far as their notes became durable; returns their number.
    pub(super) fn rebuild_frames(&self, log: &Log) -> Result<u64, String> {
        let screens = archive::Screens::new(log);
        let pages = screens.pages(read_stored);
        let pages = pages.map_err(|error| format!("seen: {error}"))?;
        let mut count = 0;
        for page in pages {
            let of = format!("seen: seat {} in life {}", page.seat.0, page.life.0);
            let frames: Result<Vec<_>, String> = page.frames.collect();
            let frames = frames.map_err(|error| format!("{of}: {error}"))?;
            let shown = self.shown.get(&(page.seat, page.life.0));
            // Frames without a later note may not have become durable.
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
