//! Logs after a withdrawal: the confirmed actions of the person's seat stay, because the others played with them.
//!
//! Everything that came from the person's own page, or was shown on it, is removed: inputs with their signatures, keys,
//! key presses, frames, views, observations, digests, routes, and the times at which the person was there. This module
//! must not know who withdraws, nor where the bytes are stored.

use super::{Header, Log, LogError, LogWriter, MAGIC, Record};
use crate::Seat;
use crate::change::Change;

/// The participant of a seat whose person withdrew, in a header.
pub const WITHDRAWN: &str = "withdrawn";

impl Header {
    /// Returns whether the person of a seat withdrew, so that only the confirmed actions of the seat are left.
    pub fn is_withdrawn(&self, seat: Seat) -> bool {
        let participant = self.participants.get(seat.index());
        participant.is_some_and(|participant| participant == WITHDRAWN)
    }

    /// The seats whose people withdrew.
    pub fn list_withdrawn_seats(&self) -> Vec<Seat> {
        let seats = (0..).map(Seat).take(self.participants.len());
        seats.filter(|seat| self.is_withdrawn(*seat)).collect()
    }
}

impl Log {
    /// Removes from the log everything that came from a participant's own page, and the participant's name. Returns false
    /// if the participant has no seat in it; the log is then unchanged.
    pub fn withdraw(&mut self, participant: &str) -> bool {
        let seats: Vec<Seat> = (0..)
            .map(Seat)
            .zip(&self.header.participants)
            .filter(|(_, name)| !name.is_empty() && *name == participant)
            .map(|(seat, _)| seat)
            .collect();
        let rows = self.rows();
        let row_len = self.count_seats();
        let played = |seat: Seat, tick: u32| rows.get(tick as usize * row_len + seat.index());
        let records = std::mem::take(&mut self.records).into_iter();
        self.records = records
            .filter_map(|record| without_traces(record, &seats, played))
            .collect();
        for seat in &seats {
            self.header.participants[seat.index()] = WITHDRAWN.into();
            if let Some(key) = self.header.keys.get_mut(seat.index()) {
                *key = [0; 32];
            }
        }
        !seats.is_empty()
    }

    /// The bytes of the log in the version that it has, without a torn record at its end.
    ///
    /// # Errors
    /// [`LogError::TooLong`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, LogError> {
        let mut writer = LogWriter::resume_at(self.version, 0);
        let mut out = [&[self.version], &MAGIC[1..]].concat();
        writer.frame(&self.header, &mut out)?;
        for record in &self.records {
            writer.append(record, &mut out)?;
        }
        Ok(out)
    }
}

