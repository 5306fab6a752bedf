//! The server's part of a study, run from a journal: effects are carried out immediately and in order, in memory.
//!
//! Time passes only with events: everything that was due before is done first, each at its own time. So it does not
//! matter when the journal is run, and a browser that was closed for a night finds what a server would have done
//! meanwhile.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use archive::Episode;
use archive::work::{perform_work, repeat_ended};
use protocol::Era;
use protocol::control::{self, ClientMessage, Entry, ServerMessage};
use protocol::hash::{sha256, sha256_hex};
use server_core::arbiter::{Arbiter, ClientKey, ConnId, Effect, Event, Random, Restored, Work};
use server_core::language_model::{ModelFailure, ModelReply};
use server_core::limits::Limits;
use study::Study;
use study::recruitment::Provider;

use crate::bundle::{RunnableStudy, list_stored};
use crate::journal::{ConnNews, Journal, JournalEntry, JournalStart};
use crate::storage::{Kept, MemoryStorage};

/// The only client: limits for clients protect a server from strangers.
const CLIENT: ClientKey = ClientKey(0);

/// Work on a connection.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a message is sent at once")]
pub enum ConnEffect {
    /// Sends a message.
    Send(ConnId, ServerMessage),
    /// Closes the connection after the messages that were sent.
    Close(ConnId),
}

/// The server's part of a study.
pub struct OfflineServer {
    arbiter: Arbiter,
    storage: MemoryStorage,
    episodes: BTreeMap<u16, Option<Episode>>,
    outgoing: VecDeque<ConnEffect>,
    now_us: u64,
}

impl OfflineServer {
    /// Begins a journal. One that `keeps` has everything at the end for those who import it ([`Self::into_kept`]).
    pub fn new(runnable: RunnableStudy, start: &JournalStart, keeps: bool) -> Self {
        let storage = MemoryStorage::new(list_stored(&runnable.study), keeps);
        // A recruiter's link has an identifier, and nobody comes in without it.
        let provider = runnable.study.recruitment.provider;
        let is_open = matches!(provider, Provider::None | Provider::Kiosk);
        let arbiter = Arbiter::new(
            start.begun_us,
            Arc::new(runnable.study),
            Limits::default(),
            runnable.stages,
            is_open,
            make_random(start.secret),
            Restored::default(),
        );
        let mut server = Self {
            arbiter,
            storage,
            episodes: BTreeMap::new(),
            outgoing: VecDeque::new(),
            now_us: start.begun_us,
        };
        server.settle();
        server
    }

    /// Runs a whole journal.
    pub fn run(runnable: RunnableStudy, journal: &Journal, keeps: bool) -> Self {
        let mut server = Self::new(runnable, &journal.start, keeps);
        for entry in &journal.entries {
            server.handle_entry(entry);
        }
        server
    }

