//! What is known of one session by the one who takes part: where it stands, what it was promised, how it ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use peer::Verdict;
use protocol::control::{Answer, Farewell, StageView};
use study::Outcome;

use super::fault::Fault;
use super::trace::Trace;

/// Where a bot stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not come yet.
    #[default]
    Coming,
    /// It is there; what it does.
    Here(&'static str),
    /// It has gone for good, on purpose.
    Gone,
    /// It is on the last page.
    Over,
    /// It cannot go on, for a reason.
    Stuck(String),
}

impl Phase {
    /// Whether nothing more will come of it.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Gone | Self::Over | Self::Stuck(_))
    }

    /// Whether it is in an episode.
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
    /// Whether the server has shown what follows, and so has them for good.
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

/// What is known of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// Its number in the rehearsal.
    pub(super) number: usize,
    /// What was to go wrong.
    pub(super) fault: Option<Fault>,
    /// Whether it is a page in a real browser.
    pub(super) is_real: bool,
    /// Whether it did.
    pub(super) happened: bool,
    /// Where it stands.
    pub(super) phase: Phase,
    /// The session's secret, as the page has it.
    pub(super) token: Option<String>,
    /// When it was let in, and when it saw the last page, microseconds.
    pub(super) began_us: Option<u64>,
    pub(super) ended_us: Option<u64>,
    /// The outcome that it was shown.
    pub(super) outcome: Option<String>,
    /// Whether it asked for what was recorded of it to be withdrawn.
    pub(super) has_withdrawn: bool,
    /// What it was given to take along.
    pub(super) farewell: Farewell,
    /// What stood at each position of the way, as it was shown.
    pub(super) places: BTreeMap<u16, String>,
    /// Answers, in the order in which they were given.
    pub(super) given: Vec<Given>,
    /// What it wrote to its groups, and what it was shown of what was written in them; that is durable.
    pub(super) wrote: BTreeSet<String>,
    pub(super) heard: BTreeSet<String>,
    /// Time in lobbies, microseconds, and how it ended.
    pub(super) waits: Vec<(u64, Waited)>,
    /// What the server said of the end of episodes, by their id.
    pub(super) verdicts: BTreeMap<String, Verdict>,
    /// Reloads, returns and further tabs.
    pub(super) returns: u32,
    /// What it said and heard.
    pub(super) trace: Trace,
}

impl Record {
    /// What stands at a position of the way never changes.
    ///
    /// # Errors
    /// A sentence, if it has.
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

/// Whether a view ended somebody's way by itself: whatever was said at the same moment may have come too late.
pub(super) fn cuts(view: &StageView) -> bool {
    let ends = [Outcome::TimedOut, Outcome::Withdrew, Outcome::Technical].map(Outcome::name);
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