/// Returns a record without the data from the pages of these seats; `None` if nothing is left.
fn without_traces<'a>(
    record: Record,
    seats: &[Seat],
    played: impl Fn(Seat, u32) -> Option<&'a u16>,
) -> Option<Record> {
    match record {
        Record::Inputs { seat, .. }
        | Record::Erased { seat, .. }
        | Record::Timing { seat, .. }
        | Record::Presence { seat, .. }
        | Record::Route { seat, .. }
        | Record::Viewed { seat, .. }
        | Record::Observations { seat, .. }
        | Record::Digest {
            seat: Some(seat), ..
        } if seats.contains(&seat) => None,
        Record::Change(change) if seats.contains(&change.seat) => Some(Record::Change(Change {
            key: None,
            ..change
        })),
        // The proof has the person's seal. The fact that the other page received something else excuses that page, so
        // it stays.
        Record::Recount { by, recount } if seats.contains(&recount.seat) => {
            let (seat, tick) = (recount.seat, recount.first);
            let durable = *played(seat, tick.0)?;
            let told = *recount.inputs.first()?;
            (durable != told).then_some(Record::Equivocation {
                seat,
                tick,
                by,
                durable,
                told,
            })
        }
        record => Some(record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tick;
    use crate::log::{Ending, read_log};

    fn contains(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    fn header() -> Header {
        Header {
            episode: "e-1".into(),
            study: "s".into(),
            study_version: "1".into(),
            study_hash: "ab".into(),
            stage: "play".into(),
            group: "G-1".into(),
            participants: vec!["P-A".into(), "P-B".into()],
            module: String::new(),
            env: "overcooked".into(),
            env_version: "2.0.0".into(),
            params: "{}".into(),
            seed: 1,
            controllers: vec![crate::Controller::Human; 2],
            tick_hz: 4,
            input_delay: 0,
            t0_us: 1,
            rules: Default::default(),
            course: None,
            keys: vec![[0xa1; 32], [0xb2; 32]],
            way: crate::EnvWay::Module,
            shared: None,
        }
    }

    fn log() -> Log {
        let inputs = |seat: u8| Record::Inputs {
            seat: Seat(seat),
            life: crate::Life(0),
            block: crate::control::Block {
                first: Tick(0),
                inputs: vec![3, 4],
                salt: [0x50 + seat; 16],
                signature: [[0x60 + seat; 32]; 2],
            },
        };
        let digest = |seat: Option<Seat>| Record::Digest {
            tick: Tick(2),
            seat,
            digest: 9,
        };
        let ending = Ending {
            ticks: Tick(2),
            reason: crate::control::EndReason::Played,
            score: 5,
            digest: 9,
        };
        let rows = vec![3, 3, 4, 4];
        let first = Tick(0);
        let records = vec![
            inputs(0),
            inputs(1),
            Record::Actions { first, rows },
            digest(Some(Seat(0))),
            digest(Some(Seat(1))),
            digest(None),
            Record::End(ending),
        ];
        Log {
            version: crate::VERSION,
            header: header(),
            records,
            through: Tick(2),
            ending: Some(ending),
            valid_len: 0,
            torn: false,
        }
    }

    #[test]
    fn of_who_withdrew_only_the_actions_are_left_and_of_others_everything() {
        let mut log = log();
        let before = log.to_bytes().unwrap();
        let own: [&[u8]; 4] = [b"P-B", &[0xb2; 32], &[0x51; 16], &[0x61; 32]];
        let others: [&[u8]; 4] = [b"P-A", &[0xa1; 32], &[0x50; 16], &[0x60; 32]];
        assert!(
            own.iter()
                .chain(&others)
                .all(|part| contains(&before, part))
        );
        let (rows, ending) = (log.rows(), log.ending);
        assert!(log.withdraw("P-B"));
        let after = log.to_bytes().unwrap();
        assert!(own.iter().all(|part| !contains(&after, part)));
        assert!(others.iter().all(|part| contains(&after, part)));
        let found = read_log(&after).unwrap();
        assert_eq!((found.rows(), found.ending), (rows, ending));
        assert_eq!(found.header.list_withdrawn_seats(), [Seat(1)]);
        assert_eq!(found.records.len(), 5);
        assert!(!log.withdraw("P-B"), "it is done already");
    }

    #[test]
    fn who_has_no_seat_changes_nothing() {
        for stranger in ["P-C", ""] {
            let mut log = log();
            log.header.participants[1] = String::new();
            let before = log.clone();
            assert!(!log.withdraw(stranger));
            assert_eq!(log, before);
        }
    }

    #[test]
    fn that_a_page_was_told_something_else_stays_without_the_seal() {
        let recount = crate::control::Recount {
            seat: Seat(1),
            life: crate::Life(0),
            first: Tick(1),
            inputs: vec![7],
            signature: [[0x77; 32]; 2],
        };
        let by = Seat(0);
        let mut log = log();
        let at = log.records.len() - 1;
        log.records.insert(at, Record::Recount { by, recount });
        assert!(log.withdraw("P-B"));
        assert!(!contains(&log.to_bytes().unwrap(), &[0x77; 32]));
        let left = Record::Equivocation {
            seat: Seat(1),
            tick: Tick(1),
            by,
            durable: 4,
            told: 7,
        };
        assert!(log.records.contains(&left));
    }

    #[test]
    fn every_version_is_written_as_it_was_read() {
        for version in 4..=crate::VERSION {
            let log = Log { version, ..log() };
            let bytes = log.to_bytes().unwrap();
            let again = read_log(&bytes).unwrap();
            assert_eq!((again.version, &again.records), (version, &log.records));
            assert_eq!(again.to_bytes().unwrap(), bytes);
        }
    }
}