    /// The time of what happened last, microseconds since the Unix epoch.
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Returns when something is due by itself, microseconds since the Unix epoch, and why.
    pub fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        self.arbiter.poll_timeout()
    }

    /// The next work on a connection.
    pub fn poll_outgoing(&mut self) -> Option<ConnEffect> {
        self.outgoing.pop_front()
    }

    /// Does what is due until then.
    pub fn advance(&mut self, until_us: u64) {
        while let Some((due_us, _)) = self.poll_timeout().filter(|(at_us, _)| *at_us <= until_us) {
            // Something that stays due is done a microsecond later.
            self.now_us = due_us.max(self.now_us + u64::from(due_us <= self.now_us));
            self.arbiter.handle_timeout(self.now_us);
            self.settle();
        }
        self.now_us = self.now_us.max(until_us);
    }

    /// Something happens.
    pub fn handle_entry(&mut self, entry: &JournalEntry) {
        self.advance(entry.at_us);
        let conn = ConnId(entry.conn);
        let event = match &entry.news {
            ConnNews::Opened => Event::Connected(conn, CLIENT),
            ConnNews::Bytes(bytes) => match control::decode(bytes) {
                Ok(message) => Event::Message(conn, message),
                Err(_) => {
                    // As the socket of a server does: who sends no message is not listened to any longer.
                    self.handle_event(Event::Malformed(conn));
                    self.outgoing.push_back(ConnEffect::Close(conn));
                    Event::Closed(conn)
                }
            },
            ConnNews::Closed => Event::Closed(conn),
        };
        self.handle_event(event);
    }

    fn handle_event(&mut self, event: Event) {
        self.arbiter.handle_event(self.now_us, event);
        self.settle();
    }

    /// The changes and logs that were stored, for those who import them.
    pub fn into_kept(self) -> Kept {
        self.storage.into_kept()
    }

    /// Carries out all effects, and the effects that follow from them.
    fn settle(&mut self) {
        let mut results = VecDeque::new();
        loop {
            // No other page is there to which a datagram could go.
            while self.arbiter.poll_relay().is_some() {}
            if let Some(effect) = self.arbiter.poll_effect() {
                results.extend(self.carry_out(effect));
            } else if let Some(event) = results.pop_front() {
                self.arbiter.handle_event(self.now_us, event);
            } else {
                break;
            }
        }
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Send(conn, message) => self.outgoing.push_back(ConnEffect::Send(conn, message)),
            Effect::Close(conn) => self.outgoing.push_back(ConnEffect::Close(conn)),
            Effect::Store(write) => self.storage.write(self.now_us, write),
            Effect::Archive(era, work) => return Some(self.work(era, work)),
            // No study without a server has a language model.
            Effect::Ask(era, request) => {
                let result = Err(ModelFailure::NotAsked);
                let reply = ModelReply { result, retries: 0 };
                return Some(Event::Answered(era, request.number, reply));
            }
        }
        None
    }

    fn work(&mut self, era: Era, work: Work) -> Event {
        let Self {
            episodes, storage, ..
        } = self;
        let episode = episodes.entry(era.0).or_default();
        let event = perform_work(era, episode, work, |header| storage.create(header));
        repeat_ended(&event, episode);
        if matches!(event, Event::Ended(..)) {
            episodes.remove(&era.0);
        }
        event
    }
}

/// Random numbers from a secret: its hashes with a counter.
fn make_random(secret: [u8; 32]) -> Random {
    let (mut counter, mut block, mut used) = (0_u64, [0; 32], 32);
    Box::new(move |bytes: &mut [u8]| {
        for byte in bytes {
            if used == block.len() {
                block = sha256(&[&secret[..], &counter.to_le_bytes()].concat());
                (counter, used) = (counter + 1, 0);
            }
            *byte = block[used];
            used += 1;
        }
    })
}

/// True if a page's first message is from an unknown person, who begins a journal.
pub fn begins_anew(study: &Study, message: &[u8]) -> bool {
    match read_entry(message) {
        Some(Entry::Open) => true,
        Some(Entry::Sent(parameters)) => find_identifier(study, &parameters).is_none(),
        _ => false,
    }
}

/// The SHA-256 of the recruiter's identifier in a page's first message, lower-case hex: each identifier has a journal.
pub fn name_person(study: &Study, message: &[u8]) -> Option<String> {
    match read_entry(message) {
        Some(Entry::Sent(parameters)) => {
            let identifier = find_identifier(study, &parameters)?;
            Some(sha256_hex(identifier.as_bytes()))
        }
        _ => None,
    }
}

/// True if it is from somebody who has a session.
pub fn comes_back(message: &[u8]) -> bool {
    matches!(read_entry(message), Some(Entry::Resume { .. }))
}

fn read_entry(message: &[u8]) -> Option<Entry> {
    match control::decode(message) {
        Ok(ClientMessage::Hello { entry, .. }) => Some(entry),
        _ => None,
    }
}

/// The recruiter's identifier among the parameters of a link, as the arbiter reads it.
fn find_identifier(study: &Study, parameters: &[(String, String)]) -> Option<String> {
    let recruitment = &study.recruitment;
    let wanted = match recruitment.provider {
        Provider::Prolific => "PROLIFIC_PID",
        Provider::Parameters => recruitment.parameters.get("participant")?,
        Provider::None => "label",
        Provider::Mturk | Provider::Kiosk => return None,
    };
    let mut values = parameters.iter().rev().filter(|(name, _)| name == wanted);
    let given = values.find(|(_, value)| !value.trim().is_empty());
    recruitment.read_identifier(&given?.1)
}
