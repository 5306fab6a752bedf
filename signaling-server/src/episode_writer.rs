//! One thread an episode, which does the archive's work in order and reports what became of it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use archive::Episode;
use archive::work::{perform_work, repeat_ended};
use protocol::Era;
use server_core::arbiter::{Event, Work};
use tokio::sync::mpsc::UnboundedSender;

use crate::disk::DiskRoom;
use crate::world_faults::{WorldFault, WorldFaults};

/// To the thread of an episode.
#[derive(Debug)]
pub struct EpisodeWriter {
    work: mpsc::Sender<Work>,
    thread: std::thread::JoinHandle<()>,
}

impl EpisodeWriter {
    /// Starts the thread of an episode. `open` gives the episode, or nothing: its file is then made by
    /// [`Work::Open`] in `dir`. Results are reported as events; each answers one piece of work. An environment that breaks
    /// down is reported to `faults`.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(
        era: Era,
        dir: PathBuf,
        disk: Arc<DiskRoom>,
        faults: Arc<WorldFaults>,
        open: impl FnOnce() -> Option<Episode> + Send + 'static,
        results: UnboundedSender<Event>,
    ) -> std::io::Result<Self> {
        let (work, todo) = mpsc::channel();
        let name = format!("episode-{}", era.0);
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let mut episode = open();
            for work in todo {
                disk.wait_for_room();
                let result = guarded(era, &mut episode, work, |episode, work| {
                    perform_work(era, episode, work, |header| Episode::create(&dir, header))
                });
                if let Some(fault) = episode.as_ref().and_then(world_fault) {
                    faults.report(fault);
                }
                let ended = matches!(result, Event::Ended(..)).then(|| result.clone());
                // The driver drops its end only when the server has stopped.
                let is_stopped = results.send(result).is_err();
                if let Some(ended) = ended {
                    return repeat_ended(&ended, &mut episode);
                }
                if is_stopped {
                    return;
                }
            }
        })?;
        Ok(Self { work, thread })
    }

    /// Hands over work; false if the thread is gone.
    pub fn hand_work(&self, work: Work) -> bool {
        self.work.send(work).is_ok()
    }

    /// Waits until all work is done.
    pub fn finish_work(self) {
        drop(self.work);
        if self.thread.join().is_err() {
            tracing::error!("the thread of an episode panicked");
        }
    }
}

fn world_fault(episode: &Episode) -> Option<WorldFault> {
    Some(WorldFault {
        text: episode.world_fault()?,
        episode: episode.header().episode.clone(),
        tick: episode.through().0,
    })
}

/// Does a piece of work; a panic in it is a failure of this episode, so that nobody waits for a result for ever.
fn guarded<E>(
    era: Era,
    episode: &mut Option<E>,
    work: Work,
    perform: impl FnOnce(&mut Option<E>, Work) -> Event,
) -> Event {
    let failed = work.failure_event(era);
    let done = catch_unwind(AssertUnwindSafe(|| perform(episode, work)));
    done.unwrap_or_else(|_| {
        tracing::error!(era = era.0, "the archive of an episode panicked");
        // What it left half-done must not be written on.
        *episode = None;
        failed
    })
}

/// Starts a thread for each episode that was running when the server stopped.
pub(crate) fn start_writers(
    logs: HashMap<Era, Episode>,
    dir: &Path,
    (disk, faults): (&Arc<DiskRoom>, &Arc<WorldFaults>),
    results: &UnboundedSender<Event>,
) -> std::io::Result<HashMap<Era, EpisodeWriter>> {
    let start = |(era, log)| {
        let open = move || Some(log);
        let (disk, faults) = (Arc::clone(disk), Arc::clone(faults));
        let dir = dir.to_owned();
        let writer = EpisodeWriter::start(era, dir, disk, faults, open, results.clone())?;
        Ok((era, writer))
    };
    logs.into_iter().map(start).collect()
}

#[cfg(test)]
mod tests {
    use protocol::control::EndReason;
    use server_core::arbiter::RecordWork;

    use super::*;

    #[test]
    fn a_panic_is_reported_as_a_failure_of_the_episode() {
        let work = RecordWork::End(EndReason::Played).into();
        let mut episode = Some(());
        let event = guarded(Era(7), &mut episode, work, |_, _| {
            panic!("a fault of the environment")
        });
        assert!(matches!(event, Event::Ended(Era(7), None)), "{event:?}");
        assert_eq!(episode, None);
    }
}
