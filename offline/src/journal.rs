//! Journals: what happened to the server's part of a study in one browser, in order.
//!
//! A record is its length (`u32`, little-endian) and its postcard encoding. A journal is a record that begins it, and a
//! record for each thing that happened. The file that is handed over is [`MAGIC`], any number of journals, and the SHA-256
//! of all before.

use protocol::hash::sha256;
use serde::{Deserialize, Serialize};

/// The first bytes of a file of journals.
pub const MAGIC: &[u8; 8] = b"COPLAYJ\x01";

/// The ending of the name of a file of journals.
pub const EXTENSION: &str = "coplay-journal";

/// The longest record, bytes: a message of a page and what frames it.
const MAX_RECORD: usize = protocol::control::MAX_MESSAGE + 64;

/// Bytes of a SHA-256.
const HASH: usize = 32;

/// The beginning of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalStart {
    /// The version of Coplay that ran.
    pub program: String,
    /// The id of the study.
    pub study: String,
    /// Its version, as the researcher counts.
    pub study_version: String,
    /// The SHA-256 of its canonical form.
    pub study_hash: String,
    /// The source of all random numbers.
    pub secret: [u8; 32],
    /// When it begins, microseconds since the Unix epoch.
    pub begun_us: u64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// When, microseconds since the Unix epoch, never less than before.
    pub at_us: u64,
    /// The number of the connection.
    pub conn: u64,
    /// The thing that happened.
    pub news: ConnNews,
}

/// News of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnNews {
    /// It is open.
    Opened,
    /// The page sent this message.
    Bytes(Vec<u8>),
    /// It is gone.
    Closed,
}

impl ConnNews {
    /// A message of a page. One that is longer than any message is cut just behind the longest: the server's part refuses it
    /// as it refuses the whole, in the page and at an import alike, and the record of it can be read.
    pub fn of_message(mut bytes: Vec<u8>) -> Self {
        bytes.truncate(protocol::control::MAX_MESSAGE + 1);
        Self::Bytes(bytes)
    }
}

/// A journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// Its beginning.
    pub start: JournalStart,
    /// The things that happened, in order.
    pub entries: Vec<JournalEntry>,
}

impl Journal {
    /// Returns the end of the last connection, if the browser could not report it: a page may be closed without a
    /// message. The page was gone after its last message.
    pub fn find_lost_end(&self) -> Option<JournalEntry> {
        let last = self.entries.last()?;
        let end = JournalEntry {
            at_us: last.at_us,
            conn: last.conn,
            news: ConnNews::Closed,
        };
        (last.news != ConnNews::Closed).then_some(end)
    }
}

#[derive(Serialize, Deserialize)]
enum Record {
    Start(JournalStart),
    Entry(JournalEntry),
}

/// The reason why a file of journals cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Something else.
    #[error("its content is not that of a file of a study without a server (.{EXTENSION})")]
    Foreign,
    /// Its hash is wrong.
    #[error(
        "the file is damaged or not whole; get it again from the browser or the server that has it"
    )]
    Damaged,
    /// A record cannot be read.
    #[error(
        "record {0} of the file cannot be read; import it with the version of Coplay that made the site"
    )]
    Record(usize),
}

fn encode(record: &Record) -> Vec<u8> {
    let body = postcard::to_allocvec(record).expect("a record has no map of unknown length");
    let len = u32::try_from(body.len()).expect("a message is shorter");
    [&len.to_le_bytes()[..], &body].concat()
}

impl JournalStart {
    /// The record that begins a journal.
    pub fn encode(&self) -> Vec<u8> {
        encode(&Record::Start(self.clone()))
    }
}

impl JournalEntry {
    /// Its record.
    pub fn encode(&self) -> Vec<u8> {
        encode(&Record::Entry(self.clone()))
    }
}

/// Makes the file that is handed over of the records of journals.
pub fn seal(records: &[u8]) -> Vec<u8> {
    let mut file = [MAGIC, records].concat();
    let hash = sha256(&file);
    file.extend_from_slice(&hash);
    file
}

/// Reads a file of journals.
///
/// # Errors
/// [`JournalError`]
pub fn read_file(bytes: &[u8]) -> Result<Vec<Journal>, JournalError> {
    if !bytes.starts_with(MAGIC) {
        return Err(JournalError::Foreign);
    }
    let end = bytes.len().checked_sub(HASH);
    let end = end.filter(|end| *end >= MAGIC.len());
    let (whole, hash) = bytes.split_at(end.ok_or(JournalError::Damaged)?);
    if sha256(whole) != hash {
        return Err(JournalError::Damaged);
    }
    read_records(&whole[MAGIC.len()..])
}

/// Reads the records of journals.
///
/// # Errors
/// [`JournalError::Record`]
pub fn read_records(mut bytes: &[u8]) -> Result<Vec<Journal>, JournalError> {
    let mut journals: Vec<Journal> = Vec::new();
    let mut number = 0;
    while !bytes.is_empty() {
        let fault = JournalError::Record(number);
        let (record, rest) = take_record(bytes).ok_or(fault)?;
        match record {
            Record::Start(start) => journals.push(Journal {
                start,
                entries: Vec::new(),
            }),
            Record::Entry(entry) => journals.last_mut().ok_or(fault)?.entries.push(entry),
        }
        bytes = rest;
        number += 1;
    }
    Ok(journals)
}

fn take_record(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<4>()?;
    let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
    let (body, rest) = rest.split_at_checked(len).filter(|_| len <= MAX_RECORD)?;
    match postcard::take_from_bytes(body) {
        Ok((record, [])) => Some((record, rest)),
        _ => None,
    }
}
