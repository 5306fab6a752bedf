//! The errors of environments that broke down, for the pages of a researcher. Nothing of it is stored.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// Breakdowns that are kept, the newest.
const KEPT: usize = 20;

/// An environment that broke down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorldFault {
    /// The episode that it ended.
    pub episode: String,
    /// Ticks that had been played.
    pub tick: u32,
    /// Its error, with the traceback of an environment in Python.
    pub text: String,
}

/// The environments that broke down since the start, the oldest first.
#[derive(Debug, Default)]
pub struct WorldFaults(Mutex<VecDeque<WorldFault>>);

impl WorldFaults {
    /// Keeps one, if it is new.
    pub fn report(&self, fault: WorldFault) {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.contains(&fault) {
            return;
        }
        if faults.len() == KEPT {
            faults.pop_front();
        }
        faults.push_back(fault);
    }

    /// All that are kept.
    pub fn list(&self) -> Vec<WorldFault> {
        let faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        faults.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_kept_once_and_the_oldest_goes() {
        let faults = WorldFaults::default();
        let fault = |tick| WorldFault {
            episode: "E-1".to_owned(),
            tick,
            text: "ValueError".to_owned(),
        };
        (0..25).for_each(|tick| faults.report(fault(tick)));
        faults.report(fault(24));
        let ticks: Vec<u32> = faults.list().iter().map(|fault| fault.tick).collect();
        assert_eq!(ticks, (5..25).collect::<Vec<_>>());
    }
}
