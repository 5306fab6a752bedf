//! Everybody who takes part in a virtual rehearsal, in parts that two threads may run in parallel: people meet only
//! through the server.
//!
//! A stretch of time is offered, and each part is run by whichever thread takes it first. So the thread that offers it
//! never waits for a thread that the machine does not run at all: what that one has not taken, it runs itself.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};

use super::network::{Down, Lines, Sent, Up};
use super::people::People;
use crate::bot::{StudyInfo, Ticket, WireId};

/// The number of parts. Messages that arrive at one time keep the order of the parts, so it must not depend on the
/// machine.
const PARTS: usize = 8;

/// How often a thread looks for what it waits for before it lets others run, or sleeps.
const LOOKS: u32 = 1_000;

/// A stretch in which at least this many parts have something to do is worth waking the helper.
const WORTH_WAKING: usize = 4;

/// All people.
pub(super) struct Crowd {
    parts: Vec<Mutex<People>>,
    /// The end of the stretch that is offered, microseconds.
    until_us: AtomicU64,
    /// The number of parts that some thread has taken in this stretch.
    taken: AtomicUsize,
    /// The number of parts that are done with this stretch.
    done: AtomicUsize,
    /// The thread that helps, once it does.
    helper: OnceLock<Thread>,
    is_helper_asleep: AtomicBool,
    /// Nothing will be offered any more.
    is_closed: AtomicBool,
    has_panicked: AtomicBool,
}

/// Ends the work of the helper when it is dropped, also by a panic.
pub(super) struct Closing<'crowd>(&'crowd Crowd);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.is_closed.store(true, Ordering::SeqCst);
        self.0.wake_helper();
    }
}

/// Counts a part as done when it is dropped, also by a panic.
struct PartDone<'crowd>(&'crowd Crowd);

impl Drop for PartDone<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.has_panicked.store(true, Ordering::Release);
        }
        self.0.done.fetch_add(1, Ordering::Release);
    }
}

impl Crowd {
    /// The people of these tickets, in the order of their numbers, who have not arrived.
    pub(super) fn new((seed, lines): (u64, Lines), info: StudyInfo, tickets: Vec<Ticket>) -> Self {
        let mut parts: [Vec<_>; PARTS] = Default::default();
        for (number, ticket) in tickets.into_iter().enumerate() {
            parts[number % PARTS].push((number, ticket));
        }
        let info = Arc::new(info);
        let part = |tickets| Mutex::new(People::new((seed, lines), Arc::clone(&info), tickets));
        Self {
            parts: parts.into_iter().map(part).collect(),
            until_us: AtomicU64::new(0),
            taken: AtomicUsize::new(PARTS),
            done: AtomicUsize::new(PARTS),
            helper: OnceLock::new(),
            is_helper_asleep: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            has_panicked: AtomicBool::new(false),
        }
    }

    fn part(&self, number: usize) -> MutexGuard<'_, People> {
        let part = self.parts[number % PARTS].lock();
        part.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if nobody takes part any more.
    pub(super) fn is_over(&self) -> bool {
        (0..PARTS).all(|number| self.part(number).is_over())
    }

    /// When somebody does something next.
    pub(super) fn next_us(&self) -> Option<u64> {
        (0..PARTS)
            .filter_map(|number| self.part(number).next_us())
            .min()
    }

    /// Something is under way to a person.
    pub(super) fn take(&self, sent: Sent<Down>) {
        self.part(sent.person).take(sent);
    }

    /// Offers the parts until a time to the threads. Every part of the stretch before must be done.
    pub(super) fn offer(&self, until_us: u64) {
        let is_due = |number: &usize| {
            let next_us = self.part(*number).next_us();
            next_us.is_some_and(|next_us| next_us < until_us)
        };
        let due = (0..PARTS).filter(is_due).count();
        self.until_us.store(until_us, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.taken.store(0, Ordering::SeqCst);
        if due >= WORTH_WAKING && self.is_helper_asleep.load(Ordering::SeqCst) {
            self.wake_helper();
        }
    }

    /// Runs the parts that no other thread takes, and waits for those that another one has taken. Returns false if that
    /// thread has panicked.
    pub(super) fn run(&self) -> bool {
        while self.run_part() {}
        let mut looks = 0;
        while self.done.load(Ordering::Acquire) < PARTS {
            look_again(&mut looks);
        }
        !self.has_panicked.load(Ordering::Acquire)
    }

    /// Runs parts that are offered, until none will be; on a thread beside the one that offers them.
    pub(super) fn help_out(&self) {
        let _ = self.helper.set(thread::current());
        let mut looks = 0;
        while !self.is_closed.load(Ordering::SeqCst) {
            if self.run_part() {
                looks = 0;
            } else if looks < LOOKS {
                look_again(&mut looks);
            } else {
                self.is_helper_asleep.store(true, Ordering::SeqCst);
                let is_idle = self.taken.load(Ordering::SeqCst) >= PARTS;
                if is_idle && !self.is_closed.load(Ordering::SeqCst) {
                    thread::park();
                }
                self.is_helper_asleep.store(false, Ordering::SeqCst);
                looks = 0;
            }
        }
    }

    /// Whoever offers parts keeps this for as long as it does.
    pub(super) fn close_later(&self) -> Closing<'_> {
        Closing(self)
    }

    fn wake_helper(&self) {
        if let Some(helper) = self.helper.get() {
            helper.unpark();
        }
    }

    /// Runs a part that no other thread has taken; false if there is none.
    fn run_part(&self) -> bool {
        let take = |taken| (taken < PARTS).then_some(taken + 1);
        let taken = (self.taken).fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
        let Ok(number) = taken else { return false };
        let _done = PartDone(self);
        // The next stretch is offered after this part is done.
        let until_us = self.until_us.load(Ordering::Relaxed);
        self.part(number).run(until_us);
        true
    }

    /// Collects what everybody has sent.
    pub(super) fn collect_sent(&self) -> Vec<Sent<(WireId, Up)>> {
        (0..PARTS)
            .flat_map(|number| self.part(number).take_sent())
            .collect()
    }
}

/// Waits a moment. A thread that has waited for long lets others run.
fn look_again(looks: &mut u32) {
    *looks = looks.saturating_add(1);
    match *looks < LOOKS {
        true => std::hint::spin_loop(),
        false => thread::yield_now(),
    }
}
