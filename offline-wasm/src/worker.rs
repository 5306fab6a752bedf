//! The handle of the Worker.

use std::collections::VecDeque;

use offline::bundle::{RunnableStudy, StudyBundle};
use offline::journal::{ConnNews, JournalEntry, JournalStart, read_records, seal};
use offline::{ConnEffect, OfflineServer, begins_anew, comes_back, name_person};
use protocol::control::{self, ServerMessage};
use wasm_bindgen::prelude::*;

/// The server's part of a study, and the journal that it runs from.
#[wasm_bindgen]
pub struct OfflineWorker {
    runnable: RunnableStudy,
    program: String,
    server: Option<OfflineServer>,
    /// The entries that are not stored yet.
    pending: VecDeque<JournalEntry>,
    conn: u64,
    /// By how much the journal is ahead of the browser's clock, which was set back, microseconds.
    ahead_us: u64,
    outgoing: VecDeque<Vec<u8>>,
    is_closed: bool,
}

#[wasm_bindgen]
impl OfflineWorker {
    /// Reads the study of a site.
    ///
    /// # Errors
    /// A sentence, if it cannot be read.
    #[wasm_bindgen(constructor)]
    pub fn new(bundle: &[u8]) -> Result<OfflineWorker, JsValue> {
        let read = StudyBundle::decode(bundle).and_then(|bundle| {
            let program = bundle.program.clone();
            Ok((bundle.read_study()?, program))
        });
        let (runnable, program) = read.map_err(|error| error.to_string())?;
        Ok(Self {
            runnable,
            program,
            server: None,
            pending: VecDeque::new(),
            conn: 0,
            ahead_us: 0,
            outgoing: VecDeque::new(),
            is_closed: false,
        })
    }

    /// The study and the program: only journals of the same ones can be continued.
    pub fn version(&self) -> String {
        format!("{} {}", self.program, self.runnable.study.hash)
    }

    /// True if a page's first message is from a new person.
    pub fn is_newcomer(&self, message: &[u8]) -> bool {
        begins_anew(&self.runnable.study, message)
    }

    /// Returns the hash of the recruiter's identifier in the message, which names its journal; `None` without an
    /// identifier.
    pub fn name_person(&self, message: &[u8]) -> Option<String> {
        name_person(&self.runnable.study, message)
    }

    /// Begins a journal with a secret of 32 bytes, and returns its first record.
    ///
    /// # Errors
    /// A sentence, if the secret is too short.
    pub fn begin(&mut self, now_us: f64, secret: &[u8]) -> Result<Vec<u8>, JsValue> {
        let secret = *secret.first_chunk().ok_or("a secret has 32 bytes")?;
        let study = &self.runnable.study;
        let start = JournalStart {
            program: self.program.clone(),
            study: study.id.clone(),
            study_version: study.version.clone(),
            study_hash: study.hash.clone(),
            secret,
            begun_us: now_us as u64,
        };
        self.server = Some(OfflineServer::new(self.runnable.clone(), &start, false));
        (self.conn, self.ahead_us) = (0, 0);
        self.forget_pending();
        Ok(start.encode())
    }

    /// Continues a journal from its records, and returns another one if the end of the last page is not among them;
    /// otherwise the result is empty.
    ///
    /// # Errors
    /// A sentence, if they cannot be read.
    pub fn resume(&mut self, now_us: f64, records: &[u8]) -> Result<Vec<u8>, JsValue> {
        let journals = read_records(records).map_err(|error| error.to_string())?;
        let journal = journals.first().ok_or("the journal is empty")?;
        let mut server = OfflineServer::run(self.runnable.clone(), journal, false);
        let end = journal.find_lost_end();
        if let Some(end) = &end {
            server.handle_entry(end);
        }
        // The pages to which this went are gone.
        while server.poll_outgoing().is_some() {}
        self.conn = journal
            .entries
            .iter()
            .map(|entry| entry.conn)
            .max()
            .unwrap_or(0);
        self.ahead_us = server.now_us().saturating_sub(now_us as u64);
        self.server = Some(server);
        self.forget_pending();
        Ok(end.map_or(Vec::new(), |end| end.encode()))
    }

    /// Handles that a page connects; returns the record of it.
    pub fn open(&mut self, now_us: f64) -> Vec<u8> {
        self.conn += 1;
        self.is_closed = false;
        self.note(now_us, ConnNews::Opened)
    }

    /// Handles a message of the page; returns the record of it.
    pub fn receive(&mut self, now_us: f64, message: Vec<u8>) -> Vec<u8> {
        self.note(now_us, ConnNews::of_message(message))
    }

    /// Handles that the page is gone; returns the record of it.
    pub fn close(&mut self, now_us: f64) -> Vec<u8> {
        self.note(now_us, ConnNews::Closed)
    }

    /// Takes note that the first `count` returned records are stored: what they say happens now.
    pub fn apply(&mut self, count: usize) {
        let Some(server) = &mut self.server else {
            return;
        };
        for entry in self.pending.drain(..count.min(self.pending.len())) {
            server.handle_entry(&entry);
        }
        self.take_outgoing();
    }

    /// Does what is due, unless earlier records are not stored yet.
    pub fn advance(&mut self, now_us: f64) {
        if let Some(server) = self.server.as_mut().filter(|_| self.pending.is_empty()) {
            server.advance(now_us as u64 + self.ahead_us);
            self.take_outgoing();
        }
    }

    /// Returns the milliseconds until something is due; `None` if nothing is.
    pub fn due_in_ms(&self, now_us: f64) -> Option<f64> {
        let (due_us, _) = self.server.as_ref()?.poll_timeout()?;
        let now_us = now_us + self.ahead_us as f64;
        Some(((due_us as f64 - now_us) / 1_000.0).ceil().max(1.0))
    }

    /// The next message for the page.
    pub fn poll_message(&mut self) -> Option<Vec<u8>> {
        self.outgoing.pop_front()
    }

    /// True if the page's connection is closed after the messages so far.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Forgets all that is under way: it belongs to the journal before.
    fn forget_pending(&mut self) {
        self.pending.clear();
        self.outgoing.clear();
        self.is_closed = false;
    }

    fn note(&mut self, now_us: f64, news: ConnNews) -> Vec<u8> {
        let before_us = match self.pending.back() {
            Some(entry) => entry.at_us,
            None => self.server.as_ref().map_or(0, OfflineServer::now_us),
        };
        let entry = JournalEntry {
            at_us: before_us.max(now_us as u64 + self.ahead_us),
            conn: self.conn,
            news,
        };
        let record = entry.encode();
        self.pending.push_back(entry);
        record
    }

    fn take_outgoing(&mut self) {
        let Some(server) = &mut self.server else {
            return;
        };
        while let Some(outgoing) = server.poll_outgoing() {
            match outgoing {
                ConnEffect::Send(conn, message) if conn.0 == self.conn => {
                    self.outgoing.push_back(control::encode(&message));
                }
                ConnEffect::Close(conn) if conn.0 == self.conn => self.is_closed = true,
                ConnEffect::Send(..) | ConnEffect::Close(_) => {}
            }
        }
    }
}

/// The message for a page in whose place another window has the study.
#[wasm_bindgen]
pub fn make_superseded() -> Vec<u8> {
    control::encode(&ServerMessage::Superseded)
}

/// True if a page's first message is from somebody who has a session.
#[wasm_bindgen]
pub fn is_returning(message: &[u8]) -> bool {
    comes_back(message)
}

/// The file that is handed over, of the records of journals.
#[wasm_bindgen]
pub fn seal_records(records: &[u8]) -> Vec<u8> {
    seal(records)
}
