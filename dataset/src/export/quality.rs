//! The quality of what people did in episodes: one row for each episode and person, and totals for each person.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use protocol::Controller;
use protocol::change::{Change, Presence};
use protocol::control::EndReason;
use protocol::log::{Log, Record};
use protocol::{Seat, Tick};
use study::exclusion::SessionQuality;

use super::column::row;
use super::output::Output;
use super::report::ExportReport;
use super::simulation::SimulatedEpisode;
use super::table::{EpisodeKeys, Table};

/// A stretch without an action counts as idle from this length on, seconds.
const IDLE_S: u32 = 5;

row! {
    /// One row per episode and person: how much of it the person played, and was there.
    struct QualityRow {
        /// The ticks in which the person had the seat.
        own_ticks: u32,
        /// The ticks in which an AI partner or nobody played for the person.
        lost_ticks: u32,
        /// The share of the person's ticks without an action (with the no-op), from 0 to 1; missing if the person had no
        /// tick.
        noop_share: Option<f64>,
        /// The share of the person's ticks in stretches of at least five seconds without an action; missing with `mode:
        /// turns`.
        idle_share: Option<f64>,
        /// The longest stretch without an action, seconds; missing with `mode: turns`.
        longest_idle_s: Option<f64>,
        /// The number of pressed keys.
        presses: u32,
        /// The time from tick 0 to the end, seconds; missing with `mode: turns`.
        duration_s: Option<f64>,
        /// The time in which the page was out of sight, seconds.
        hidden_s: f64,
        /// The time in which the page was gone, seconds.
        away_s: f64,
    }
}

/// The quality of a person's part in one or more episodes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PersonTotals {
    episodes: u32,
    unfinished: u32,
    zero_scores: u32,
    own: u64,
    lost: u64,
    noops: u64,
    /// Only for episodes that are played in ticks.
    timed: Timed,
}

#[derive(Clone, Copy, Debug, Default)]
struct Timed {
    own: u64,
    idle: u64,
    longest_s: f64,
    duration_us: u64,
    hidden_us: u64,
    away_us: u64,
}

impl PersonTotals {
    fn add(&mut self, other: &Self) {
        self.episodes += other.episodes;
        self.unfinished += other.unfinished;
        self.zero_scores += other.zero_scores;
        self.own += other.own;
        self.lost += other.lost;
        self.noops += other.noops;
        let (all, more) = (&mut self.timed, &other.timed);
        all.own += more.own;
        all.idle += more.idle;
        all.longest_s = all.longest_s.max(more.longest_s);
        all.duration_us += more.duration_us;
        all.hidden_us += more.hidden_us;
        all.away_us += more.away_us;
    }

    /// Returns the quality for the formulas of rules, without the facts of the session.
    pub(super) fn measure_quality(&self) -> SessionQuality {
        let timed = &self.timed;
        SessionQuality {
            episodes: self.episodes,
            unfinished: self.unfinished,
            zero_scores: self.zero_scores,
            noop_share: share(self.noops, self.own),
            idle_share: share(timed.idle, timed.own),
            longest_idle_s: (timed.own > 0).then_some(timed.longest_s),
            hidden_share: share(timed.hidden_us, timed.duration_us),
            away_share: share(timed.away_us, timed.duration_us),
            lost_share: share(self.lost, self.own + self.lost),
            ..SessionQuality::default()
        }
    }
}

/// A part of a whole; `None` of nothing.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The table of quality, and the totals of each person.
pub(super) struct QualityTable {
    table: Table,
    totals: BTreeMap<String, PersonTotals>,
}

