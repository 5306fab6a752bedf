//! The threads that do the archive's work, each episode's in its order, and report what became of it.
//!
//! A piece of work takes little time. So all episodes share a few threads: a thread takes an episode with work, does all
//! that has come for it, and writes uploads that have come together in one piece; one more thread waits for the disk,
//! for all of them. An episode on a host has its own thread, because nobody knows how long its world takes.

mod commits;
mod file_system;
mod thread_pool;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use archive::Episode;
use archive::work::{perform_work, repeat_ended};
use protocol::{EnvWay, Era};
use server_core::arbiter::{Event, Work};
use store::servers::EpisodeFiles;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use crate::disk::DiskRoom;
use crate::world_faults::{WorldFault, WorldFaults};
use commits::{Commits, Report};
use file_system::FileSystem;
use thread_pool::ThreadPool;

/// The threads that episodes share: while some wait for the disk, others compute.
const SHARED_THREADS: usize = 16;

/// The surroundings of all episodes.
pub struct Surroundings {
    /// The place of new logs.
    pub files: EpisodeFiles,
    /// The disk of the data folder.
    pub disk: Arc<DiskRoom>,
    /// Environments that broke down.
    pub faults: Arc<WorldFaults>,
    /// Reports, each for one piece of work.
    pub results: UnboundedSender<Event>,
    /// Notified once nothing more is written to the file of an ended episode.
    pub freed: Arc<Notify>,
}

/// The running episodes, with the work that waits for them.
pub struct EpisodeWriters {
    around: Arc<Surroundings>,
    runtime: Handle,
    shared: Arc<ThreadPool>,
    commits: Arc<Commits>,
    queues: HashMap<Era, Arc<EpisodeQueue>>,
}

impl EpisodeWriters {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(around: Surroundings) -> io::Result<Self> {
        let file_system = around.files.folder().and_then(FileSystem::open);
        let shared = ThreadPool::start(SHARED_THREADS, "episodes")?;
        let results = around.results.clone();
        Ok(Self {
            commits: Commits::start(file_system, results, Arc::clone(&shared))?,
            around: Arc::new(around),
            runtime: Handle::current(),
            shared,
            queues: HashMap::new(),
        })
    }

    /// Takes up an episode that was running when the server stopped.
    fn resume(&mut self, era: Era, episode: Episode) -> io::Result<()> {
        let way = episode.header().way;
        self.add_queue(era, way, Some(episode))
    }

    fn add_queue(&mut self, era: Era, way: EnvWay, episode: Option<Episode>) -> io::Result<()> {
        let is_alone = way == EnvWay::Host;
        let pool = match is_alone {
            false => Arc::clone(&self.shared),
            true => ThreadPool::start(1, &format!("episode-{}", era.0))?,
        };
        let queue = EpisodeQueue {
            era,
            around: Arc::clone(&self.around),
            runtime: self.runtime.clone(),
            pool,
            commits: (!is_alone).then(|| Arc::clone(&self.commits)),
            waiting: Mutex::default(),
            idle: Condvar::new(),
            episode: Mutex::new(episode),
            is_broken: AtomicBool::new(false),
        };
        self.queues.insert(era, Arc::new(queue));
        Ok(())
    }

    /// Hands over work; false if nobody does it. [`Work::Open`] begins an episode.
    pub fn hand_work(&mut self, era: Era, work: Work) -> bool {
        if let Work::Open(header) = &work
            && let Err(error) = self.add_queue(era, header.way, None)
        {
            tracing::error!(%error, "no thread for an episode");
        }
        let queue = self.queues.get(&era);
        queue.is_some_and(|queue| EpisodeQueue::hand_work(queue, work))
    }

    /// Forgets an episode that gets no more work; what it has is done.
    pub fn forget(&mut self, era: Era) {
        self.queues.remove(&era);
    }

    /// Waits until all work is done.
    pub fn finish_work(self) {
        self.queues.values().for_each(|queue| queue.wait());
        self.shared.finish();
        self.commits.finish();
    }
}

impl Drop for EpisodeWriters {
    /// Lets the threads end.
    fn drop(&mut self) {
        self.queues.values().for_each(|queue| queue.pool.close());
        self.shared.close();
        self.commits.close();
    }
}

