//! Episodes that the tests of verification and of tables read.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use archive::Episode;
use archive::fixtures::{PERSON, PageScript, play_episode};
use protocol::log::{Header, LogWriter, Record};
use protocol::{Life, Seat};

/// A log with these records.
pub(crate) fn encode(header: &Header, records: &[Record]) -> Vec<u8> {
    let (mut writer, mut bytes) = LogWriter::begin(header).unwrap();
    for record in records {
        writer.append(record, &mut bytes).unwrap();
    }
    bytes
}

/// The rows of all records, as the pages of the people of an episode have said and signed them.
pub(crate) fn sign_rows(header: &Header, records: &[Record]) -> Vec<Record> {
    let rows = records.iter().filter_map(|record| match record {
        Record::Actions { rows, .. } => Some(rows.as_slice()),
        _ => None,
    });
    let (rows, seats) = (rows.collect::<Vec<_>>().concat(), header.controllers.len());
    let people = (0..).map(Seat).zip(&header.controllers);
    let people = people.filter(|(_, controller)| **controller == PERSON);
    let said = people.map(|(seat, _)| {
        let inputs = rows.iter().skip(seat.index()).step_by(seats).copied();
        let block = PageScript::new(header, seat).sign_block(0, inputs.collect());
        let (life, block) = (Life(0), block.unwrap());
        Record::Inputs { seat, life, block }
    });
    said.collect()
}

/// Lets the pages of all people send their inputs for the ticks from `from` up to `to`.
pub(crate) fn say(episode: &mut Episode, from: u32, to: u32) {
    let all = play_episode(episode.header());
    let controllers = episode.header().controllers.clone();
    for (seat, controller) in (0..).map(Seat).zip(controllers) {
        if controller == PERSON {
            let upload = PageScript::resume(episode, seat).upload_part(&all, from, to);
            episode.append_upload(seat, &upload).unwrap();
        }
    }
}
