//! A log that is simulated again, and compared with what it says.

use env_core::Action;
use protocol::control::EndReason;
use protocol::log::{Log, Record};

use super::{ReplayError, Replica};

/// Simulates a log again and compares; `each` sees the replica after each row. Where people share their seats with AI
/// partners, the row has the actions that the seats took.
///
/// # Errors
/// [`ReplayError`] at the first thing that differs.
pub fn replay(
    log: &Log,
    stored: impl Fn(&str) -> std::io::Result<Vec<u8>> + Send + 'static,
    each: impl FnMut(&[Action], &mut Replica),
) -> Result<Replica, ReplayError> {
    replay_from(Replica::open(&log.header, stored)?, log, each)
}

/// [`replay`] with a replica at the first state, which the caller has looked at before.
///
/// # Errors
/// [`ReplayError`] at the first thing that differs.
pub fn replay_from(
    mut replica: Replica,
    log: &Log,
    mut each: impl FnMut(&[Action], &mut Replica),
) -> Result<Replica, ReplayError> {
    for record in &log.records {
        match record {
            Record::Actions { rows, .. } => {
                for row in rows.chunks_exact(log.count_seats()) {
                    let tick = replica.ticks();
                    replica
                        .step(row)
                        .map_err(|error| ReplayError::Row { tick, error })?;
                    let played = replica.world.played().map(<[Action]>::to_vec);
                    each(played.as_deref().unwrap_or(row), &mut replica);
                }
            }
            Record::Change(change) => replica.apply_change(change)?,
            // After a crash, the same tick may have had another state, and another digest.
            Record::Digest { seat: None, .. } if replica.is_record() => {}
            Record::Digest {
                tick,
                seat: None,
                digest: recorded,
            } => {
                let found = replica.digest(*tick).unwrap_or_default();
                if found != *recorded {
                    return Err(ReplayError::Digest {
                        tick: *tick,
                        recorded: *recorded,
                        found,
                    });
                }
            }
            Record::End(recorded) => {
                let found = replica.read_ending(recorded.reason);
                let claimed = recorded.reason == EndReason::Played && !replica.outcome.over;
                if found != *recorded || claimed {
                    return Err(ReplayError::End {
                        recorded: *recorded,
                        found,
                    });
                }
            }
            Record::Digest { seat: Some(_), .. }
            | Record::Timing { .. }
            | Record::Presence { .. }
            | Record::Diverged { .. }
            | Record::Equivocation { .. }
            | Record::Recount { .. }
            | Record::Route { .. }
            | Record::Inputs { .. }
            | Record::Erased { .. }
            | Record::Observed { .. }
            | Record::Paced { .. }
            | Record::Infos { .. }
            | Record::Viewed { .. }
            | Record::Observations { .. }
            | Record::Outcome { .. }
            | Record::Repeated { .. } => {}
        }
    }
    Ok(replica)
}
