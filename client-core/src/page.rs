//! The page as one state machine: it handles its inputs one after the other, never nested.
//!
//! The server owns the participant's position in the study; this module follows it, and gives an episode what it needs.

mod buttons;
mod episode;
mod stages;
mod writing;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use peer::clock::ServerClock;
use peer::{Now, Peer, World};
use protocol::chain::SigningKey;
use protocol::control::{
    self, Ask, ClientMessage, Draft, Refusal, ServerMessage, StageView, Waiting,
};
use protocol::hash::sha256;
use protocol::{DecodeError, Seat};

use crate::chat::Chat;
use crate::connection::{Connection, Due, SocketId};
use crate::drafts::Drafts;
use crate::effects::{PageEffect, PageEvent, StopReason};
use crate::entry::Credentials;
use crate::exchange::DeskExchange;
use crate::stage::{Before, ShownStage, Stages};
use buttons::Buttons;
use writing::Writing;

/// Pause between two signs of life of somebody who waits in a lobby, microseconds.
const ALIVE_US: u64 = 5_000_000;

/// A participant's page; the documentation of the crate says how to use it.
pub struct Page<W: World> {
    connection: Connection,
    key: SigningKey,
    credentials: Credentials,
    clock: ServerClock,
    stages: Stages,
    drafts: Drafts,
    writing: Writing,
    exchange: DeskExchange,
    buttons: Buttons,
    peer: Option<Peer<W>>,
    is_hidden: bool,
    /// True if the person has left, and the server has not said so yet.
    has_left: bool,
    /// True if the server asks the waiting person a question.
    is_asked: bool,
    /// The last reported sign of life, or the beginning of the wait.
    alive_us: u64,
    effects: VecDeque<PageEffect>,
    events: VecDeque<PageEvent<W>>,
}

