//! The findings of a rehearsal, for people and for scripts.

use std::collections::BTreeMap;
use std::fmt;

use dataset::verify::EpisodeCounts;
use serde::Serialize;

use super::fault::Fault;
use super::link_counts::LinkCounts;
use super::options::RehearsalMode;
use super::played::Played;
use super::record::{Phase, Record, Waited};
use super::spread::{Spread, measure_spread};

/// The findings of a rehearsal.
#[derive(Clone, Debug, Serialize)]
pub struct RehearsalReport {
    /// The study.
    pub study: String,
    /// The way in which it was rehearsed.
    pub mode: RehearsalMode,
    /// Seed of every random number.
    pub seed: u64,
    /// Sessions that were to take part.
    pub sessions: usize,
    /// Sessions by their outcome.
    pub outcomes: BTreeMap<String, usize>,
    /// Sessions without an outcome whose bots left permanently, as their script says.
    pub left_open: usize,
    /// Sessions that got stuck, or whose data differ from what the bot saw.
    pub stuck: Vec<Stuck>,
    /// Problems of the data as a whole.
    pub wrong: Vec<String>,
    /// Every script: the number of sessions that had it, and the number in which it happened.
    pub faults: BTreeMap<&'static str, Happened>,
    /// Faults that nobody had, since there are fewer sessions with a fault than faults.
    pub untried: Vec<&'static str>,
    /// How often the server was killed and started again.
    pub kills: usize,
    /// Sessions that were real pages, if there were any, and in which browser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browsers: Option<Browsers>,
    /// Pages that were opened again.
    pub returns: u32,
    /// Units by treatment and balanced sequence.
    pub cells: BTreeMap<String, Cell>,
    /// Minutes from admission to the last page, for participants who completed the study.
    pub minutes: Option<Spread>,
    /// Expected cost of the study, by currency.
    pub cost: BTreeMap<String, Cost>,
    /// Findings that a person should look at.
    pub warnings: Vec<String>,
    /// Waiting in lobbies.
    pub lobby: LobbyWaits,
    /// How packets of bots travelled to other people, if bots had WebRTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<LinkCounts>,
    /// Episodes by the verdicts of `coplay verify`.
    pub verdicts: EpisodeCounts,
    /// The tables.
    pub tables: TableCounts,
    /// The machine.
    pub machine: Machine,
    /// The last lines of the server's log, if something is wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub log: String,
}

/// A session that got stuck, or whose data differ from what the bot saw.
#[derive(Clone, Debug, Serialize)]
pub struct Stuck {
    /// Its number in the rehearsal.
    pub session: usize,
    /// The fault that it was given.
    pub fault: Option<Fault>,
    /// Its problems.
    pub because: Vec<String>,
    /// Its events and messages, in the order of time.
    pub trace: String,
}

/// Sessions that were real pages.
#[derive(Clone, Debug, Serialize)]
pub struct Browsers {
    /// Number of sessions.
    pub sessions: usize,
    /// The browser, such as `HeadlessChrome/140.0.7339.80`.
    pub product: String,
}

/// How often a script was given, and how often it happened.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Happened {
    /// Sessions that had it.
    pub sessions: usize,
    /// Sessions in which it happened.
    pub happened: usize,
}

/// Units with one treatment.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Cell {
    /// Units that were assigned to it.
    pub assigned: usize,
    /// Units whose people all completed the study, without an AI partner in place of somebody who came.
    pub completed: usize,
    /// Groups in which an AI partner played for somebody who had come: they do not count for the quota.
    pub with_ai: usize,
}

/// Costs in one currency.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// All payments.
    pub total: String,
    /// Sessions that are paid something.
    pub payments: usize,
    /// The median wage per hour of participants who completed the study.
    pub median_per_hour: Option<String>,
}

