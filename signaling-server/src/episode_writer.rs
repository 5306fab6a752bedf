//! One thread an episode, which does the archive's work in order and reports what became of it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use archive::Episode;
use archive::work::{perform_work, repeat_ended};
use protocol::Era;
use server_core::arbiter::{Event, Work};
use store::servers::EpisodeFiles;
use tokio::runtime::Handle;
use tokio::sync::Notify;
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
    /// Starts the thread of an episode. `open` returns the episode, or nothing: its log is then made by [`Work::Open`]
    /// among `files`. Results are reported as events; each answers one piece of work. An environment that fails is
    /// reported to `faults`. `freed` is notified once nothing more is written to the file of an ended episode.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(
        era: Era,
        files: EpisodeFiles,
        disk: Arc<DiskRoom>,
        faults: Arc<WorldFaults>,
        open: impl FnOnce() -> Option<Episode> + Send + 'static,
        results: UnboundedSender<Event>,
        freed: Arc<Notify>,
    ) -> std::io::Result<Self> {
        let (work, todo) = mpsc::channel();
        let name = format!("episode-{}", era.0);
        let runtime = Handle::current();
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let mut episode = open();
            for work in todo {
                disk.wait_for_room();
                let began = Instant::now();
                let mut result = guarded(era, &mut episode, work, |episode, work| {
                    perform_work(era, episode, work, |header| files.create(header, &runtime))
                });
                if let Event::Hosted(_, report) = &mut result {
                    let took_us = began.elapsed().as_micros();
                    report.took_us = u64::try_from(took_us).unwrap_or(u64::MAX);
                }
                if let Some(fault) = episode.as_ref().and_then(world_fault) {
                    faults.report(fault);
                }
                let ended = matches!(result, Event::Ended(..)).then(|| result.clone());
                // The driver drops its end only when the server has stopped.
                let is_stopped = results.send(result).is_err();
                if let Some(ended) = ended {
                    repeat_ended(&ended, &mut episode);
                    drop(episode);
                    return freed.notify_one();
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
    files: &EpisodeFiles,
    (disk, faults): (&Arc<DiskRoom>, &Arc<WorldFaults>),
    (results, freed): (&UnboundedSender<Event>, &Arc<Notify>),
) -> std::io::Result<HashMap<Era, EpisodeWriter>> {
    let start = |(era, log)| {
        let open = move || Some(log);
        let (disk, faults) = (Arc::clone(disk), Arc::clone(faults));
        let files = files.clone();
        let (results, freed) = (results.clone(), Arc::clone(freed));
        let writer = EpisodeWriter::start(era, files, disk, faults, open, results, freed)?;
        Ok((era, writer))
    };
    logs.into_iter().map(start).collect()
}

#[cfg(test)]
mod tests {
    use archive::fixtures::{PERSON, header};
    use protocol::EnvWay;
    use protocol::control::EndReason;
    use protocol::log::{self, Header};
    use server_core::arbiter::{HostWork, RecordWork};

    use super::*;

    #[tokio::test]
    async fn the_file_of_a_hosted_episode_is_free_once_its_world_was_run_again() {
        let dir = tempfile::tempdir().unwrap();
        let freed = Arc::new(Notify::new());
        let (results, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let writer = EpisodeWriter::start(
            Era(7),
            EpisodeFiles::in_folder(dir.path()),
            Arc::new(DiskRoom::new(dir.path())),
            Arc::default(),
            || None,
            results,
            Arc::clone(&freed),
        );
        let writer = writer.unwrap();
        let header = Header {
            way: EnvWay::Host,
            ..header([PERSON, PERSON], 12)
        };
        assert!(writer.hand_work(Work::Open(Box::new(header))));
        for _ in 0..12 {
            let step = HostWork {
                steps: true,
                ..HostWork::default()
            };
            assert!(writer.hand_work(Work::Host(step)));
        }
        assert!(writer.hand_work(RecordWork::End(EndReason::Played).into()));
        freed.notified().await;
        let path = archive::path(dir.path(), "e-1").unwrap();
        let log = log::read_log(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(log.repetition(), Some(None));
        let mut is_ended = false;
        while let Ok(event) = heard.try_recv() {
            is_ended |= matches!(event, Event::Ended(Era(7), Some(_)));
        }
        assert!(is_ended);
    }

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
