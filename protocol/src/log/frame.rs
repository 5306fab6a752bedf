//! The frames of a log: how they are written, read, and found to be damaged. This module must not know what the records
//! mean.

use serde::{Serialize, de::DeserializeOwned};

use super::{Header, Log, LogError, MAGIC, MAX_RECORD, Record};

/// The first version of the log that can still be read: version 5 added numbers of frames, and records at the end.
pub(super) const OLDEST: u8 = 4;

/// Bytes that hold the fields, empty, that were added at the end of a header or a record since [`OLDEST`], at most.
const ADDED: usize = 8;

/// Writes the frames of a log, one after the other.
#[derive(Clone, Debug, Default)]
pub struct LogWriter {
    form: Form,
    /// The number of the next frame.
    number: u32,
}

impl LogWriter {
    /// Begins a log: [`MAGIC`] and the header.
    ///
    /// # Errors
    /// [`LogError::TooLong`].
    pub fn begin(header: &Header) -> Result<(Self, Vec<u8>), LogError> {
        let form = Form { numbered: true };
        let mut writer = Self { form, number: 0 };
        let mut out = MAGIC.to_vec();
        writer.frame(header, &mut out)?;
        Ok((writer, out))
    }

    /// Goes on behind the last whole frame of a log, in the form that it has.
    pub fn resume(log: &Log) -> Self {
        Self::resume_at(log.version, log.frames())
    }

    /// Goes on with the frame of a number, in the form of a version.
    pub(super) fn resume_at(version: u8, number: u32) -> Self {
        let form = Form::of(version);
        Self { form, number }
    }

    /// Adds a record to `out`.
    ///
    /// # Errors
    /// [`LogError::TooLong`]; `out` is then unchanged.
    pub fn append(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), LogError> {
        self.frame(record, out)
    }

    pub(super) fn frame(
        &mut self,
        body: &impl Serialize,
        out: &mut Vec<u8>,
    ) -> Result<(), LogError> {
        let body = postcard::to_allocvec(body).expect("a record has no map of unknown length");
        let len = match u32::try_from(body.len()) {
            Ok(len) if body.len() <= MAX_RECORD => len,
            _ => return Err(LogError::TooLong { len: body.len() }),
        };
        let head = [len.to_le_bytes(), self.number.to_le_bytes()];
        let head = &head.as_flattened()[..self.form.head_len() - 4];
        out.extend(head);
        out.extend(checksum(head, &body).to_le_bytes());
        out.extend(body);
        self.number += 1;
        Ok(())
    }
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(body);
    hasher.finalize()
}

/// The form of the frames of a version.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Form {
    numbered: bool,
}

/// A frame that was read.
pub(super) struct Frame<'a> {
    /// Its number; `None` in a version without numbers.
    pub(super) number: Option<u32>,
    /// Its body.
    pub(super) body: &'a [u8],
}

impl Form {
    pub(super) fn of(version: u8) -> Self {
        Self {
            numbered: version > OLDEST,
        }
    }

    /// Bytes of a frame before its body.
    pub(super) fn head_len(self) -> usize {
        if self.numbered { 12 } else { 8 }
    }

    /// The frame at the start of `bytes`, if a whole and undamaged one is there.
    pub(super) fn read(self, bytes: &[u8]) -> Option<Frame<'_>> {
        let (head, rest) = bytes.split_at_checked(self.head_len() - 4)?;
        let (sum, rest) = rest.split_first_chunk::<4>()?;
        let word = |at: usize| {
            let bytes = head.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_le_bytes(bytes))
        };
        let size = usize::try_from(word(0)?).ok()?;
        let body = rest
            .get(..size)
            .filter(|_| (1..=MAX_RECORD).contains(&size))?;
        let is_whole = checksum(head, body) == u32::from_le_bytes(*sum);
        is_whole.then_some(Frame {
            number: word(4),
            body,
        })
    }

    /// The error of a bad frame at `offset`, if it is damage rather than a torn tail: a whole frame follows.
    pub(super) fn find_damage(self, bytes: &[u8], offset: usize) -> Option<LogError> {
        let follows = (offset + 1..bytes.len()).any(|at| self.read(&bytes[at..]).is_some());
        follows.then_some(LogError::Corrupt {
            offset,
            what: "a damaged record with whole ones after it",
        })
    }
}

/// Reads a body. If it ends before fields that were added at the end later, these are zeros: false, 0, none, nothing.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8], offset: usize) -> Result<T, LogError> {
    let whole = |body: &[u8]| match postcard::take_from_bytes(body) {
        Ok((value, [])) => Some(value),
        _ => None,
    };
    let older = |added: usize| whole(&[body, &[0; ADDED][..added]].concat());
    let value = whole(body).or_else(|| (1..=ADDED).find_map(older));
    value.ok_or(LogError::Corrupt {
        offset,
        what: "a record of unknown form",
    })
}