impl QualityTable {
    pub(super) fn create(output: &Output) -> anyhow::Result<Self> {
        Ok(Self {
            table: Table::create::<(EpisodeKeys<'_>, QualityRow)>(output, "quality")?,
            totals: BTreeMap::new(),
        })
    }

    pub(super) fn add_episode(&mut self, episode: &SimulatedEpisode<'_>) -> anyhow::Result<()> {
        let header = &episode.log.header;
        for (seat, person) in (0..).map(Seat).zip(&header.participants) {
            if person.is_empty() || episode.left_out.contains(&seat) {
                continue;
            }
            let part = measure_part(episode, seat);
            let (timed, is_timed) = (&part.timed, !header.rules.turns);
            let seconds = |us: u64| us as f64 / 1e6;
            let row = QualityRow {
                own_ticks: part.own as u32,
                lost_ticks: part.lost as u32,
                noop_share: share(part.noops, part.own),
                idle_share: share(timed.idle, timed.own),
                longest_idle_s: (timed.own > 0).then_some(timed.longest_s),
                presses: count_presses(&episode.log, seat),
                duration_s: is_timed.then(|| seconds(timed.duration_us)),
                hidden_s: seconds(timed.hidden_us),
                away_s: seconds(timed.away_us),
            };
            self.table.add(&(episode.keys(seat), row))?;
            self.totals.entry(person.clone()).or_default().add(&part);
        }
        Ok(())
    }

    /// Finishes the file, puts it into the report, and returns the totals of each person.
    pub(super) fn finish(
        self,
        report: &mut ExportReport,
    ) -> anyhow::Result<BTreeMap<String, PersonTotals>> {
        report.tables.push(self.table.finish()?);
        Ok(self.totals)
    }
}

/// A person's part in an episode.
fn measure_part(episode: &SimulatedEpisode<'_>, seat: Seat) -> PersonTotals {
    let header = &episode.log.header;
    let changes: Vec<Change> = episode.log.changes().cloned().collect();
    let idle_ticks = IDLE_S * u32::from(header.tick_hz.max(1));
    let (mut part, mut run, mut idle, mut longest) = (PersonTotals::default(), 0, 0, 0);
    for step in episode.steps.iter().filter(|step| step.seat == seat) {
        let controller = archive::controller_at(header, &changes, seat, step.tick);
        if *controller == Controller::Human && step.partner.is_some() {
            // The person has given the seat away, or chosen a partner's proposal.
            (part.own, run) = (part.own + 1, 0);
            continue;
        }
        if *controller != Controller::Human {
            (part.lost, run) = (part.lost + 1, 0);
            continue;
        }
        part.own += 1;
        if step.action != episode.spec.noop {
            run = 0;
            continue;
        }
        (part.noops, run) = (part.noops + 1, run + 1);
        longest = run.max(longest);
        // A stretch counts as a whole once it is long enough.
        idle += match run.cmp(&idle_ticks) {
            Ordering::Less => 0,
            Ordering::Equal => idle_ticks,
            Ordering::Greater => 1,
        };
    }
    part.episodes = 1;
    let is_played = episode.reason == Some(EndReason::Played);
    part.unfinished = u32::from(episode.reason.is_some() && !is_played);
    part.zero_scores = u32::from(episode.score().is_some_and(|score| score <= 0));
    let duration_us = duration_us(&episode.log, episode.ended_us);
    (part.timed.hidden_us, part.timed.away_us) = absence_us(&episode.log, seat, duration_us);
    if !header.rules.turns {
        part.timed.own = part.own;
        part.timed.idle = idle.into();
        part.timed.longest_s = f64::from(longest) / f64::from(header.tick_hz.max(1));
        part.timed.duration_us = duration_us;
    }
    part
}

/// Returns the time from tick 0 to the end, as far as the log has it: postponements make it longer than its ticks. What a page
/// notes of them counts up to the last time that the server knows.
fn duration_us(log: &Log, ended_us: Option<u64>) -> u64 {
    let (header, Tick(ticks)) = (&log.header, log.through);
    let last = |ticks: u32| u64::from(ticks) * 1_000_000 / u64::from(header.tick_hz.max(1));
    let since = |at_us: u64| at_us.saturating_sub(header.t0_us);
    let of_ticks = if header.rules.turns { 0 } else { last(ticks) };
    let known = log.records.iter().filter_map(|record| match record {
        Record::Presence { at_us, .. } => Some(since(*at_us)),
        Record::Paced { tick, at_us } => {
            let left = last(ticks.saturating_sub(tick.0));
            Some(since(*at_us).saturating_add(left))
        }
        _ => None,
    });
    let known = known.max().unwrap_or(0).max(of_ticks);
    let delays_ms = log.records.iter().flat_map(|record| match record {
        Record::Timing { timing, .. } if !header.rules.turns => timing.delays.as_slice(),
        _ => &[],
    });
    let delay_ms = delays_ms.map(|(_, ms)| *ms).max().unwrap_or(0);
    let noted = of_ticks + u64::from(delay_ms) * 1_000;
    noted.min(ended_us.map_or(known, since)).max(known)
}

/// Returns the time in which the page of a seat was hidden, and the time in which it was gone.
fn absence_us(log: &Log, seat: Seat, duration_us: u64) -> (u64, u64) {
    let (mut hidden, mut away) = (0, 0);
    let (mut now, mut since_us) = (Presence::Here, 0);
    let mut pass = |presence: Presence, from_us: u64, to_us: u64| match presence {
        Presence::Here => {}
        Presence::Hidden => hidden += to_us.saturating_sub(from_us),
        Presence::Gone | Presence::Returning => away += to_us.saturating_sub(from_us),
    };
    for record in &log.records {
        if let Record::Presence {
            seat: of,
            at_us,
            presence,
        } = record
            && *of == seat
        {
            let at_us = at_us.saturating_sub(log.header.t0_us);
            pass(now, since_us, at_us);
            (now, since_us) = (*presence, at_us);
        }
    }
    pass(now, since_us, duration_us);
    (hidden, away)
}

/// The number of keys that the person of a seat pressed, as the pages noted it.
fn count_presses(log: &Log, seat: Seat) -> u32 {
    let pressed = log.records.iter().map(|record| match record {
        Record::Timing {
            seat: of, timing, ..
        } if *of == seat => timing.keys.iter().filter(|key| key.down).count(),
        _ => 0,
    });
    pressed.sum::<usize>() as u32
}
