//! A hosted world that is run again: whether it comes out as its log says.

use std::io;
use std::sync::Mutex;

use protocol::log::{Log, Record};
use protocol::{EnvWay, Tick};

use super::replica::{ReplayError, replay};
use super::stored::Stored;

/// Runs a hosted world again, and returns the first tick after which it differs from its log; `None` if everything is
/// equal.
pub fn find_repeat(log: &Log, stored: Box<Stored>) -> Option<Tick> {
    let stored = Mutex::new(stored);
    let stored = move |hash: &str| {
        let stored = stored
            .lock()
            .map_err(|_| io::Error::other("a read panicked"))?;
        stored(hash)
    };
    // A crash may have cut off those of some rows.
    let seats = log.count_seats();
    let mut observed = vec![None; log.through.0 as usize * seats];
    for record in &log.records {
        if let Record::Observed {
            first,
            hashes,
            rewards,
        } = record
        {
            let places = observed.iter_mut().skip(first.0 as usize * seats);
            for (place, found) in places.zip(hashes.iter().zip(rewards)) {
                *place = Some((*found.0, *found.1));
            }
        }
    }
    let (mut rows, mut differs) = (observed.chunks_exact(seats), None);
    let replayed = replay(log, stored, |row, replica| {
        let recorded = rows.next().unwrap_or_default();
        for seat in 0..row.len() {
            let reward = replica.outcome().rewards[seat].to_bits();
            let found = (replica.observe_digest(seat), reward);
            let recorded = recorded.get(seat).copied().flatten();
            if recorded.is_some_and(|recorded| recorded != found) {
                differs.get_or_insert(replica.ticks());
            }
        }
    });
    match replayed {
        Ok(_) => differs,
        Err(error) => {
            tracing::warn!(%error, "a hosted world does not repeat itself");
            let at = match error {
                ReplayError::Digest { tick, .. } | ReplayError::Row { tick, .. } => tick,
                _ => log.through,
            };
            Some(differs.map_or(at, |differs: Tick| differs.min(at)))
        }
    }
}

/// Returns whether the log is the only record of what happened: the episode was on a host, nothing claims that its world
/// repeats itself, and the world comes out otherwise when it is run again.
pub fn is_only_recorded(log: &Log, stored: Box<Stored>) -> bool {
    match (log.header.way, log.end_repetition()) {
        (EnvWay::Module, _) | (EnvWay::Host, Some(None)) => false,
        (EnvWay::Host, Some(Some(_))) => true,
        (EnvWay::Host, None) => log.through.0 > 0 && find_repeat(log, stored).is_some(),
    }
}
