//! The choice of what an export writes, and the means to end it early.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use study::exclusion::ExclusionRule;

use super::adherence::ChosenMeasure;
use super::sink::TableFormat;

/// The choice of what an export writes.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// The format of the tables.
    pub format: TableFormat,
    /// True for the table of frames that pages showed.
    pub seen: bool,
    /// True for the table of states, computed again.
    pub states: bool,
    /// True for the table of decisions of models, computed again.
    pub decisions: bool,
    /// The tables of observations, computed again.
    pub observations: BTreeSet<ObservationKind>,
    /// Only rows that are new or changed since then, microseconds since the Unix epoch.
    pub since_us: Option<u64>,
    /// True for recruiters' identifiers in the table of sessions.
    pub identifiers: bool,
    /// A file of the recruiter with a row per participant, to join with the table of sessions.
    pub demographics: Option<PathBuf>,
    /// Rules that replace those of the studies.
    pub exclusions: Option<Vec<ExclusionRule>>,
    /// Measures of adherence that replace the recorded measures of episodes.
    pub adherence: Option<Vec<ChosenMeasure>>,
    /// Ends the export early.
    pub stop: StopFlag,
}

/// A kind of observations, which has its own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObservationKind {
    /// All values that policies see.
    Features,
    /// The fields with three dimensions or more.
    Grid,
    /// The picture that a person sees.
    Pixels,
    /// The picture in the style of Atari.
    Atari,
}

impl ExportOptions {
    /// Tells whether something is exported that happened then.
    pub(super) fn is_within(&self, at_us: u64) -> bool {
        self.since_us.is_none_or(|since_us| at_us >= since_us)
    }
}

/// Ends the work of an export early; clones share it.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Asks the export to stop.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Checks whether to continue.
    ///
    /// # Errors
    /// The export was asked to stop.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            !self.0.load(Ordering::Relaxed),
            "stopped before the end; nothing was written"
        );
        Ok(())
    }
}
