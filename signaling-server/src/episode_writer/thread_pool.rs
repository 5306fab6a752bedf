//! Threads that give turns to episodes with work.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex};

use super::{EpisodeQueue, lock, wait};

/// Turns that are worth waking one more thread for, if they have waited together.
const TURNS_OF_THREAD: usize = 32;

/// Threads that give turns to episodes with work.
#[derive(Default)]
pub(super) struct ThreadPool {
    turns: Mutex<Turns>,
    comes: Condvar,
}

#[derive(Default)]
struct Turns {
    /// The episodes that wait for a turn.
    queues: VecDeque<Arc<EpisodeQueue>>,
    /// True if turns wait until [`ThreadPool::give_turns`]: to wake a thread for each of them costs more than the turn.
    do_wait: bool,
    /// True once the threads are to end.
    is_closed: bool,
}

impl ThreadPool {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system has no more threads.
    pub(super) fn start(threads: usize, name: &str) -> io::Result<Arc<Self>> {
        let pool = Arc::new(Self {
            turns: Mutex::default(),
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
            if turns.is_closed {
                return None;
            }
            if let Some(queue) = turns.queues.pop_front() {
                return Some(queue);
            }
            turns = wait(&self.comes, turns);
        }
    }

    /// Adds an episode that wants a turn.
    pub(super) fn add_turn(&self, queue: Arc<EpisodeQueue>) {
        let mut turns = lock(&self.turns);
        turns.queues.push_back(queue);
        if !turns.do_wait {
            self.comes.notify_one();
        }
    }

    /// Gives turns to those who wait for one. If they are enough for `is_busy`, the next ones wait for the next call;
    /// returns whether they do.
    pub(super) fn give_turns(&self, is_busy: impl FnOnce(usize) -> bool) -> bool {
        let mut turns = lock(&self.turns);
        let given = turns.queues.len();
        for _ in 0..given.div_ceil(TURNS_OF_THREAD) {
            self.comes.notify_one();
        }
        turns.do_wait = is_busy(given);
        turns.do_wait
    }

    /// Lets the threads end.
    pub(super) fn close(&self) {
        lock(&self.turns).is_closed = true;
        self.comes.notify_all();
    }
}
