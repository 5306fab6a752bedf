//! Threads that stay: a step is a few microseconds, less than it takes to start one.

use std::any::Any;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, Thread, current, park};

/// The most threads of a batch.
pub const MAX_THREADS: usize = 64;

/// How often a thread looks for work before it sleeps; about ten microseconds.
const SPINS: u32 = 256;

type Job<'a> = &'a (dyn Fn(usize) + Sync);

/// State that the threads share.
#[derive(Default)]
struct Shared {
    /// Workers that run.
    started: AtomicUsize,
    /// Counts the jobs; a worker looks for work when it differs from the last that it saw.
    round: AtomicU64,
    /// The present job, and the thread that waits for its end. A job is entered under this lock.
    job: Mutex<Option<(Job<'static>, Thread)>>,
    /// Workers that are in the job.
    inside: AtomicUsize,
    closing: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// The caller's thread and the workers beside it.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Makes a pool of this many threads, including the caller's. If the system gives fewer, it has fewer. All of them
    /// run when this call returns: starting a thread takes memory, and no step may take any.
    pub(crate) fn new(threads: usize) -> Self {
        let (shared, caller) = (Arc::<Shared>::default(), current());
        let start = |number| {
            let (shared, caller) = (shared.clone(), caller.clone());
            let builder = Builder::new().name(format!("batch-{number}"));
            let run = move || {
                shared.started.fetch_add(1, Ordering::Release);
                caller.unpark();
                work(&shared, number);
            };
            builder.spawn(run).ok()
        };
        let workers: Vec<_> = (1..threads).map_while(start).collect();
        wait(|| shared.started.load(Ordering::Acquire) == workers.len());
        Self { shared, workers }
    }

    /// Number of threads.
    pub(crate) fn threads(&self) -> usize {
        1 + self.workers.len()
    }

    /// Calls the job with 0 here, and with the number of a worker in each that comes before this call is done.
    /// A worker that the system keeps from running is not waited for: the job must share its work out as it goes.
    pub(crate) fn run(&mut self, job: Job<'_>) {
        if !self.workers.is_empty() {
            self.publish(job);
        }
        let own = catch_unwind(AssertUnwindSafe(|| job(0)));
        *lock(&self.shared.job) = None;
        wait(|| self.shared.inside.load(Ordering::Acquire) == 0);
        let theirs = lock(&self.shared.panic).take();
        if let Some(panic) = own.err().or(theirs) {
            resume_unwind(panic);
        }
    }

    #[expect(
        unsafe_code,
        reason = "threads that stay cannot borrow by the compiler's rules"
    )]
    fn publish(&self, job: Job<'_>) {
        // SAFETY: only the lifetime changes. `run` takes the job away and then returns, or unwinds, only after every
        // worker that entered it has left; a worker enters under the lock, while the job is there.
        let job = unsafe { std::mem::transmute::<Job<'_>, Job<'static>>(job) };
        *lock(&self.shared.job) = Some((job, current()));
        self.shared.round.fetch_add(1, Ordering::Release);
        let workers = self.workers.iter();
        workers.for_each(|worker| worker.thread().unpark());
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // A panic of a worker was caught and given to the caller.
            let _ = worker.join();
        }
    }
}

/// Works until the pool closes.
fn work(shared: &Shared, number: usize) {
    let mut seen = 0;
    loop {
        let closing = || shared.closing.load(Ordering::Acquire);
        wait(|| shared.round.load(Ordering::Acquire) != seen || closing());
        if closing() {
            return;
        }
        seen = shared.round.load(Ordering::Acquire);
        let Some((job, caller)) = enter(shared) else {
            continue;
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| job(number))) {
            *lock(&shared.panic) = Some(panic);
        }
        if shared.inside.fetch_sub(1, Ordering::AcqRel) == 1 {
            caller.unpark();
        }
    }
}

/// Enters the job, if it is still there.
fn enter(shared: &Shared) -> Option<(Job<'static>, Thread)> {
    let job = lock(&shared.job);
    let (call, caller) = job.as_ref()?;
    shared.inside.fetch_add(1, Ordering::AcqRel);
    Some((*call, caller.clone()))
}

/// Looks for a while, then sleeps between looks; the thread that makes it true wakes this one.
fn wait(ready: impl Fn() -> bool) {
    for _ in 0..SPINS {
        if ready() {
            return;
        }
        spin_loop();
    }
    while !ready() {
        park();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_work_is_done_once_whoever_comes() {
        let mut pool = Pool::new(4);
        let counts: [AtomicUsize; 16] = Default::default();
        for _ in 0..2_000 {
            let next = AtomicUsize::new(0);
            pool.run(&|_| {
                while let Some(count) = counts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        assert_eq!(counts.map(AtomicUsize::into_inner), [2_000; 16]);
    }

    #[test]
    fn workers_come() {
        let mut pool = Pool::new(2);
        let came = AtomicBool::new(false);
        pool.run(&|number| {
            if number == 1 {
                came.store(true, Ordering::Release);
            }
            // The caller stays until the worker is there.
            while !came.load(Ordering::Acquire) {
                spin_loop();
            }
        });
        assert!(came.into_inner());
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
        let mut pool = Pool::new(3);
        for failing in [0, 2] {
            let came = AtomicBool::new(failing == 0);
            let job = |number| {
                came.fetch_or(number == failing, Ordering::AcqRel);
                assert_ne!(number, failing, "as it should");
                while !came.load(Ordering::Acquire) {
                    spin_loop();
                }
            };
            let panic = catch_unwind(AssertUnwindSafe(|| pool.run(&job)));
            assert!(panic.is_err());
            pool.run(&|_| ());
        }
    }
}
