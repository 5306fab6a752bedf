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

/// What the threads share.
#[derive(Default)]
struct Shared {
    /// Counts the jobs; a worker has work when it differs from the last that it did.
    round: AtomicU64,
    /// Workers that have not done the job yet.
    left: AtomicUsize,
    closing: AtomicBool,
    /// The job, and who waits for it.
    job: Mutex<Option<(Job<'static>, Thread)>>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// The caller's thread and the workers beside it.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of so many threads, the caller's own among them. Where the system gives fewer, it has fewer.
    pub(crate) fn new(threads: usize) -> Self {
        let shared = Arc::<Shared>::default();
        let start = |number| {
            let shared = shared.clone();
            let builder = Builder::new().name(format!("batch-{number}"));
            builder.spawn(move || work(&shared, number)).ok()
        };
        let workers = (1..threads).map_while(start).collect();
        Self { shared, workers }
    }

    /// Number of threads.
    pub(crate) fn threads(&self) -> usize {
        1 + self.workers.len()
    }

    /// Lets every thread call the job with its number, and returns when all have.
    pub(crate) fn run(&mut self, job: Job<'_>) {
        if !self.workers.is_empty() {
            self.publish(job);
        }
        let own = catch_unwind(AssertUnwindSafe(|| job(0)));
        wait(|| self.shared.left.load(Ordering::Acquire) == 0);
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
        // SAFETY: only the lifetime changes. `run` returns, or unwinds, only after every worker has counted itself
        // out of `left`, which it does after its call of the job; none touches the job later.
        let job = unsafe { std::mem::transmute::<Job<'_>, Job<'static>>(job) };
        *lock(&self.shared.job) = Some((job, current()));
        self.shared
            .left
            .store(self.workers.len(), Ordering::Relaxed);
        self.shared.round.fetch_add(1, Ordering::Release);
        self.workers
            .iter()
            .for_each(|worker| worker.thread().unpark());
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

/// What a worker does until the pool closes.
fn work(shared: &Shared, number: usize) {
    let mut done = 0;
    loop {
        let closing = || shared.closing.load(Ordering::Acquire);
        wait(|| shared.round.load(Ordering::Acquire) != done || closing());
        if closing() {
            return;
        }
        done += 1;
        let (job, caller) = lock(&shared.job)
            .clone()
            .expect("a round begins with its job");
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| job(number))) {
            *lock(&shared.panic) = Some(panic);
        }
        if shared.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            caller.unpark();
        }
    }
}

/// Looks for a while, then sleeps between looks; whoever makes it true wakes the thread.
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
    fn every_thread_works_once_a_job() {
        let mut pool = Pool::new(4);
        let counts: [AtomicUsize; 4] = Default::default();
        for _ in 0..1_000 {
            pool.run(&|number| {
                counts[number].fetch_add(1, Ordering::Relaxed);
            });
        }
        assert_eq!(counts.map(AtomicUsize::into_inner), [1_000; 4]);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
        let mut pool = Pool::new(3);
        for failing in [0, 2] {
            let job = |number| assert_ne!(number, failing, "as it should");
            let panic = catch_unwind(AssertUnwindSafe(|| pool.run(&job)));
            assert!(panic.is_err());
            pool.run(&|_| ());
        }
    }
}