/// Waiting in lobbies.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LobbyWaits {
    /// People who arrived in a minute, on average.
    pub arrivals_per_min: f64,
    /// Seconds of waiting.
    pub wait_s: Option<Spread>,
    /// Times that somebody was matched with people.
    pub matched: usize,
    /// Times that somebody got AI partners alone.
    pub bots: usize,
    /// Times that somebody left without a match.
    pub left: usize,
}

/// The tables.
#[derive(Clone, Debug, Serialize)]
pub struct TableCounts {
    /// Rows by table.
    pub rows: BTreeMap<String, u64>,
    /// Answers that the server acknowledged; each is in the table.
    pub acknowledged: usize,
}

/// The machine.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Machine {
    /// Minutes of the study that the rehearsal lasted.
    pub study_min: f64,
    /// Seconds of real time that it took. Reports of virtual rehearsals are equal if their seeds are, so JSON has it of
    /// others alone.
    #[serde(skip_serializing_if = "Elapsed::is_virtual")]
    pub took_s: Elapsed,
    /// Seconds of processor time that the server used, if it had its own process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu_s: Option<f64>,
    /// Round trips to the server, milliseconds of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip_ms: Option<Spread>,
}

/// Seconds of real time.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(into = "f64")]
pub struct Elapsed {
    seconds: f64,
    mode: RehearsalMode,
}

impl Elapsed {
    fn is_virtual(&self) -> bool {
        self.mode == RehearsalMode::Virtual
    }
}

impl From<Elapsed> for f64 {
    fn from(elapsed: Elapsed) -> Self {
        elapsed.seconds
    }
}

/// The figures that come from the data.
pub(super) struct Figures {
    pub(super) wrong: Vec<String>,
    pub(super) verdicts: EpisodeCounts,
    pub(super) rows: BTreeMap<String, u64>,
    pub(super) stuck: Vec<Stuck>,
    pub(super) cells: BTreeMap<String, Cell>,
    pub(super) cost: BTreeMap<String, Cost>,
    pub(super) warnings: Vec<String>,
}

impl RehearsalReport {
    pub(super) fn new(
        played: &Played,
        sessions: Vec<(&Record, Option<String>)>,
        figures: Figures,
    ) -> Self {
        let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
        let mut faults: BTreeMap<&'static str, Happened> = BTreeMap::new();
        for (record, outcome) in &sessions {
            if let Some(outcome) = outcome {
                *outcomes.entry(outcome.clone()).or_default() += 1;
            }
            if let Some(fault) = record.fault {
                let happened = faults.entry(fault.name()).or_default();
                happened.sessions += 1;
                happened.happened += usize::from(record.happened);
            }
        }
        let possible = played
            .options
            .faults
            .list_possible(&played.study)
            .into_iter();
        let untried = possible.map(Fault::name);
        let untried = untried.filter(|name| !faults.contains_key(name)).collect();
        let is_fine = figures.stuck.is_empty() && figures.wrong.is_empty();
        let records = || sessions.iter().map(|(record, _)| *record);
        let open = sessions
            .iter()
            .filter(|(record, outcome)| outcome.is_none() && record.phase == Phase::Gone);
        let given = records().flat_map(|record| &record.given);
        let acknowledged = given.filter(|given| given.is_acknowledged);
        Self {
            study: format!("{} {}", played.study.id, played.study.version),
            mode: played.options.mode,
            seed: played.options.seed,
            sessions: sessions.len(),
            outcomes,
            left_open: open.count(),
            faults,
            untried,
            kills: played.kills,
            browsers: played.chromium.clone().map(|product| Browsers {
                sessions: records().filter(|record| record.is_real).count(),
                product,
            }),
            returns: records().map(|record| record.returns).sum(),
            cells: figures.cells,
            minutes: minutes(&sessions),
            cost: figures.cost,
            warnings: figures.warnings,
            lobby: LobbyWaits::new(played.options.arrivals_per_min, records()),
            links: (played.options.has_webrtc).then(|| records().map(|record| record.links).sum()),
            verdicts: figures.verdicts,
            tables: TableCounts {
                rows: figures.rows,
                acknowledged: acknowledged.map(|given| given.answers.len()).sum(),
            },
            machine: Machine {
                study_min: played.lasted_us as f64 / 60e6,
                took_s: Elapsed {
                    seconds: played.took.as_secs_f64(),
                    mode: played.options.mode,
                },
                server_cpu_s: played.cpu_s,
                round_trip_ms: measure_spread(played.round_trips.iter().map(|us| *us as f64 / 1e3)),
            },
            log: if is_fine {
                String::new()
            } else {
                played.log.clone()
            },
            stuck: figures.stuck,
            wrong: figures.wrong,
        }
    }

