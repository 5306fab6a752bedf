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
    idle: Condvar,
}

#[derive(Default)]
struct Turns {
    /// The episodes that wait for a turn.
    queues: VecDeque<Arc<EpisodeQueue>>,
    /// True if turns wait until [`ThreadPool::give_turns`]: to wake a thread for each of them costs more than the turn.
    do_wait: bool,
    /// How many turns are being taken.
    running: usize,
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
            idle: Condvar::new(),
        });
        for number in 0..threads {
            let pool = Arc::clone(&pool);
            let thread = std::thread::Builder::new().name(format!("{name}-{number}"));
            thread.spawn(move || {
                while let Some(queue) = pool.next() {
                    EpisodeQueue::take_turn(&queue);
                    pool.end_turn();
                }
            })?;
        }
        Ok(pool)
    }

    /// Waits for an episode with work; `None` once the threads are to end.
    fn next(&self) -> Option<Arc<EpisodeQueue>> {
        let mut turns = lock(&self.turns);
        loop {
            if let Some(queue) = turns.queues.pop_front() {
                turns.running += 1;
                return Some(queue);
            }
            if turns.is_closed {
                return None;
            }
            turns = wait(&self.comes, turns);
        }
    }

    fn end_turn(&self) {
        let mut turns = lock(&self.turns);
        turns.running -= 1;
        if turns.running == 0 && turns.queues.is_empty() {
            self.idle.notify_all();
        }
    }

    /// Waits until nobody has a turn or wants one.
    pub(super) fn finish(&self) {
        let mut turns = lock(&self.turns);
        while turns.running > 0 || !turns.queues.is_empty() {
            turns = wait(&self.idle, turns);
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

    /// Wakes threads for the turns that wait. If `is_busy` says so of their number, later turns wait for the next call;
    /// returns whether they do.
    pub(super) fn give_turns(&self, is_busy: impl FnOnce(usize) -> bool) -> bool {
        let mut turns = lock(&self.turns);
        let given = turns.queues.len();
        turns.do_wait = is_busy(given);
        let threads = match turns.do_wait {
            true => given.div_ceil(TURNS_OF_THREAD),
            false => given,
        };
        (0..threads).for_each(|_| self.comes.notify_one());
        turns.do_wait
    }

    /// Lets the threads end.
    pub(super) fn close(&self) {
        lock(&self.turns).is_closed = true;
        self.comes.notify_all();
    }
}
