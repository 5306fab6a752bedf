//! The words of a verification.

use std::fmt;

use protocol::EnvWay;
use study::plural::count;

use super::{
    DivergedPage, EpisodeCounts, EpisodeVerdict, Equivocation, FaultyNotes, LedgerEnd, ShortSeat,
    StoredModule, Verified, VerifiedClip, VerifyReport, way_name,
};

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for episode in &self.episodes {
            writeln!(f, "{episode}")?;
        }
        for clip in &self.clips {
            writeln!(f, "{clip}")?;
        }
        for episode in &self.missing {
            writeln!(
                f,
                "{episode}: DIFFERS: the database has it, but there is no file"
            )?;
        }
        for altered in &self.altered {
            writeln!(f, "DIFFERS: {altered}")?;
        }
        if self.lacks_database {
            writeln!(
                f,
                "DIFFERS: the database {} is missing, although there are episodes",
                store::FILE
            )?;
        }
        if self.not_in_ledger > 0 {
            let logs = count(self.not_in_ledger, "ended episode");
            writeln!(
                f,
                "{logs} whose log is not in the ledger: what no page has signed there can be changed without notice"
            )?;
        }
        if let Some(LedgerEnd { entries, hash }) = &self.ledger {
            writeln!(f, "ledger of payments: entry {entries}, hash {hash}")?;
        }
        write!(f, "{}", self.count())
    }
}

impl fmt::Display for VerifiedClip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.clip.as_str() {
            "" => self.path.display().to_string(),
            clip => format!("clip {clip}"),
        };
        write!(f, "{name}: {} ticks: {}", self.ticks, self.verdict)
    }
}

impl fmt::Display for EpisodeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            episodes,
            verified,
            recorded,
        } = self;
        write!(f, "{verified} of {episodes} episodes verified")?;
        match recorded {
            0 => Ok(()),
            recorded => write!(f, ", {recorded} recorded"),
        }
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.reason.unwrap_or("running");
        write!(f, "{}: {state}, {} ticks", self.episode, self.ticks)?;
        if let Some(score) = self.score {
            write!(f, ", score {score}")?;
        }
        if !self.digest.is_empty() {
            write!(f, ", digest {}", self.digest)?;
        }
        if self.changes > 0 {
            write!(f, ", {} changes of seats", self.changes)?;
        }
        for page in &self.diverged {
            let DivergedPage { seat, tick, .. } = page;
            write!(f, ", the page of seat {seat} diverged at tick {tick}")?;
        }
        for lie in &self.equivocations {
            let Equivocation { seat, tick, by, .. } = lie;
            if seat == by {
                write!(f, ", seat {seat} contradicted itself at tick {tick}")?;
            } else {
                write!(
                    f,
                    ", seat {seat} told seat {by} something else at tick {tick}"
                )?;
            }
        }
        for short in &self.short {
            let ShortSeat { seat, said, ticks } = short;
            write!(
                f,
                ", the person of seat {seat} played {said} of {ticks} ticks"
            )?;
        }
        for seat in &self.withdrawn {
            write!(f, ", seat {seat} withdrawn")?;
        }
        if self.frames > 0 {
            write!(f, ", {} frames rebuilt", self.frames)?;
        }
        for notes in &self.faulty_notes {
            let FaultyNotes { seat, because, .. } = notes;
            write!(
                f,
                ", the notes of seat {seat} contradict the record ({because})"
            )?;
        }
        if self.torn {
            write!(f, ", last write cut short by a crash")?;
        }
        match &self.verdict {
            EpisodeVerdict::Equal if self.way == way_name(EnvWay::Host) => {
                write!(f, ": equal, run again")?;
            }
            verdict => write!(f, ": {verdict}")?,
        }
        match self.module {
            StoredModule::Present => write!(f, ", module stored"),
            StoredModule::Missing => write!(f, ", MODULE MISSING"),
            StoredModule::Altered => write!(f, ", MODULE ALTERED"),
            StoredModule::Unnamed => write!(f, ", environment of the program"),
        }
    }
}
