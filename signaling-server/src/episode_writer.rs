//! The threads that do the archive's work, each episode's in its order, and report what became of it.
//!
//! A piece of work takes little time, most of it on the disk. So all episodes share a few threads: a thread takes an
//! episode with work, does all that has come for it, and writes uploads that have come together in one piece. An
//! episode on a host has its own thread, because nobody knows how long its world takes.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
    queues: HashMap<Era, Arc<EpisodeQueue>>,
}

impl EpisodeWriters {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(around: Surroundings) -> io::Result<Self> {
        Ok(Self {
            around: Arc::new(around),
            runtime: Handle::current(),
            shared: ThreadPool::start(SHARED_THREADS, "episodes")?,
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
            is_alone,
            waiting: Mutex::default(),
            idle: Condvar::new(),
            episode: Mutex::new(episode),
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
    }
}

impl Drop for EpisodeWriters {
    /// Lets the threads end.
    fn drop(&mut self) {
        self.queues.values().for_each(|queue| queue.pool.close());
        self.shared.close();
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

/// Threads that give turns to episodes with work.
#[derive(Default)]
struct ThreadPool {
    /// The episodes that wait for a turn; `None` once the threads are to end.
    turns: Mutex<Option<VecDeque<Arc<EpisodeQueue>>>>,
    comes: Condvar,
}

impl ThreadPool {
    fn start(threads: usize, name: &str) -> io::Result<Arc<Self>> {
        let pool = Arc::new(Self {
            turns: Mutex::new(Some(VecDeque::new())),
            comes: Condvar::new(),
        });
        for number in 0..threads {
            let pool = Arc::clone(&pool);
            let thread = std::thread::Builder::new().name(format!("{name}-{number}"));
            thread.spawn(move || {
                while let Some(queue) = pool.next() {
                    EpisodeQueue::take_turn(&queue);
                }
            })?;
        }
        Ok(pool)
    }

    /// Waits for an episode with work; `None` once the threads are to end.
    fn next(&self) -> Option<Arc<EpisodeQueue>> {
        let mut turns = lock(&self.turns);
        loop {
            if let Some(queue) = turns.as_mut()?.pop_front() {
                return Some(queue);
            }
            turns = self
                .comes
                .wait(turns)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn add_turn(&self, queue: Arc<EpisodeQueue>) {
        if let Some(turns) = lock(&self.turns).as_mut() {
            turns.push_back(queue);
            self.comes.notify_one();
        }
    }

    fn close(&self) {
        *lock(&self.turns) = None;
        self.comes.notify_all();
    }
}

/// An episode, and the work that waits for it.
struct EpisodeQueue {
    era: Era,
    around: Arc<Surroundings>,
    runtime: Handle,
    pool: Arc<ThreadPool>,
    /// True if no other episode has a thread of the pool.
    is_alone: bool,
    waiting: Mutex<Waiting>,
    idle: Condvar,
    /// The thread whose turn it is has it.
    episode: Mutex<Option<Episode>>,
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
            waiting = self
                .idle
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does what has come by now, and waits for another turn if more comes meanwhile.
    fn take_turn(queue: &Arc<Self>) {
        let work = std::mem::take(&mut lock(&queue.waiting).work);
        let is_over = queue.do_work(work);
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
        if waiting.is_over && queue.is_alone {
            queue.pool.close();
        }
        queue.idle.notify_all();
    }

    /// Does this work and reports it; returns true if nothing more is to be done.
    fn do_work(&self, work: VecDeque<Work>) -> bool {
        let mut episode = lock(&self.episode);
        let mut work = work.into_iter().peekable();
        while let Some(first) = work.next() {
            let mut together = vec![first];
            while matches!(together[0], Work::Append(..))
                && let Some(next) = work.next_if(|next| matches!(next, Work::Append(..)))
            {
                together.push(next);
            }
            self.around.disk.wait_for_room();
            let events = self.perform(&mut episode, together);
            if let Some(fault) = episode.as_ref().and_then(world_fault) {
                self.around.faults.report(fault);
            }
            for event in events {
                let ended = matches!(event, Event::Ended(..)).then(|| event.clone());
                // The driver drops its end only when the server has stopped.
                let is_stopped = self.around.results.send(event).is_err();
                if let Some(ended) = ended {
                    repeat_ended(&ended, &mut episode);
                    *episode = None;
                    self.around.freed.notify_one();
                    return true;
                }
                if is_stopped {
                    return true;
                }
            }
        }
        false
    }

    /// Does pieces of work, of which several are written in one piece, and returns their results.
    fn perform(&self, episode: &mut Option<Episode>, work: Vec<Work>) -> Vec<Event> {
        let [_, _, ..] = &work[..] else {
            let one = work.into_iter().map(|work| self.perform_one(episode, work));
            return one.collect();
        };
        let failed = work.iter().map(|work| work.failure_event(self.era));
        let failed: Vec<Event> = failed.collect();
        if let Some(episode) = episode {
            episode.hold_writes();
        }
        let done = work.into_iter().map(|work| self.perform_one(episode, work));
        let done: Vec<Event> = done.collect();
        // Without an episode, what it held is lost.
        let written = episode.as_mut().map(Episode::write_held);
        match written {
            Some(Ok(())) => done,
            Some(Err(error)) => {
                tracing::error!(%error, "the disk failed under an episode");
                failed
            }
            None => failed,
        }
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

/// What a panic left is still whole: work is guarded, and its episode is given up.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use archive::fixtures::{PERSON, ZERO, header, pages, played};
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
        assert_eq!(log.repetition(), Some(None));
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
            let all = played(&header);
            let [mut one, mut other] = pages(&header);
            writers.hand_work(Era(era), Work::Open(Box::new(header)));
            for first in (0..20).step_by(4) {
                for (seat, page) in [(ZERO, &mut one), (Seat(1), &mut other)] {
                    let upload = Box::new(page.part(&all, first, first + 4));
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
            assert_eq!(Episode::recover(&path).unwrap().through(), Tick(20));
        }
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
