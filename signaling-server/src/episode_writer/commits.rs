//! Reports that wait until what they say is durable.
//!
//! The uploads of many episodes come at the same time. So a thread makes all that was written durable in one go, and
//! only then tells the arbiter; meanwhile more is written. While there is much to do, everything has a beat: the threads
//! that write get what came since the last beat, and what they wrote since then becomes durable. Few uploads do not
//! wait.

use std::collections::HashMap;
use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use protocol::Era;
use server_core::arbiter::Event;
use tokio::sync::mpsc::UnboundedSender;

use super::file_system::FileSystem;
use super::thread_pool::ThreadPool;
use super::{EpisodeQueue, lock, wait};

/// So few files are made durable one by one, and wait for no beat.
const FEW_FILES: usize = 3;

/// How many files are made durable at the same time, if each is made so by itself.
const SYNCS_AT_ONCE: usize = 16;

/// The time from beat to beat.
const BEAT: Duration = Duration::from_millis(10);

/// Reports of an episode, in their order.
pub(super) struct Report {
    pub(super) queue: Arc<EpisodeQueue>,
    /// The reports, once everything is durable.
    pub(super) done: Vec<Event>,
    /// The reports if the disk fails.
    pub(super) failed: Vec<Event>,
    /// True if something is not durable yet.
    pub(super) is_written: bool,
}

impl Report {
    /// Tells the arbiter.
    pub(super) fn send(self, results: &UnboundedSender<Event>) {
        let events = match self.queue.is_broken() {
            true => self.failed,
            false => self.done,
        };
        for event in events {
            // The driver drops its end only when the server has stopped.
            let _ = results.send(event);
        }
    }
}

/// The reports that wait.
pub(super) struct Commits {
    file_system: Option<FileSystem>,
    /// True once the disk has failed: from then on, every file is asked by itself.
    is_doubted: AtomicBool,
    results: UnboundedSender<Event>,
    waiting: Mutex<Waiting>,
    comes: Condvar,
    idle: Condvar,
}

#[derive(Default)]
struct Waiting {
    reports: Vec<Report>,
    is_busy: bool,
    is_closed: bool,
}

impl Commits {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no more threads.
    pub(super) fn start(
        file_system: Option<FileSystem>,
        results: UnboundedSender<Event>,
        pool: Arc<ThreadPool>,
    ) -> std::io::Result<Arc<Self>> {
        let commits = Arc::new(Self {
            file_system,
            is_doubted: AtomicBool::new(false),
            results,
            waiting: Mutex::default(),
            comes: Condvar::new(),
            idle: Condvar::new(),
        });
        let thread = thread::Builder::new().name("commits".to_owned());
        let all = Arc::clone(&commits);
        thread.spawn(move || all.run(&pool))?;
        Ok(commits)
    }

    fn run(&self, pool: &ThreadPool) {
        let (mut has_beat, mut beat) = (false, Instant::now());
        while let Some(reports) = self.next(has_beat) {
            let files = self.commit(reports);
            has_beat = pool.give_turns(|turns| files + turns > FEW_FILES);
            if has_beat {
                beat = (beat + BEAT).max(Instant::now());
                thread::sleep(beat.saturating_duration_since(Instant::now()));
            }
        }
    }

    /// Takes reports.
    pub(super) fn add(&self, report: Report) {
        let mut waiting = lock(&self.waiting);
        waiting.reports.push(report);
        if waiting.reports.len() == 1 {
            self.comes.notify_one();
        }
    }

    /// Waits until every report has gone out.
    pub(super) fn finish(&self) {
        let mut waiting = lock(&self.waiting);
        while waiting.is_busy || !waiting.reports.is_empty() {
            waiting = wait(&self.idle, waiting);
        }
    }

    /// Lets the thread end.
    pub(super) fn close(&self) {
        lock(&self.waiting).is_closed = true;
        self.comes.notify_one();
    }

    /// Returns the reports, and waits for some unless there is a beat; `None` once the thread is to end.
    fn next(&self, has_beat: bool) -> Option<Vec<Report>> {
        let mut waiting = lock(&self.waiting);
        loop {
            waiting.is_busy = !waiting.reports.is_empty();
            if waiting.is_busy {
                return Some(take(&mut waiting.reports));
            }
            self.idle.notify_all();
            if waiting.is_closed {
                return None;
            }
            if has_beat {
                return Some(Vec::new());
            }
            waiting = wait(&self.comes, waiting);
        }
    }

    /// Makes everything durable and reports it; returns the number of files.
    fn commit(&self, reports: Vec<Report>) -> usize {
        let written = reports.iter().filter(|report| report.is_written);
        let written: HashMap<Era, &EpisodeQueue> = written
            .map(|report| (report.queue.era, &*report.queue))
            .collect();
        let written: Vec<&EpisodeQueue> = written.into_values().collect();
        if written.len() <= FEW_FILES {
            written.iter().for_each(|queue| queue.sync());
        } else if !self.sync_all(&written) {
            let parts = written.chunks(written.len().div_ceil(SYNCS_AT_ONCE));
            thread::scope(|scope| {
                for part in parts {
                    scope.spawn(|| part.iter().for_each(|queue| queue.sync()));
                }
            });
        }
        let files = written.len();
        for report in reports {
            report.send(&self.results);
        }
        files
    }

    /// Makes all files durable in one go, and asks one of them whether it is; false if each has to be asked.
    fn sync_all(&self, written: &[&EpisodeQueue]) -> bool {
        let Some(file_system) = &self.file_system else {
            return false;
        };
        if self.is_doubted.load(Ordering::Relaxed) {
            return false;
        }
        let durable = file_system.sync();
        let is_durable = durable.is_ok() && written.first().is_none_or(|queue| queue.try_sync());
        if !is_durable {
            let error = durable.err();
            tracing::error!(
                ?error,
                "the disk failed; from now on, every file is asked by itself"
            );
            self.is_doubted.store(true, Ordering::Relaxed);
        }
        is_durable
    }
}
