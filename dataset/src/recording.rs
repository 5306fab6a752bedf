//! Episodes as arrays, one for each seat: what data sets for learning are made of.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use archive::{Replica, open_past_episode, replay_from};
use env_core::Spec;
use env_core::shared::{count_own_actions, without_marks};
use protocol::change::Change;
use protocol::log::{self, Log};
use protocol::{Controller, Seat, Tick};
use serde::Serialize;
use store::{KnownLogs, data_folder};
use study::plural::count;

use crate::export::{Skipped, StopFlag};
use crate::progress::Progress;
use crate::verify::check_record;

/// Everything of an episode, for each tick in order.
pub(crate) struct Recording {
    pub(crate) log: Log,
    pub(crate) spec: Spec,
    /// `[seat][tick, value]`, one more than ticks.
    pub(crate) observations: Vec<Vec<f32>>,
    /// `[seat][tick]`
    pub(crate) actions: Vec<Vec<i64>>,
    pub(crate) rewards: Vec<Vec<f64>>,
    pub(crate) terminations: Vec<Vec<bool>>,
    pub(crate) truncations: Vec<Vec<bool>>,
    pub(crate) is_human: Vec<Vec<bool>>,
}

/// The data sets that were written.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DatasetsReport {
    /// The folder of all data sets.
    pub root: PathBuf,
    /// Every data set.
    pub datasets: Vec<WrittenDataset>,
    /// Episodes that were left out, each with the reason.
    pub skipped: Vec<Skipped>,
    /// The environment variable of the loader that names the folder.
    pub variable: &'static str,
}

/// A data set that was written.
#[derive(Clone, Debug, Serialize)]
pub struct WrittenDataset {
    /// Its name, as the loader takes it.
    pub id: String,
    /// Its episodes.
    pub episodes: usize,
    /// The steps of all episodes.
    pub steps: usize,
}

impl fmt::Display for DatasetsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.variable, self.root.display())?;
        for WrittenDataset {
            id,
            episodes,
            steps,
        } in &self.datasets
        {
            write!(f, "\n{id}: {}, {steps} steps", count(*episodes, "episode"))?;
        }
        let mut skipped = self.skipped.iter();
        skipped
            .try_for_each(|left| write!(f, "\nleft out: {}: {}", left.path.display(), left.reason))
    }
}

/// Reads the episodes of a data folder one after the other. Episodes that cannot be simulated, that were changed, or
/// from which somebody withdrew are put into the report; episodes without a tick are skipped.
///
/// # Errors
/// There is no data folder, the disk fails, the export was asked to stop, or `add` fails.
pub(crate) async fn read_recordings(
    data: &Path,
    stop: &StopFlag,
    report: &mut DatasetsReport,
    mut add: impl FnMut(&Recording) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    anyhow::ensure!(
        data_folder::is_there(data),
        "{} is no data folder of a server: it has neither episodes nor a database; name one with --data",
        data.display()
    );
    let withdrawn = store::read_withdrawn(data).await?;
    let known = store::read_ledger(data).await?.logs;
    let files = archive::list_logs(data)?;
    let mut progress = Progress::new(files.len());
    for path in files {
        stop.check()?;
        match read_recording(&path, &known) {
            Ok(recording) => {
                let header = &recording.log.header;
                let mut people = header.participants.iter();
                let is_gone = people.any(|name| withdrawn.participants.contains(name));
                if is_gone || withdrawn.groups.contains(&header.group) {
                    let reason = "somebody withdrew what was recorded".to_owned();
                    report.skipped.push(Skipped { path, reason });
                } else if recording.log.through.0 > 0 {
                    add(&recording)?;
                }
            }
            Err(error) => {
                let reason = format!("{error:#}");
                report.skipped.push(Skipped { path, reason });
            }
        }
        progress.step("episodes");
    }
    stop.check()
}

fn read_recording(path: &Path, known: &KnownLogs) -> anyhow::Result<Recording> {
    let bytes = fs::read(path)?;
    let log = log::read_log(&bytes)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(Path::new(""));
    let changes: Vec<Change> = log.changes().cloned().collect();
    let stored = archive::open_stored(folder);
    let (mut replica, _) = open_past_episode(&log, stored)?;
    check_record(&name, (&log, &bytes), replica.spec(), known).map_err(anyhow::Error::msg)?;
    anyhow::ensure!(
        replica.knows_observations(),
        "the world of this host does not repeat itself, and its log does not have every observation; with \
         `record_observations: true` in its stage, later episodes keep them"
    );
    let seats = log.count_seats();
    let mut recording = Recording {
        spec: without_marks(replica.spec()),
        observations: vec![Vec::new(); seats],
        actions: vec![Vec::new(); seats],
        rewards: vec![Vec::new(); seats],
        terminations: vec![Vec::new(); seats],
        truncations: vec![Vec::new(); seats],
        is_human: vec![Vec::new(); seats],
        log,
    };
    let Recording {
        log,
        observations,
        actions,
        rewards,
        terminations,
        truncations,
        is_human,
        ..
    } = &mut recording;
    observe(&mut replica, observations);
    let header = log.header.clone();
    let (inputs, own) = (log.rows(), count_own_actions(replica.spec()));
    replay_from(replica, log, |row, replica| {
        let tick = Tick(replica.ticks().0 - 1);
        for (seat, action) in row.iter().enumerate() {
            let outcome = replica.outcome();
            actions[seat].push(i64::from(*action));
            rewards[seat].push(f64::from(outcome.rewards[seat]));
            terminations[seat].push(outcome.terminated >> seat & 1 == 1);
            truncations[seat].push(outcome.truncated >> seat & 1 == 1);
            let controller = archive::controller_at(&header, &changes, Seat(seat as u8), tick);
            // A mark is the choice of the AI partner with which the person shares the seat.
            let is_mark = usize::from(inputs[tick.0 as usize * seats + seat]) >= own;
            is_human[seat].push(*controller == Controller::Human && !is_mark);
        }
        observe(replica, observations);
    })?;
    recording.cut_off();
    Ok(recording)
}

fn observe(replica: &mut Replica, observations: &mut [Vec<f32>]) {
    let mut values = Vec::new();
    for (seat, all) in (0..).map(Seat).zip(observations) {
        replica.observe(seat, &mut values);
        all.extend_from_slice(&values);
    }
}

impl Recording {
    /// An episode that ended before its environment did is cut off at its last step.
    fn cut_off(&mut self) {
        for (terminations, truncations) in self.terminations.iter().zip(&mut self.truncations) {
            if let (Some(false), Some(last)) = (terminations.last(), truncations.last_mut()) {
                *last = true;
            }
        }
    }

    /// The number of seats.
    pub(crate) fn count_seats(&self) -> usize {
        self.log.count_seats()
    }

    /// The number of ticks.
    pub(crate) fn ticks(&self) -> usize {
        self.log.through.0 as usize
    }

    /// The name of the data sets of the stage, without the seat: `coplay/STUDY-STAGE-LEN`.
    pub(crate) fn dataset_name(&self) -> String {
        let header = &self.log.header;
        let len = self.spec.observation_len();
        format!(
            "coplay/{}-{}-{len}",
            plain(&header.study),
            plain(&header.stage)
        )
    }
}

/// The part of a name that loaders allow.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}
