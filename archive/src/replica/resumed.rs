//! The replica of an episode on a host that continues after a restart, although its world may not repeat itself.

use env_core::Action;
use protocol::Seat;
use protocol::log::{Log, Record};

use super::{ReplayError, Replica, RowError};
use crate::recorded::list_recorded_rewards;

impl Replica {
    /// Steps the world again with the recorded actions. The log's data stay as they were recorded, including the
    /// rewards. A world that repeats itself is then in the state that people saw; another one is in a state to which
    /// the same actions lead.
    ///
    /// # Errors
    /// [`ReplayError`] if the world cannot be opened, or ends before the recorded actions do.
    pub(crate) fn resume(
        log: &Log,
        stored: impl Fn(&str) -> std::io::Result<Vec<u8>> + Send + 'static,
    ) -> Result<Self, ReplayError> {
        let mut replica = Self::open(&log.header, stored)?;
        let (seats, recorded) = (log.count_seats(), list_recorded_rewards(log));
        let (mut rewards, mut differs) = (recorded.chunks_exact(seats), None);
        for record in &log.records {
            match record {
                Record::Actions { rows, .. } => {
                    for row in rows.chunks_exact(seats) {
                        let tick = replica.ticks();
                        let is_other = !replica.chooses(row);
                        differs = differs.or(is_other.then_some(tick));
                        let stepped = replica.step_again(row, rewards.next().unwrap_or_default());
                        stepped.map_err(|error| ReplayError::Row { tick, error })?;
                    }
                }
                Record::Change(change) => replica.apply_change(change)?,
                Record::Digest {
                    tick,
                    seat: None,
                    digest,
                } if replica.digest(*tick) != Some(*digest) => {
                    differs = differs.or(Some(*tick));
                }
                Record::End(ending) => replica.score = ending.score,
                _ => {}
            }
        }
        if let Some(tick) = differs {
            let (episode, tick) = (&log.header.episode, tick.0);
            tracing::warn!(
                episode,
                tick,
                "a hosted world does not repeat itself; its episode continues from the same actions"
            );
        }
        Ok(replica)
    }

    /// Returns whether a row is one that the AI partners choose here.
    fn chooses(&self, row: &[Action]) -> bool {
        let mut seats = (0..).map(Seat).zip(row);
        seats.all(|(seat, found)| {
            self.chosen_action(seat)
                .is_none_or(|chosen| chosen == *found)
        })
    }

    /// Plays a recorded row, also one that the AI partners here would not choose. The recorded rewards count.
    fn step_again(&mut self, row: &[Action], recorded: &[Option<f32>]) -> Result<(), RowError> {
        self.check_row(row)?;
        self.advance(row, recorded)
    }
}
