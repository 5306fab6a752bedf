//! WebRTC to the other people of an episode: one connection with one unreliable data channel to each seat.
//!
//! Of two seats, the lower one offers; the other one may call for an offer. Signals travel over the session socket.
//! Each names its connection by a number that the offering page draws, so that signals of an earlier connection, or of
//! a page that is gone, are dropped. Whatever a signal contains, it fails quietly: play then continues through the
//! server. This module must not know what the datagrams mean.

mod connection;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::num::{NonZeroU32, NonZeroU64};
use std::rc::Rc;

use protocol::Seat;
use protocol::control::{ClientMessage, IceServer};
use protocol::signal::{self, Signal};
use wasm_bindgen::JsValue;
use web_sys::{RtcConfiguration, RtcIceServer, RtcIceTransportPolicy};

use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};
use connection::Connection;

/// The most news that wait to be taken; datagrams beyond that are lost, as on the way.
const MAX_WAITING: usize = 4_096;

/// Tells the connections of this page apart: two may have the same number on the way, if an offer was repeated.
type Serial = NonZeroU64;

/// News of the connection with a seat.
#[derive(Debug)]
pub(crate) enum PeerNews {
    /// The other side has begun to connect.
    Begun,
    /// The channel opened.
    Opened,
    /// The connection failed, or the other side closed or replaced it.
    Closed,
    /// A datagram came.
    Datagram(Vec<u8>),
}

/// The queue of news and signals of all connections; the page is woken for each.
#[derive(Clone)]
struct PeerQueue {
    inbox: Inbox,
    waiting: Rc<RefCell<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    /// The news in their order, with their connection; news without a connection stay true whatever happens to
    /// connections.
    news: VecDeque<(Seat, Option<Serial>, PeerNews)>,
    signals: VecDeque<(Seat, Option<Serial>, Signal)>,
}

impl PeerQueue {
    fn put(&self, seat: Seat, connection: Option<Serial>, news: PeerNews) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.news.len() < MAX_WAITING || !matches!(news, PeerNews::Datagram(_)) {
            waiting.news.push_back((seat, connection, news));
        }
        drop(waiting);
        self.inbox.send(Input::Tick);
    }

    fn signal(&self, seat: Seat, connection: Option<Serial>, signal: Signal) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.signals.push_back((seat, connection, signal));
        drop(waiting);
        self.inbox.send(Input::Tick);
    }
}

/// The connections of one page in one episode.
pub(crate) struct Peers {
    own: Seat,
    configuration: RtcConfiguration,
    queue: PeerQueue,
    /// At most one for each seat.
    connections: Vec<Connection>,
    /// Of the next connection.
    next: Serial,
}

impl Peers {
    /// No connection yet. With `relay_only` no peer learns the address of this page.
    pub(crate) fn new(inbox: Inbox, own: Seat, ice: &[IceServer], relay_only: bool) -> Self {
        let configuration = RtcConfiguration::new();
        let servers: js_sys::Array = ice.iter().map(ice_server).collect();
        configuration.set_ice_servers(&servers);
        if relay_only {
            configuration.set_ice_transport_policy(RtcIceTransportPolicy::Relay);
        }
        Self {
            own,
            configuration,
            queue: PeerQueue {
                inbox,
                waiting: Rc::default(),
            },
            connections: Vec::new(),
            next: Serial::MIN,
        }
    }

    /// Connects to a seat, and replaces an existing connection: by an offer, or by a call for one.
    pub(crate) fn connect(&mut self, to: Seat) {
        self.close(to);
        if self.own < to {
            self.offer(to);
        } else {
            self.queue.signal(to, None, Signal::Call);
        }
    }

    /// Ends the connection with a seat without news.
    pub(crate) fn close(&mut self, to: Seat) {
        self.connections.retain(|connection| connection.to != to);
    }

    /// Takes a signal from a peer.
    pub(crate) fn handle_signal(&mut self, from: Seat, data: &str) {
        match signal::decode(data) {
            Ok(Signal::Call) if self.own < from => self.called(from),
            Ok(Signal::Offer { connection, sdp }) if from < self.own => {
                self.offered(from, connection, sdp);
            }
            Ok(Signal::Answer { connection, sdp }) if self.own < from => {
                if let Some(connection) = self.find(from, connection) {
                    connection.handle_answer(&sdp);
                }
            }
            Ok(Signal::Candidate {
                connection,
                candidate,
                mid,
                line,
            }) => {
                if let Some(connection) = self.find(from, connection) {
                    connection.handle_candidate(&candidate, mid.as_deref(), line);
                }
            }
            _ => {}
        }
    }