/// Starts the threads, and takes up each episode that was running when the server stopped.
pub(crate) fn start_writers(
    logs: HashMap<Era, Episode>,
    around: Surroundings,
) -> io::Result<EpisodeWriters> {
    let mut writers = EpisodeWriters::start(around)?;
    for (era, episode) in logs {
        writers.resume(era, episode)?;
    }
    Ok(writers)
}

/// An episode, and the work that waits for it.
struct EpisodeQueue {
    era: Era,
    around: Arc<Surroundings>,
    runtime: Handle,
    pool: Arc<ThreadPool>,
    /// Where its reports wait; `None` if no other episode has its thread, which then waits for the disk itself.
    commits: Option<Arc<Commits>>,
    waiting: Mutex<Waiting>,
    idle: Condvar,
    /// The thread whose turn it is has it.
    episode: Mutex<Option<Episode>>,
    /// True once the disk has failed under it.
    is_broken: AtomicBool,
}

/// The work that waits.
#[derive(Debug, Default)]
struct Waiting {
    work: VecDeque<Work>,
    /// True if the episode has a turn, or waits for one.
    is_queued: bool,
    /// True once nothing more is done.
    is_over: bool,
}

impl EpisodeQueue {
    fn hand_work(queue: &Arc<Self>, work: Work) -> bool {
        let mut waiting = lock(&queue.waiting);
        if waiting.is_over {
            return false;
        }
        waiting.work.push_back(work);
        if !std::mem::replace(&mut waiting.is_queued, true) {
            queue.pool.add_turn(Arc::clone(queue));
        }
        true
    }

    /// Waits until nothing is left to do.
    fn wait(&self) {
        let mut waiting = lock(&self.waiting);
        while waiting.is_queued {
            waiting = wait(&self.idle, waiting);
        }
    }

    /// Does what has come by now, and waits for another turn if more comes meanwhile.
    fn take_turn(queue: &Arc<Self>) {
        let work = std::mem::take(&mut lock(&queue.waiting).work);
        let is_over = Self::do_work(queue, work);
        let mut waiting = lock(&queue.waiting);
        waiting.is_over |= is_over;
        if waiting.is_over {
            waiting.work.clear();
        }
        waiting.is_queued = !waiting.work.is_empty();
        if waiting.is_queued {
            queue.pool.add_turn(Arc::clone(queue));
            return;
        }
        if waiting.is_over && queue.commits.is_none() {
            queue.pool.close();
        }
        queue.idle.notify_all();
    }

    /// Does this work and reports it; returns true if nothing more is to be done.
    fn do_work(queue: &Arc<Self>, work: VecDeque<Work>) -> bool {
        let mut work = work.into_iter().peekable();
        while let Some(first) = work.next() {
            let mut together = vec![first];
            while matches!(together[0], Work::Append(..))
                && let Some(next) = work.next_if(|next| matches!(next, Work::Append(..)))
            {
                together.push(next);
            }
            queue.around.disk.wait_for_room();
            let mut episode = lock(&queue.episode);
            let report = Self::perform(queue, &mut episode, together);
            if let Some(fault) = episode.as_ref().and_then(world_fault) {
                queue.around.faults.report(fault);
            }
            let ends = |event: &&Event| matches!(event, Event::Ended(..));
            let ended = report.done.iter().find(ends).cloned();
            match &queue.commits {
                Some(commits) => commits.add(report),
                None => report.send(&queue.around.results),
            }
            if let Some(ended) = ended {
                repeat_ended(&ended, &mut episode);
                *episode = None;
                queue.around.freed.notify_one();
                return true;
            }
        }
        false
    }

    /// Does pieces of work: one, or several uploads, which are written in one piece.
    fn perform(queue: &Arc<Self>, episode: &mut Option<Episode>, work: Vec<Work>) -> Report {
        let failed = work.iter().map(|work| work.failure_event(queue.era));
        let failed: Vec<Event> = failed.collect();
        let is_held = queue.commits.is_some() && matches!(work[0], Work::Append(..));
        let had_episode = episode.is_some();
        match episode {
            Some(episode) if is_held => episode.hold_writes(),
            // A file that is closed at the end is durable.
            _ => queue.note_sync(episode),
        }
        let done = work
            .into_iter()
            .map(|work| queue.perform_one(episode, work));
        let mut done: Vec<Event> = done.collect();
        // Without an episode, what it held is lost.
        let written = episode.as_mut().map(Episode::write_held);
        if had_episode && written.is_none() {
            queue.is_broken.store(true, Ordering::Relaxed);
        }
        if let Some(Err(error)) = &written {
            tracing::error!(%error, "the disk failed under an episode");
        }
        if is_held && !matches!(written, Some(Ok(()))) {
            done = failed.clone();
        }
        let is_on_disk = queue.around.files.folder().is_some();
        Report {
            queue: Arc::clone(queue),
            is_written: is_held && is_on_disk && written.is_some(),
            done,
            failed,
        }
    }

