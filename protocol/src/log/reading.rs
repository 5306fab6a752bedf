//! Reads a log: record after record, each checked against those before it.

use super::frame::{Form, OLDEST, parse};
use super::{Log, MAGIC, MAX_RECORD, Record};
use crate::change::Change;
use crate::{MAX_SEATS, Tick, VERSION};

/// Bytes that are not an episode log, or a record that does not fit into one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The first byte names another version.
    #[error("version {found} of the episode log; this program reads {VERSION}")]
    Version {
        /// The version found.
        found: u8,
    },
    /// The file does not open with [`MAGIC`].
    #[error("not an episode log")]
    Foreign,
    /// The file ends before its header does: nothing was recorded yet.
    #[error("the episode log ends before its header does")]
    NoHeader,
    /// A frame that is damaged although whole ones follow it, or that breaks the order of records.
    #[error("byte {offset}: {what}")]
    Corrupt {
        /// Where the frame begins.
        offset: usize,
        /// The error.
        what: &'static str,
    },
    /// A header or record longer than [`MAX_RECORD`].
    #[error("a record of {len} bytes, over the limit of {MAX_RECORD}")]
    TooLong {
        /// Its length, bytes.
        len: usize,
    },
}

/// Reads a log.
///
/// A damaged tail is the result of a crash, and is reported as [`Log::torn`]. A damaged frame with a whole one anywhere
/// after it is different: it is an error, so that nothing acknowledged is silently dropped.
///
/// # Errors
/// [`LogError`]; for [`LogError::NoHeader`] there is nothing to lose.
pub fn read_log(bytes: &[u8]) -> Result<Log, LogError> {
    let version = match bytes.first() {
        Some(&found) if !(OLDEST..=VERSION).contains(&found) => {
            return Err(LogError::Version { found });
        }
        _ if MAGIC[1..].starts_with(bytes.get(1..).unwrap_or_default()) => {
            return Err(LogError::NoHeader);
        }
        _ if !bytes[1..].starts_with(&MAGIC[1..]) => return Err(LogError::Foreign),
        Some(&found) => found,
        None => return Err(LogError::NoHeader),
    };
    let form = Form::of(version);
    let Some(first) = form.read(&bytes[MAGIC.len()..]) else {
        return Err(form
            .find_damage(bytes, MAGIC.len())
            .unwrap_or(LogError::NoHeader));
    };
    let mut log = Log {
        version,
        header: parse(first.body, MAGIC.len())?,
        records: Vec::new(),
        through: Tick(0),
        ending: None,
        valid_len: MAGIC.len() + form.head_len() + first.body.len(),
        torn: false,
    };
    let seats = log.count_seats();
    if !(1..=MAX_SEATS).contains(&seats) || log.header.participants.len() != seats {
        return Err(LogError::Corrupt {
            offset: MAGIC.len(),
            what: "a header whose seats do not agree",
        });
    }
    while let Some(frame) = form.read(&bytes[log.valid_len..]) {
        let offset = log.valid_len;
        let corrupt = |what| LogError::Corrupt { offset, what };
        if frame.number.is_some_and(|number| number != log.frames()) {
            return Err(corrupt(
                "a record whose number is not that of its place: others are missing",
            ));
        }
        let record = parse(frame.body, offset)?;
        log.take(record).map_err(corrupt)?;
        log.valid_len += form.head_len() + frame.body.len();
    }
    log.torn = log.valid_len < bytes.len();
    form.find_damage(bytes, log.valid_len).map_or(Ok(log), Err)
}

impl Log {
    /// The number of frames read, which is the number of the next one.
    pub fn frames(&self) -> u32 {
        self.records.len() as u32 + 1
    }

    /// Adds a record if it is in order.
    fn take(&mut self, record: Record) -> Result<(), &'static str> {
        let seats = self.count_seats();
        if self.ending.is_some() && !matches!(record, Record::Repeated { .. }) {
            return Err("a record after the end");
        }
        match &record {
            Record::Actions { first, rows } => {
                let ticks = u32::try_from(rows.len() / seats).ok();
                let through = ticks.and_then(|ticks| self.through.0.checked_add(ticks));
                match through {
                    Some(through) if *first == self.through && rows.len() % seats == 0 => {
                        self.through = Tick(through)
                    }
                    _ => return Err("actions that do not continue those before"),
                }
            }
            Record::Change(change) => self.take_change(change)?,
            Record::Digest {
                seat: Some(seat), ..
            }
            | Record::Timing { seat, .. }
            | Record::Presence { seat, .. }
            | Record::Diverged { seat, .. }
            | Record::Inputs { seat, .. }
            | Record::Erased { seat, .. }
            | Record::Viewed { seat, .. }
            | Record::Observations { seat, .. }
                if seat.index() >= seats =>
            {
                return Err("a record of a seat that is not there");
            }
            Record::Equivocation {
                seat, by: other, ..
            }
            | Record::Route { seat, other, .. }
                if seat.max(other).index() >= seats =>
            {
                return Err("a record of a seat that is not there");
            }
            Record::Recount { by, recount } if recount.seat.max(*by).index() >= seats => {
                return Err("a record of a seat that is not there");
            }
            Record::Viewed { tick, .. } if *tick > self.through => {
                return Err("a view of a tick that was not played");
            }
            Record::Outcome { tick, .. } if *tick >= self.through => {
                return Err("an outcome of a tick that was not played");
            }
            Record::Outcome { scores, .. } if !scores.is_empty() && scores.len() != seats + 1 => {
                return Err("scores of other seats than there are");
            }
            Record::End(ending) if ending.ticks != self.through => {
                return Err("an end at another tick");
            }
            Record::End(ending) => self.ending = Some(*ending),
            Record::Observed {
                hashes, rewards, ..
            } if hashes.len() != rewards.len() || hashes.len() % seats != 0 => {
                return Err("observations of other seats than there are");
            }
            Record::Observed { first, hashes, .. }
                if u64::from(first.0) + (hashes.len() / seats) as u64
                    > u64::from(self.through.0) =>
            {
                return Err("observations of ticks that were not played");
            }
            Record::Observations { first, .. } if *first > self.through => {
                return Err("observations of a tick that was not played");
            }
            Record::Digest { .. }
            | Record::Timing { .. }
            | Record::Presence { .. }
            | Record::Diverged { .. }
            | Record::Equivocation { .. }
            | Record::Route { .. }
            | Record::Inputs { .. }
            | Record::Recount { .. }
            | Record::Erased { .. }
            | Record::Observed { .. }
            | Record::Paced { .. }
            | Record::Infos { .. }
            | Record::Viewed { .. }
            | Record::Observations { .. }
            | Record::Outcome { .. }
            | Record::Repeated { .. } => {}
        }
        self.records.push(record);
        Ok(())
    }

    /// Takes a change if it continues the numbers, and rewrites neither actions nor an earlier change of its seat.
    fn take_change(&mut self, change: &Change) -> Result<(), &'static str> {
        let before = self.changes().filter(|old| old.seat == change.seat).last();
        let follows = usize::from(change.number) == self.changes().count();
        let later =
            before.is_none_or(|old| old.tick <= change.tick && old.life.next() == change.life);
        if change.seat.index() < self.count_seats()
            && follows
            && later
            && change.tick >= self.through
        {
            Ok(())
        } else {
            Err("a change of a seat that is out of order")
        }
    }
}
