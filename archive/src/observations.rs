//! The observations of a hosted episode in its log, which has them if the study asks for it.

use std::collections::BTreeMap;

use protocol::log::{Log, Record};
use protocol::{Seat, Tick};

/// The bytes of a seat's observations from which on they are put into a record, and the most in one record: what cannot be
/// deflated still fits.
pub(super) const OBSERVED_LEN: usize = 256 << 10;

/// The effort of deflating: hosts do it while an episode runs.
const DEFLATE_LEVEL: u8 = 1;

/// The observations of a seat that are in no record yet.
#[derive(Default)]
pub(super) struct FreshObservations {
    /// After how many steps the first of them was made.
    pub(super) first: Tick,
    /// Bytes of one observation.
    pub(super) each: usize,
    /// The values, `[tick, value]`, row-major, `f32` little-endian.
    pub(super) bytes: Vec<u8>,
}

/// Makes the records of observations.
pub(super) fn encode_observations(seats: Vec<FreshObservations>) -> Vec<Record> {
    let mut records = Vec::new();
    for (seat, observed) in (0..).map(Seat).zip(seats) {
        let first = observed.first;
        let each = observed.each.max(1);
        // Whole observations, unless one alone is longer than a record.
        let together = (OBSERVED_LEN / each).max(1);
        let several = observed.bytes.chunks(together * each);
        for (number, whole) in (0..).zip(several) {
            let first = Tick(first.0 + number * together as u32);
            records.extend(
                whole
                    .chunks(OBSERVED_LEN)
                    .map(|piece| Record::Observations {
                        seat,
                        first,
                        deflated: miniz_oxide::deflate::compress_to_vec(piece, DEFLATE_LEVEL),
                    }),
            );
        }
    }
    records
}

/// The observations of a hosted episode that its log has.
#[derive(Clone, Debug, Default)]
pub struct RecordedObservations {
    /// The bytes of the values by seat and first tick.
    pieces: BTreeMap<(Seat, Tick), Vec<u8>>,
    /// Values in one observation.
    len: usize,
}

impl RecordedObservations {
    /// Reads those of a log, whose observations have `len` values each.
    ///
    /// # Errors
    /// A sentence that says which record is wrong.
    pub fn read(log: &Log, len: usize) -> Result<Self, String> {
        let each = (4 * len).max(1);
        let most = (log.through.0 as usize + 1).saturating_mul(log.count_seats() * each);
        let mut total = 0;
        let mut pieces: BTreeMap<(Seat, Tick), Vec<u8>> = BTreeMap::new();
        for record in &log.records {
            let Record::Observations {
                seat,
                first,
                deflated,
            } = record
            else {
                continue;
            };
            let inflated =
                miniz_oxide::inflate::decompress_to_vec_with_limit(deflated, OBSERVED_LEN);
            let piece = inflated.map_err(|_| {
                let (seat, first) = (seat.0, first.0);
                format!("the observations of seat {seat} from tick {first} on cannot be read")
            })?;
            total += piece.len();
            if total > most {
                return Err("there are more observations than ticks".into());
            }
            pieces.entry((*seat, *first)).or_default().extend(piece);
        }
        for ((seat, first), bytes) in &pieces {
            // A crash may have cut a part of one that is longer than a record.
            if bytes.len() % each != 0 && each <= OBSERVED_LEN {
                let (seat, first) = (seat.0, first.0);
                return Err(format!(
                    "the observations of seat {seat} from tick {first} on do not have {len} values each"
                ));
            }
        }
        Ok(Self { pieces, len })
    }

    /// True if the log has none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// True if the log has one of every seat, of the first state and after each of this many steps.
    pub(crate) fn are_complete(&self, seats: usize, through: Tick) -> bool {
        let has = |seat: u8| (0..=through.0).all(|after| self.has(Seat(seat), Tick(after)));
        (0..seats as u8).all(has)
    }

    fn has(&self, seat: Seat, after: Tick) -> bool {
        self.find(seat, after).is_some()
    }

    fn find(&self, seat: Seat, after: Tick) -> Option<&[u8]> {
        let mut before = self.pieces.range((seat, Tick(0))..=(seat, after));
        let ((_, first), bytes) = before.next_back()?;
        let each = 4 * self.len;
        let start = each.checked_mul((after.0 - first.0) as usize)?;
        bytes.get(start..start.checked_add(each)?)
    }

    /// Returns what a seat observed after this many steps: [`env_core::Spec::observation_len`] values; `None` if the log does not
    /// have it.
    pub fn get(&self, seat: Seat, after: Tick) -> Option<Vec<f32>> {
        let values = self.find(seat, after)?.as_chunks::<4>().0.iter();
        Some(values.map(|value| f32::from_le_bytes(*value)).collect())
    }
}