    /// Returns true if every session continued or ended in a declared outcome, and the data are whole.
    pub fn is_fine(&self) -> bool {
        self.stuck.is_empty() && self.wrong.is_empty()
    }
}

fn minutes(sessions: &[(&Record, Option<String>)]) -> Option<Spread> {
    let completed = sessions
        .iter()
        // Nobody in front of a real page reads it.
        .filter(|(record, outcome)| outcome.as_deref() == Some("completed") && !record.is_real);
    measure_spread(completed.filter_map(|(record, _)| {
        let us = record.ended_us?.saturating_sub(record.began_us?);
        Some(us as f64 / 60e6)
    }))
}

impl LobbyWaits {
    fn new<'a>(arrivals_per_min: f64, records: impl Iterator<Item = &'a Record>) -> Self {
        let waits: Vec<(u64, Waited)> = records.flat_map(|record| record.waits.clone()).collect();
        let count = |how| waits.iter().filter(|(_, of)| *of == how).count();
        Self {
            arrivals_per_min,
            wait_s: measure_spread(waits.iter().map(|(us, _)| *us as f64 / 1e6)),
            matched: count(Waited::Matched),
            bots: count(Waited::Bot),
            left: count(Waited::Left),
        }
    }
}

impl fmt::Display for RehearsalReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.mode {
            RehearsalMode::Virtual => "on a virtual clock",
            RehearsalMode::Process => "with the real program",
        };
        writeln!(
            f,
            "{}: {} sessions, seed {}, {how}",
            self.study, self.sessions, self.seed
        )?;
        if let Some(Browsers { sessions, product }) = &self.browsers {
            writeln!(f, "{sessions} of them were real pages in {product}")?;
        }
        writeln!(f)?;
        self.ends(f)?;
        self.went_wrong(f)?;
        self.treatments(f)?;
        self.times(f)?;
        self.machine(f)?;
        self.verdict(f)
    }
}

impl RehearsalReport {
    fn ends(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Outcomes")?;
        for (outcome, count) in &self.outcomes {
            writeln!(f, "  {outcome:<20} {count:>5}")?;
        }
        if self.left_open > 0 {
            writeln!(
                f,
                "  {:<20} {:>5}  page closed for good; no rule ended the session",
                "(none yet)", self.left_open
            )?;
        }
        Ok(())
    }

    fn went_wrong(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.faults.is_empty() && self.kills == 0 {
            return Ok(());
        }
        writeln!(f, "\nWhat went wrong on purpose")?;
        for (fault, name, what) in Fault::ALL {
            if fault == Fault::Server && self.kills > 0 {
                writeln!(f, "  {name:<20} {:>5}  {what}", self.kills)?;
            }
            if let Some(Happened { sessions, happened }) = self.faults.get(name) {
                let rest = match sessions - happened {
                    0 => String::new(),
                    left => format!("; {left} more could not happen"),
                };
                writeln!(f, "  {name:<20} {happened:>5}  {what}{rest}")?;
            }
        }
        if !self.untried.is_empty() {
            let (names, enough) = (
                self.untried.join(", "),
                2 * (self.faults.len() + self.untried.len()),
            );
            writeln!(
                f,
                "  not tried: {names}; half of the sessions have a fault, so give --sessions {enough} or more"
            )?;
        }
        Ok(())
    }