impl<W: World> Page<W> {
    /// Creates a page that opens now and must connect immediately. From the `secret`, which nobody must be able to
    /// guess, it makes the key that signs the inputs of its person.
    pub fn new(now_us: u64, credentials: Credentials, secret: [u8; 32]) -> Self {
        let hash = sha256(&secret);
        let seed = hash.first_chunk().expect("a hash has 32 bytes");
        Self {
            connection: Connection::new(now_us, u64::from_le_bytes(*seed)),
            key: SigningKey::from_bytes(&secret),
            credentials,
            clock: ServerClock::default(),
            stages: Stages::default(),
            drafts: Drafts::default(),
            writing: Writing::default(),
            exchange: DeskExchange::default(),
            buttons: Buttons::default(),
            peer: None,
            is_hidden: false,
            has_left: false,
            is_asked: false,
            alive_us: now_us,
            effects: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The next work for the shell.
    pub fn poll_effect(&mut self) -> Option<PageEffect> {
        self.effects.pop_front()
    }

    /// The next news for the shell.
    pub fn poll_event(&mut self) -> Option<PageEvent<W>> {
        self.events.pop_front()
    }

    /// The time of the next [`Self::handle_timeout`] at the latest, page clock, microseconds, and its reason; `None` if
    /// nothing happens by itself any more.
    pub fn poll_timeout(&mut self, now_us: u64) -> Option<(u64, &'static str)> {
        let now = self.now(now_us);
        let is_welcomed = self.connection.is_welcomed();
        let clock_us = self.clock.next_question_us();
        let chat = self.writing.chat().and_then(Chat::poll_timeout);
        let drafts = self.drafts.poll_timeout();
        let episode = self.peer.as_ref();
        let timeouts = [
            self.connection.poll_timeout(),
            Some((clock_us, "clock")).filter(|_| is_welcomed),
            chat.filter(|_| is_welcomed),
            self.exchange.poll_timeout().filter(|_| is_welcomed),
            drafts.filter(|_| is_welcomed && !self.stages.is_done()),
            self.stages.poll_timeout(),
            episode.map(|peer| peer.poll_timeout(now)),
        ];
        timeouts.into_iter().flatten().min()
    }

    /// This moment on both clocks of the page.
    pub fn now(&mut self, now_us: u64) -> Now {
        Now {
            page_us: now_us,
            server_us: self.clock.server_us(now_us),
            is_set: self.clock.is_set(),
        }
    }

    /// The round trip to the server of the fastest recent answer, microseconds; 0 for none.
    pub fn server_rtt_us(&self) -> u64 {
        self.clock.rtt_us()
    }

    /// True if the server has let the page in over the connection that there is.
    pub fn is_welcomed(&self) -> bool {
        self.connection.is_welcomed()
    }

    /// True if messages to the server go out now.
    pub fn is_open(&self) -> bool {
        self.connection.is_open()
    }

    /// True if the page has stopped to connect.
    pub fn is_stopped(&self) -> bool {
        self.connection.is_stopped()
    }

    /// The credentials of this page.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The stage that is shown.
    pub fn stage(&self) -> Option<&ShownStage> {
        self.stages.shown_stage()
    }

    /// The time since which it is shown, page clock, microseconds.
    pub fn stage_since_us(&self) -> u64 {
        self.stages.since_us()
    }

    /// True if the last page of the study is shown.
    pub fn is_at_end(&self) -> bool {
        self.stages.is_at_end()
    }

    /// True if the person is done with the stage, and the server has not yet answered with another one.
    pub fn is_done(&self) -> bool {
        self.stages.is_done()
    }

    /// True if everything that was typed is stored by the server.
    pub fn is_stored(&self) -> bool {
        self.drafts.is_kept()
    }

    /// The episode on the page.
    pub fn peer(&self) -> Option<&Peer<W>> {
        self.peer.as_ref()
    }

    /// The episode on the page, for reports that ask its world; [`Self::with_peer`] is for everything else.
    pub fn peer_mut(&mut self) -> Option<&mut Peer<W>> {
        self.peer.as_mut()
    }

    /// True if the server's verdict on the episode is there.
    pub fn is_judged(&self) -> bool {
        self.stages.is_judged()
    }

    /// The group's chat, once the server has sent it.
    pub fn chat(&self) -> Option<&Chat> {
        self.writing.chat()
    }

    /// The messages between the person and the researchers.
    pub fn exchange(&self) -> &DeskExchange {
        &self.exchange
    }

    /// Calls `action` with the messages between the person and the researchers, and sends what follows.
    pub fn with_exchange(&mut self, now_us: u64, action: impl FnOnce(&mut DeskExchange)) {
        action(&mut self.exchange);
        self.settle(now_us);
    }

    /// The unsent texts to the group, as the server last got them.
    pub fn unsent_draft(&self) -> &Draft {
        self.writing.unsent_draft()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now_us: u64) {
        match self.connection.handle_timeout(now_us) {
            Some(Due::Open(socket)) => self.effects.push_back(PageEffect::OpenSocket(socket)),
            Some(Due::GiveUp) => self.lose_connection(now_us),
            None => {}
        }
        if self.connection.is_welcomed() && self.clock.poll_question(now_us) {
            self.send(ClientMessage::Clock { sent_us: now_us });
        }
        self.call_peer(now_us, Peer::handle_timeout);
        if (self.stages.poll_timeout()).is_some_and(|(due_us, _)| due_us <= now_us) {
            self.go_on(now_us);
        }
        self.settle(now_us);
    }

    /// A connection is open.
    pub fn handle_socket_opened(&mut self, now_us: u64, socket: SocketId) {
        if !self.connection.is_current(socket) || !self.connection.handle_opened(now_us) {
            return;
        }
        let playing = self.peer.as_ref().and_then(Peer::life_in_play);
        let key = self.key.verifying_key().to_bytes();
        self.send(self.credentials.make_hello(playing, key));
        self.settle(now_us);
    }

    /// A connection is gone, or did not come about.
    pub fn handle_socket_closed(&mut self, now_us: u64, socket: SocketId) {
        if self.connection.is_current(socket) {
            self.lose_connection(now_us);
            self.settle(now_us);
        }
    }

    /// Bytes came over a connection.
    pub fn handle_socket_bytes(&mut self, now_us: u64, socket: SocketId, bytes: &[u8]) {
        if !self.connection.is_current(socket) {
            return;
        }
        match control::decode(bytes) {
            Ok(message) => self.handle_socket_message(now_us, socket, message),
            Err(DecodeError::Version { .. }) => self.handle_refusal(now_us, Refusal::OldPage),
            Err(error) => {
                let error = error.to_string();
                self.report_trouble(&format!("a message that cannot be read: {error}"));
                self.events.push_back(PageEvent::Garbled(error));
            }
        }
    }

    /// A message of the server came over a connection.
    pub fn handle_socket_message(&mut self, now_us: u64, socket: SocketId, message: ServerMessage) {
        if self.connection.is_current(socket) {
            self.handle_message(now_us, message);
            self.settle(now_us);
        }
    }

    /// Sends a message of the shell itself, such as a signal of WebRTC or an answer to a question of the lobby; it is
    /// lost if there is no connection.
    pub fn send(&mut self, message: ClientMessage) {
        if self.connection.is_open() {
            self.effects.push_back(PageEffect::Send(message));
        }
    }

    /// Tells the server that something failed.
    pub fn report_trouble(&mut self, message: &str) {
        let message = message.to_owned();
        self.send(ClientMessage::Trouble { message });
    }

    /// The page went out of sight or came back.
    pub fn handle_hidden(&mut self, now_us: u64, is_hidden: bool) {
        self.is_hidden = is_hidden;
        match is_hidden {
            true => self.flush_drafts(now_us),
            false => self.handle_alive(now_us),
        }
        self.call_peer(now_us, |peer, now| peer.handle_hidden(now, is_hidden));
        if is_hidden {
            // A page out of sight may be ended without another word.
            self.call_peer(now_us, Peer::flush);
        }
        self.settle(now_us);
    }

    /// The page may be about to go. It may also stay, or come back.
    pub fn handle_leaving(&mut self, now_us: u64) {
        self.call_peer(now_us, Peer::flush);
        self.flush_drafts(now_us);
        self.send(ClientMessage::Unloading);
    }

    /// Handles that the person leaves the study. The played inputs are sent first; after a lost connection, the message
    /// is sent again.
    pub fn handle_leave(&mut self, now_us: u64) {
        self.has_left = true;
        self.call_peer(now_us, Peer::flush);
        self.send(ClientMessage::Leave);
    }

    /// Handles any action of the person: the server learns that somebody who waits in a lobby is there.
    pub fn handle_alive(&mut self, now_us: u64) {
        let stage = self.stages.shown_stage();
        let waits = stage.is_some_and(|stage| matches!(stage.view, StageView::Lobby { .. }));
        // A question is answered by its button, not by what happens on the way to it.
        if waits && self.peer.is_none() && !self.is_asked && now_us >= self.alive_us + ALIVE_US {
            self.alive_us = now_us;
            self.send(ClientMessage::Here);
        }
    }

    /// Closes the connection until [`Self::connect_again`]: the shell offers something else than to take part here.
    pub fn disconnect(&mut self) {
        self.connection.stop();
        self.effects.push_back(PageEffect::CloseSocket);
    }

    /// Connects again after [`Self::disconnect`].
    pub fn connect_again(&mut self, now_us: u64) {
        self.connection.start(now_us);
    }

    fn lose_connection(&mut self, now_us: u64) {
        self.stages.handle_lost();
        self.drafts.handle_lost();
        self.exchange.handle_lost();
        self.forget_press();
        self.connection.handle_lost(now_us);
        self.effects.push_back(PageEffect::CloseSocket);
        self.call_peer(now_us, |peer, now| peer.handle_connection(now, false));
        let failures = self.connection.failed_attempts();
        self.events
            .push_back(PageEvent::ConnectionLost { failures });
    }

    /// Nothing more will happen on this page.
    fn stop(&mut self, why: StopReason) {
        self.disconnect();
        self.drop_peer();
        self.stages.handle_episode_left();
        self.events.push_back(PageEvent::Stopped(why));
    }

    fn handle_message(&mut self, now_us: u64, message: ServerMessage) {
        match message {
            ServerMessage::Welcome {
                session,
                title,
                language,
                languages,
                contact,
                modules,
            } => {
                self.events.push_back(PageEvent::Welcomed {
                    title,
                    language,
                    languages,
                    contact,
                    modules,
                });
                self.handle_welcome(now_us, session);
            }
            ServerMessage::Refused { why } => self.handle_refusal(now_us, why),
            ServerMessage::Preview { title } => self.stop(StopReason::Preview { title }),
            // The last page has nothing more to lose.
            ServerMessage::Superseded if self.is_at_end() => self.disconnect(),
            ServerMessage::Superseded => self.stop(StopReason::Superseded),
            ServerMessage::Clock { sent_us, server_us } => {
                self.clock.handle_answer(sent_us, server_us, now_us);
                self.events.push_back(PageEvent::ClockAnswered { sent_us });
            }
            ServerMessage::Stage {
                index,
                count,
                id,
                view,
                draft,
                again,
            } => {
                let stage = ShownStage {
                    index,
                    count,
                    id,
                    view,
                };
                self.handle_stage(now_us, stage, Before { draft, again });
            }
            message if self.exchange.handle_message(now_us, &message) => {}
            // The outcome of the episode before stays on the page until the person continues.
            message => {
                if let Some(message) = self.stages.hold_back(message) {
                    self.handle_stage_message(now_us, message);
                }
            }
        }
    }

    /// A message about the stage that is shown.
    fn handle_stage_message(&mut self, now_us: u64, message: ServerMessage) {
        match message {
            ServerMessage::DraftKept { number } => self.drafts.handle_kept(number),
            ServerMessage::Waiting(waiting) => self.handle_waiting(waiting),
            ServerMessage::Missing {
                absent,
                of,
                left_ms,
            } => self.events.push_back(PageEvent::Missing {
                absent,
                of,
                left_ms,
            }),
            ServerMessage::Match(plan) => self.handle_match(now_us, plan),
            message if self.writing.handle_message(now_us, &message) => {}
            message => self.handle_episode_message(now_us, message),
        }
    }

    fn handle_welcome(&mut self, now_us: u64, token: String) {
        let remembered = PageEffect::RememberSession(Some(token.clone()));
        self.effects.push_back(remembered);
        self.credentials.handle_welcome(token);
        self.connection.handle_welcome();
        if self.has_left {
            self.send(ClientMessage::Leave);
        }
        self.call_peer(now_us, |peer, now| peer.handle_connection(now, true));
    }

    fn handle_refusal(&mut self, now_us: u64, why: Refusal) {
        match why {
            // The server comes back; the page keeps trying.
            Refusal::Stopping => self.events.push_back(PageEvent::ServerStopping),
            Refusal::UnknownLink => {
                let is_left = self.credentials.forget_refused();
                let session = self.credentials.session.clone();
                self.effects.push_back(PageEffect::RememberSession(session));
                match is_left {
                    true => self.lose_connection(now_us),
                    false => self.stop(StopReason::Refused(why)),
                }
            }
            Refusal::OldPage | Refusal::Malformed | Refusal::Full | Refusal::Incomplete => {
                self.stop(StopReason::Refused(why));
            }
        }
    }

    fn handle_waiting(&mut self, waiting: Waiting) {
        self.is_asked = waiting.ask != Ask::Nothing;
        self.events.push_back(PageEvent::Waiting(waiting));
    }

    /// Sends everything that is due by now.
    fn settle(&mut self, now_us: u64) {
        self.keep_unsent(now_us);
        if !self.connection.is_welcomed() {
            return;
        }
        if let Some(message) = self.writing.poll_message(now_us) {
            self.send(message);
        }
        while let Some(message) = self.exchange.poll(now_us) {
            self.send(message);
        }
        if !self.stages.is_done()
            && let Some((number, draft)) = self.drafts.poll_draft(now_us)
        {
            self.send_draft(number, draft);
        }
    }

    /// A datagram came over the data channel from a seat.
    pub fn handle_datagram(&mut self, now_us: u64, from: Seat, bytes: &[u8]) {
        self.call_peer(now_us, |peer, now| peer.handle_datagram(now, from, bytes));
    }

    /// The page of a seat has begun to build a data channel.
    pub fn handle_channel_begun(&mut self, now_us: u64, seat: Seat) {
        self.call_peer(now_us, |peer, now| peer.handle_channel_begun(now, seat));
    }

    /// The data channel to a seat opened, or closed, or will not open.
    pub fn handle_channel(&mut self, now_us: u64, seat: Seat, is_open: bool) {
        self.call_peer(now_us, |peer, now| peer.handle_channel(now, seat, is_open));
    }
}
