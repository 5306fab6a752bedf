//! Ticks of an episode on a host as its log has them, for a world that does not come out equal when it is run again.

use protocol::EnvWay;
use protocol::log::{Log, Record};

use super::Stored;
use super::hosted::repeats;

/// The rewards of a hosted episode, `[tick, seat]`, row-major. A crash may have cut off those of the last ticks: they are
/// `None`.
pub fn list_recorded_rewards(log: &Log) -> Vec<Option<f32>> {
    let seats = log.count_seats();
    let mut found = vec![None; log.through.0 as usize * seats];
    for record in &log.records {
        let Record::Observed { first, rewards, .. } = record else {
            continue;
        };
        let start = first.0 as usize * seats;
        let places = found.iter_mut().skip(start);
        for (place, bits) in places.zip(rewards) {
            *place = Some(f32::from_bits(*bits));
        }
    }
    found
}

/// Returns whether the log is the only record of what happened: the episode was on a host, nothing claims that its world
/// repeats itself, and the world comes out otherwise when it is run again.
pub fn is_only_recorded(log: &Log, stored: Box<Stored>) -> bool {
    match (log.header.way, log.repetition()) {
        (EnvWay::Module, _) | (EnvWay::Host, Some(None)) => false,
        (EnvWay::Host, Some(Some(_))) => true,
        (EnvWay::Host, None) => log.through.0 > 0 && repeats(log, stored).is_some(),
    }
}
