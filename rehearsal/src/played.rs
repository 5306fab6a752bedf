//! The findings of a rehearsal, which the judge compares with the data.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use store::StudyStore;
use study::{Assignment, Study};

use crate::options::RehearsalOptions;
use crate::record::Shared;

/// The findings of a rehearsal before the data are read.
pub(crate) struct Played {
    pub(crate) options: RehearsalOptions,
    pub(crate) study: Arc<Study>,
    /// The key of each session in the data, and its record here.
    pub(crate) sessions: Vec<(String, Shared)>,
    /// The assignments of participants, each time that the server had been killed.
    pub(crate) snapshots: Vec<BTreeMap<String, Assignment>>,
    /// Time of the study that passed, and time of the machine.
    pub(crate) lasted_us: u64,
    pub(crate) took: Duration,
    /// Processor time of the server's process, if it had one.
    pub(crate) cpu_s: Option<f64>,
    pub(crate) round_trips: Vec<u64>,
    pub(crate) kills: usize,
    /// Product name of the browser, if there was one.
    pub(crate) chromium: Option<String>,
    pub(crate) log: String,
}

/// The random assignment of each participant, from the database.
pub(crate) async fn read_assignments(data: &Path) -> anyhow::Result<BTreeMap<String, Assignment>> {
    let store = StudyStore::read(data).await?;
    let sessions = store.sessions().await?;
    store.close().await;
    let mut drawn = BTreeMap::new();
    for session in sessions {
        let progress: study::Progress = serde_json::from_str(&session.position)?;
        // One that nobody has begun may be forgotten.
        if progress.has_begun() {
            drawn.insert(session.participant, progress.assignment().clone());
        }
    }
    Ok(drawn)
}
