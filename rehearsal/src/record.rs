//! The record that a bot or page keeps of its own session: its position, the server's promises, and its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use peer::Verdict;
use protocol::control::{Answer, Farewell, StageView};
use study::Outcome;

use super::fault::Fault;
use super::link_counts::LinkCounts;
use super::trace::Trace;

/// The phase that a bot is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not arrived yet.
    #[default]
    Coming,
    /// It takes part; the text says in which stage.
    Here(&'static str),
    /// It has left permanently, on purpose.
    Gone,
    /// It is on the last page.
    Over,
    /// It cannot continue, for a reason.
    Stuck(String),
}

impl Phase {
    /// Returns true if it has ended.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Gone | Self::Over | Self::Stuck(_))
    }

    /// Returns true if it is in an episode.
    pub(super) fn is_playing(&self) -> bool {
        *self == Self::Here("playing")
    }
}

/// Answers that were given.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// Id of the stage.
    pub(super) stage: String,
    /// The answers.
    pub(super) answers: Vec<Answer>,
    /// True if the server has shown the next stage, and so has stored them.
    pub(super) is_acknowledged: bool,
}

/// How waiting in a lobby ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// With people.
    Matched,
    /// With AI partners alone.
    Bot,
    /// Without a match.
    Left,
}

/// The record of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// Its number in the rehearsal.
    pub(super) number: usize,
    /// The fault that it was given.
    pub(super) fault: Option<Fault>,
    /// True if it is a page in a real browser.
    pub(super) is_real: bool,
    /// True if the fault happened.
    pub(super) happened: bool,
    /// Its phase.
    pub(super) phase: Phase,
    /// The session's secret, as the page has it.
    pub(super) token: Option<String>,
    /// When it was admitted, and when it saw the last page, microseconds.
    pub(super) began_us: Option<u64>,
    pub(super) ended_us: Option<u64>,
    /// The outcome that it was shown.
    pub(super) outcome: Option<String>,
    /// True if it asked for its data to be withdrawn.
    pub(super) has_withdrawn: bool,
    /// The code, number and payment on its last page.
    pub(super) farewell: Farewell,
    /// The stage or episode at each position of the route, as it was shown.
    pub(super) places: BTreeMap<u16, String>,
    /// Answers, in the order in which they were given.
    pub(super) given: Vec<Given>,
    /// Messages that it wrote to its groups, and messages of its groups that it was shown and that are therefore
    /// durable.
    pub(super) wrote: BTreeSet<String>,
    pub(super) heard: BTreeSet<String>,
    /// Time in lobbies, microseconds, and how it ended.
    pub(super) waits: Vec<(u64, Waited)>,
    /// The server's verdicts on episodes, by their id.
    pub(super) verdicts: BTreeMap<String, Verdict>,
    /// How its packets travelled to other people, at the ends of episodes.
    pub(super) links: LinkCounts,
    /// Reloads, returns and further tabs.
    pub(super) returns: u32,
    /// Its events and messages.
    pub(super) trace: Trace,
}

impl Record {
    /// Records the stage or episode at a position of the route, which never changes.
    ///
    /// # Errors
    /// A sentence, if it has changed.
    pub(super) fn stand_at(&mut self, position: u16, what: String) -> Result<(), String> {
        let before = self.places.entry(position).or_insert_with(|| what.clone());
        match *before == what {
            true => Ok(()),
            false => Err(format!(
                "the way has changed: at position {position} was {before}, and now is {what}"
            )),
        }
    }
}

/// Returns true if a view ended the session without the participant's doing: a message of the same moment may have
/// arrived too late.
pub(super) fn is_cut_short(view: &StageView) -> bool {
    let ends = [
        Outcome::TimedOut,
        Outcome::LeftEarly,
        Outcome::Withdrew,
        Outcome::Technical,
        Outcome::PageFailed,
    ];
    let ends = ends.map(Outcome::name);
    matches!(view, StageView::End { outcome, .. } if ends.contains(&outcome.as_str()))
}

/// A record that the bot writes and the rehearsal reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared(Arc<Mutex<Record>>);

impl Shared {
    pub(super) fn new(number: usize, is_real: bool, fault: Option<Fault>) -> Self {
        let record = Record {
            number,
            is_real,
            fault,
            ..Record::default()
        };
        Self(Arc::new(Mutex::new(record)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
