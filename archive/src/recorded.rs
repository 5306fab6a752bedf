//! Ticks of an episode on a host as its log has them, for a world that does not come out equal when it is run again.

use protocol::log::{Log, Record};

/// Lists the rewards of a hosted episode, `[tick, seat]`, row-major. A crash may have cut off those of the last ticks:
/// they are `None`.
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