    /// Waits until all that was written is durable; if it fails, no report of it goes out any more.
    fn sync(&self) {
        self.note_sync(&mut lock(&self.episode));
    }

    /// The same, unless somebody works on it; false if it fails.
    fn try_sync(&self) -> bool {
        if let Ok(mut episode) = self.episode.try_lock() {
            self.note_sync(&mut episode);
        }
        !self.is_broken()
    }

    fn note_sync(&self, episode: &mut Option<Episode>) {
        // An episode that is over is durable.
        let durable = episode.as_mut().map(Episode::sync);
        if let Some(Err(error)) = durable {
            tracing::error!(%error, era = self.era.0, "the disk failed under an episode");
            self.is_broken.store(true, Ordering::Relaxed);
        }
    }

    fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    fn perform_one(&self, episode: &mut Option<Episode>, work: Work) -> Event {
        let began = Instant::now();
        let Surroundings { files, .. } = &*self.around;
        let mut result = guarded(self.era, episode, work, |episode, work| {
            let create = |header| files.create(header, &self.runtime);
            perform_work(self.era, episode, work, create)
        });
        if let Event::Hosted(_, report) = &mut result {
            let took_us = began.elapsed().as_micros();
            report.took_us = u64::try_from(took_us).unwrap_or(u64::MAX);
        }
        result
    }
}

/// Locks; after a panic everything is still whole, because work is guarded and its episode is given up.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition
        .wait(guard)
        .unwrap_or_else(PoisonError::into_inner)
}

