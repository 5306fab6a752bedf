//! Episodes that the tests of verification and of tables read.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use archive::Episode;
use archive::fixtures::{PERSON, PageScript, played};
use protocol::Seat;
use protocol::log::{Header, LogWriter, Record};

/// A log with these records.
pub(crate) fn encode(header: &Header, records: &[Record]) -> Vec<u8> {
    let (mut writer, mut bytes) = LogWriter::begin(header).unwrap();
    for record in records {
        writer.append(record, &mut bytes).unwrap();
    }
    bytes
}

/// The pages of all people say their inputs for the ticks from `from` up to `to`.
pub(crate) fn say(episode: &mut Episode, from: u32, to: u32) {
    let all = played(episode.header());
    let controllers = episode.header().controllers.clone();
    for (seat, controller) in (0..).map(Seat).zip(controllers) {
        if controller == PERSON {
            let upload = PageScript::resume(episode, seat).part(&all, from, to);
            episode.append_upload(seat, &upload).unwrap();
        }
    }
}