    fn treatments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = self.cells.keys().map(|name| name.chars().count()).max();
        let Some(widest) = widest else { return Ok(()) };
        let width = widest.max(20);
        let has_ai = self.cells.values().any(|cell| cell.with_ai > 0);
        let title = if has_ai { "  with AI" } else { "" };
        writeln!(
            f,
            "\n{:<1$} assigned  completed{title}",
            "Treatments",
            width + 2
        )?;
        let mut cells = self.cells.iter();
        cells.try_for_each(|(name, cell)| {
            let Cell {
                assigned,
                completed,
                with_ai,
            } = cell;
            write!(f, "  {name:<width$} {assigned:>8} {completed:>10}")?;
            match has_ai {
                true => writeln!(f, " {with_ai:>8}"),
                false => writeln!(f),
            }
        })
    }

    fn times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(minutes) = &self.minutes {
            writeln!(f, "\nMinutes to complete: {minutes}")?;
        }
        for (currency, cost) in &self.cost {
            let Cost {
                total,
                payments,
                median_per_hour,
            } = cost;
            write!(f, "Cost: {currency} {total} for {payments} sessions")?;
            if let Some(median) = median_per_hour {
                write!(
                    f,
                    "; those who completed earn {currency} {median} an hour in the median"
                )?;
            }
            writeln!(f)?;
        }
        for warning in &self.warnings {
            writeln!(f, "Warning: {warning}")?;
        }
        let LobbyWaits {
            arrivals_per_min,
            wait_s,
            matched,
            bots,
            left,
        } = &self.lobby;
        if let Some(wait_s) = wait_s {
            writeln!(
                f,
                "Seconds in a lobby, at {arrivals_per_min} arrivals a minute: {wait_s}\n  \
                 {matched} times matched with people, {bots} times with AI partners alone, {left} times left unmatched"
            )?;
        }
        if let Some(links) = &self.links {
            writeln!(f, "{links}")?;
        }
        let TableCounts { rows, acknowledged } = &self.tables;
        let rows: Vec<String> = rows
            .iter()
            .map(|(name, rows)| format!("{name} {rows}"))
            .collect();
        writeln!(
            f,
            "Rows: {}\nAnswers that the server acknowledged: {acknowledged}",
            rows.join(", ")
        )
    }

    fn machine(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine {
            study_min,
            took_s: Elapsed { seconds, .. },
            server_cpu_s,
            round_trip_ms,
        } = &self.machine;
        write!(f, "{study_min:.1} minutes of the study in {seconds:.1} s")?;
        if let Some(server_cpu_s) = server_cpu_s {
            write!(f, "; the server used {server_cpu_s:.1} s of processor time")?;
        }
        if let Some(round_trip_ms) = round_trip_ms {
            write!(f, "\nRound trips to it in ms: {round_trip_ms}")?;
        }
        writeln!(f)
    }

    fn verdict(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_fine() {
            return write!(
                f,
                "\nEvery session ended as it should, or was left for good. No acknowledged answer is missing. The tables fit \
                 together. {}.",
                self.verdicts
            );
        }
        writeln!(f, "\nWRONG")?;
        self.wrong
            .iter()
            .try_for_each(|wrong| writeln!(f, "  {wrong}"))?;
        for stuck in &self.stuck {
            let fault = stuck.fault.map_or("none", Fault::name);
            writeln!(f, "  session {}, fault {fault}:", stuck.session)?;
            stuck
                .because
                .iter()
                .try_for_each(|why| writeln!(f, "    {why}"))?;
            writeln!(f, "{}", stuck.trace)?;
        }
        match self.log.is_empty() {
            true => write!(
                f,
                "  Run the rehearsal again with the same seed to see this again."
            ),
            false => write!(f, "  The server's log ends with:\n{}", self.log),
        }
    }
}