fn world_fault(episode: &Episode) -> Option<WorldFault> {
    Some(WorldFault {
        text: episode.world_fault()?,
        episode: episode.header().episode.clone(),
        tick: episode.recorded_through().0,
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

#[cfg(test)]
mod tests {
    use archive::LogFile;
    use archive::fixtures::{PERSON, ZERO, header, pages, play_episode};
    use protocol::control::EndReason;
    use protocol::log::{self, Header};
    use protocol::{Seat, Tick};
    use server_core::arbiter::{Appended, HostWork, RecordWork};
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    fn writers(folder: &std::path::Path) -> (EpisodeWriters, UnboundedReceiver<Event>) {
        let (results, heard) = unbounded_channel();
        let around = Surroundings {
            files: EpisodeFiles::in_folder(folder),
            disk: Arc::new(DiskRoom::new(folder)),
            faults: Arc::default(),
            results,
            freed: Arc::new(Notify::new()),
        };
        (EpisodeWriters::start(around).unwrap(), heard)
    }

    #[tokio::test]
    async fn the_file_of_a_hosted_episode_is_free_once_its_world_was_run_again() {
        let dir = tempfile::tempdir().unwrap();
        let (mut writers, mut heard) = writers(dir.path());
        let freed = Arc::clone(&writers.around.freed);
        let header = Header {
            way: EnvWay::Host,
            ..header([PERSON, PERSON], 12)
        };
        let era = Era(7);
        assert!(writers.hand_work(era, Work::Open(Box::new(header))));
        for _ in 0..12 {
            let step = HostWork {
                steps: true,
                ..HostWork::default()
            };
            assert!(writers.hand_work(era, Work::Host(step)));
        }
        assert!(writers.hand_work(era, RecordWork::End(EndReason::Played).into()));
        freed.notified().await;
        let path = archive::path(dir.path(), "e-1").unwrap();
        let log = log::read_log(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(log.end_repetition(), Some(None));
        let mut is_ended = false;
        while let Ok(event) = heard.try_recv() {
            is_ended |= matches!(event, Event::Ended(Era(7), Some(_)));
        }
        assert!(is_ended);
        let late = RecordWork::End(EndReason::Played).into();
        assert!(!writers.hand_work(era, late), "nobody does it any more");
    }

    #[tokio::test]
    async fn uploads_of_many_episodes_are_answered_in_their_order_and_are_all_in_their_files() {
        let dir = tempfile::tempdir().unwrap();
        let (mut writers, mut heard) = writers(dir.path());
        let eras = 1..=40;
        for era in eras.clone() {
            let mut header = header([PERSON, PERSON], 20);
            header.episode = format!("e-{era}");
            let all = play_episode(&header);
            let [mut one, mut other] = pages(&header);
            writers.hand_work(Era(era), Work::Open(Box::new(header)));
            for first in (0..20).step_by(4) {
                for (seat, page) in [(ZERO, &mut one), (Seat(1), &mut other)] {
                    let upload = Box::new(page.upload_part(&all, first, first + 4));
                    assert!(writers.hand_work(Era(era), Work::Append(seat, upload)));
                }
            }
        }
        tokio::task::spawn_blocking(move || writers.finish_work())
            .await
            .unwrap();
        let mut through = HashMap::new();
        while let Ok(event) = heard.try_recv() {
            if let Event::Appended(era, _, appended) = event {
                let Appended::Durable { through: now, .. } = appended else {
                    panic!("{appended:?}")
                };
                let before = through.insert(era, now);
                assert!(before.is_none_or(|before| before <= now), "in order");
            }
        }
        for era in eras {
            assert_eq!(through[&Era(era)], Tick(20));
            let path = archive::path(dir.path(), &format!("e-{era}")).unwrap();
            assert_eq!(
                Episode::recover(&path).unwrap().recorded_through(),
                Tick(20)
            );
        }
    }

    #[tokio::test]
    async fn the_end_of_an_episode_is_written_before_the_server_stops() {
        let dir = tempfile::tempdir().unwrap();
        let (mut writers, _heard) = writers(dir.path());
        for era in 1..=40 {
            let mut header = header([PERSON, PERSON], 20);
            header.episode = format!("e-{era}");
            writers.hand_work(Era(era), Work::Open(Box::new(header)));
            writers.hand_work(Era(era), RecordWork::End(EndReason::Technical).into());
            writers.forget(Era(era));
        }
        tokio::task::spawn_blocking(move || writers.finish_work())
            .await
            .unwrap();
        for era in 1..=40 {
            let path = archive::path(dir.path(), &format!("e-{era}")).unwrap();
            let log = log::read_log(&std::fs::read(path).unwrap()).unwrap();
            let is_end = |record: &log::Record| matches!(record, log::Record::End(_));
            assert!(log.records.iter().any(is_end), "{era}");
        }
    }

    /// A disk that takes everything, and fails when it is to be durable.
    struct Forgetful;

    impl LogFile for Forgetful {
        fn append(&mut self, _bytes: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Err(io::Error::other("the disk is gone"))
        }

        fn read(&mut self) -> io::Result<Vec<u8>> {
            Ok(Vec::new())
        }

        fn truncate(&mut self, _len: usize) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn an_upload_that_does_not_become_durable_is_not_acknowledged() {
        let dir = tempfile::tempdir().unwrap();
        let (mut writers, mut heard) = writers(dir.path());
        let header = header([PERSON, PERSON], 20);
        let (all, [mut page, _]) = (play_episode(&header), pages(&header));
        let nothing = |_: &str| Err(io::ErrorKind::NotFound.into());
        let episode = Episode::create_in(Box::new(Forgetful), header, nothing).unwrap();
        let era = Era(7);
        writers.resume(era, episode).unwrap();
        for first in [0, 4] {
            let upload = Box::new(page.upload_part(&all, first, first + 4));
            assert!(writers.hand_work(era, Work::Append(ZERO, upload)));
        }
        assert!(writers.hand_work(era, RecordWork::End(EndReason::Technical).into()));
        tokio::task::spawn_blocking(move || writers.finish_work())
            .await
            .unwrap();
        let events: Vec<Event> = std::iter::from_fn(|| heard.try_recv().ok()).collect();
        let failed = |event: &Event| matches!(event, Event::Appended(_, ZERO, Appended::Failed));
        assert!(events[..2].iter().all(failed), "{events:?}");
        assert!(
            matches!(events[2..], [Event::Ended(Era(7), None)]),
            "{events:?}"
        );
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
