//! Everybody who takes part in a virtual rehearsal, in parts that several threads run in parallel: people meet only
//! through the server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::network::{Down, Lines, Sent, Up};
use super::people::People;
use crate::bot::{StudyInfo, Ticket, WireId};

/// The number of parts. Messages that arrive at one time keep the order of the parts, so it must not depend on the
/// machine.
const PARTS: usize = 8;

/// All people.
pub(super) struct Crowd {
    parts: Vec<Mutex<People>>,
    /// The number of parts that some thread has taken in this stretch.
    taken: AtomicUsize,
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
            taken: AtomicUsize::new(PARTS),
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

    /// Lets threads take the parts again, one after the other. No thread may be within [`Crowd::run`].
    pub(super) fn offer(&self) {
        self.taken.store(0, Ordering::Release);
    }

    /// Runs the parts that no other thread takes until a time.
    pub(super) fn run(&self, until_us: u64) {
        loop {
            let number = self.taken.fetch_add(1, Ordering::AcqRel);
            if number >= PARTS {
                return;
            }
            self.part(number).run(until_us);
        }
    }

    /// Collects what everybody has sent.
    pub(super) fn collect_sent(&self) -> Vec<Sent<(WireId, Up)>> {
        (0..PARTS)
            .flat_map(|number| self.part(number).take_sent())
            .collect()
    }
}