    /// Returns the next news; news of connections that are gone are left out.
    pub(crate) fn poll_news(&mut self) -> Option<(Seat, PeerNews)> {
        loop {
            let (seat, connection, news) = self.queue.waiting.borrow_mut().news.pop_front()?;
            let is_current = connection.is_none_or(|serial| self.is_there(serial));
            if is_current && connection.is_some() && matches!(news, PeerNews::Closed) {
                self.close(seat);
            }
            if is_current {
                return Some((seat, news));
            }
        }
    }

    /// Returns the next signal to send; signals of connections that are gone are left out.
    pub(crate) fn poll_signal(&mut self) -> Option<ClientMessage> {
        loop {
            let next = self.queue.waiting.borrow_mut().signals.pop_front();
            let (to, connection, signal) = next?;
            if connection.is_none_or(|serial| self.is_there(serial)) {
                let data = signal::encode(&signal);
                return Some(ClientMessage::Signal { to, data });
            }
        }
    }

    /// Sends a datagram; it may be lost.
    pub(crate) fn send(&self, to: Seat, bytes: &[u8]) {
        if let Some(connection) = self.connections.iter().find(|each| each.to == to) {
            connection.send(bytes);
        }
    }

    fn is_there(&self, serial: Serial) -> bool {
        self.connections.iter().any(|each| each.serial == serial)
    }

    fn find(&self, seat: Seat, number: NonZeroU32) -> Option<&Connection> {
        let mut connections = self.connections.iter();
        connections.find(|each| each.to == seat && each.number == number)
    }

    fn offer(&mut self, to: Seat) {
        // Numbers only distinguish connections; nobody gains by guessing one.
        let number = (js_sys::Math::random() * f64::from(u32::MAX)) as u32;
        let number = NonZeroU32::MIN.saturating_add(number);
        if let Some(connection) = self.open(to, number) {
            connection.offer();
        }
    }

    /// Handles that the other side has no connection. An offer that it may have missed is sent again; an offer that it
    /// must have answered belonged to an earlier page.
    fn called(&mut self, from: Seat) {
        match self.connections.iter().find(|each| each.to == from) {
            Some(connection) if connection.is_unanswered() => connection.repeat_offer(),
            _ => {
                self.offer(from);
                self.queue.put(from, None, PeerNews::Begun);
            }
        }
    }

    fn offered(&mut self, from: Seat, number: NonZeroU32, sdp: String) {
        if self.find(from, number).is_some() {
            return;
        }
        if let Some(connection) = self.open(from, number) {
            connection.answer(sdp);
            self.queue.put(from, None, PeerNews::Begun);
        }
    }

    /// Opens a new connection, in place of the one before; `None` if the browser refuses.
    fn open(&mut self, to: Seat, number: NonZeroU32) -> Option<&Connection> {
        let (serial, queue) = (self.next, self.queue.clone());
        self.next = serial.saturating_add(1);
        let connection = Connection::new(to, number, serial, &self.configuration, queue);
        if connection.is_err() || self.connections.iter().any(|each| each.to == to) {
            self.queue.put(to, None, PeerNews::Closed);
        }
        self.close(to);
        self.connections.push(connection.ok()?);
        self.connections.last()
    }
}

/// True if this browser has WebRTC at all.
pub(crate) fn is_supported() -> bool {
    let class = js_sys::Reflect::get(&dom::window(), &JsValue::from("RTCPeerConnection"));
    class.is_ok_and(|class| class.is_function())
}

fn ice_server(server: &IceServer) -> RtcIceServer {
    let entry = RtcIceServer::new();
    let urls: js_sys::Array = server.urls.iter().map(JsValue::from).collect();
    entry.set_urls(&urls);
    if let Some(username) = &server.username {
        entry.set_username(username);
    }
    if let Some(credential) = &server.credential {
        entry.set_credential(credential);
    }
    entry
}
