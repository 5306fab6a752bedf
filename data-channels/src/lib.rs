//! Data channels to the other pages of an episode, for participants without a browser: the `webrtc` crate, which others
//! wrote, replaces the browser's own WebRTC.
//!
//! One connection with one unreliable data channel goes to each seat. Of two seats, the lower one offers; the other one
//! may call for an offer. Signals are those of pages (`client-wasm/src/net/peers.rs`): each names its connection by a
//! number that the offering side draws, so that signals of an earlier connection are dropped. A signal that cannot be
//! used fails quietly: play then continues through the server.
//!
//! This crate must not know what the datagrams mean, nor of studies and servers.

#![forbid(unsafe_code)]

mod connection;

use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::task::{Context, Poll};

use protocol::Seat;
use protocol::control::IceServer;
use protocol::signal::{self, Signal};
use tokio::sync::mpsc;

use connection::{Connection, NewsSender, Start};

/// The most news that wait to be taken; datagrams beyond that are lost, as on the way.
const MAX_WAITING: usize = 4_096;

/// News of the connection with a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelNews {
    /// The other side has begun to connect.
    Begun,
    /// The channel opened.
    Opened {
        /// True if it goes through TURN.
        is_relayed: bool,
    },
    /// The connection failed, or the other side closed or replaced it.
    Closed,
    /// A datagram came.
    Datagram(Vec<u8>),
    /// A signal must be sent to the seat, as [`protocol::signal`] encodes it.
    Signal(String),
}

/// The rules by which the pages of an episode connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelRules {
    /// The seat of this page.
    pub own: Seat,
    /// STUN and TURN servers.
    pub ice: Vec<IceServer>,
    /// True if pages connect through TURN alone, so that nobody learns another's address.
    pub relay_only: bool,
}

/// Tells the connections of one page apart: two may have the same number on the way, if an offer was repeated.
type Serial = u64;

/// News of a seat, with the connection that they are of; news without one hold whatever becomes of connections.
type Addressed = (Seat, Option<Serial>, ChannelNews);

/// The connections of one page in one episode. Needs a tokio runtime around it; dropping it closes them.
#[derive(Debug)]
pub struct ChannelSet {
    rules: ChannelRules,
    listen: SocketAddr,
    /// At most one for each seat.
    connections: Vec<Connection>,
    /// The number of the next connection.
    next: Serial,
    sender: mpsc::Sender<Addressed>,
    news: mpsc::Receiver<Addressed>,
}

impl ChannelSet {
    /// Creates channels without a connection. Connections listen on this address; an unspecified one means all
    /// interfaces except the loopback interface.
    pub fn new(rules: ChannelRules, ip: IpAddr) -> Self {
        let (sender, news) = mpsc::channel(MAX_WAITING);
        Self {
            rules,
            listen: SocketAddr::new(ip, 0),
            connections: Vec::new(),
            next: 0,
            sender,
            news,
        }
    }

    /// Connects to a seat, and replaces an existing connection: by an offer, or by a call for one.
    pub fn connect(&mut self, to: Seat) {
        self.close(to);
        if self.rules.own < to {
            self.open(to, draw_number(), Start::Offer);
        } else {
            self.report(to, ChannelNews::Signal(signal::encode(&Signal::Call)));
        }
    }

    /// Ends the connection with a seat without news.
    pub fn close(&mut self, to: Seat) {
        self.connections.retain(|connection| connection.to != to);
    }

    /// Takes a signal from another page.
    pub fn handle_signal(&mut self, from: Seat, data: &str) {
        let is_offering = self.rules.own < from;
        match signal::decode(data) {
            Ok(Signal::Call) if is_offering => self.handle_call(from),
            Ok(Signal::Offer { connection, sdp })
                if from < self.rules.own && self.find(from, connection).is_none() =>
            {
                self.close(from);
                self.open(from, connection, Start::Answer(sdp));
                self.report(from, ChannelNews::Begun);
            }
            Ok(Signal::Answer { connection, sdp }) if is_offering => {
                if let Some(connection) = self.find(from, connection) {
                    connection.handle_answer(sdp);
                }
            }
            Ok(Signal::Candidate {
                connection,
                candidate,
                mid,
                line,
            }) => {
                if let Some(connection) = self.find(from, connection) {
                    connection.handle_candidate(candidate, mid, line);
                }
            }
            _ => {}
        }
    }

    /// Sends a datagram; it may be lost.
    pub fn send(&self, to: Seat, bytes: Vec<u8>) {
        if let Some(connection) = self.connections.iter().find(|each| each.to == to) {
            connection.send(bytes);
        }
    }

    /// Returns the next news; news of connections that are gone are left out.
    pub fn poll_news(&mut self, context: &mut Context<'_>) -> Poll<(Seat, ChannelNews)> {
        while let Poll::Ready(Some((seat, serial, news))) = self.news.poll_recv(context) {
            let is_there = |serial| self.connections.iter().any(|each| each.serial == serial);
            let is_current = serial.is_none_or(is_there);
            if is_current && news == ChannelNews::Closed {
                self.close(seat);
            }
            if is_current {
                return Poll::Ready((seat, news));
            }
        }
        Poll::Pending
    }

    /// Handles that the other side has no connection. An offer that it may have missed is sent again; an offer that it
    /// must have answered belonged to an earlier page.
    fn handle_call(&mut self, from: Seat) {
        match self.connections.iter().find(|each| each.to == from) {
            Some(connection) if !connection.is_answered => connection.repeat_offer(),
            _ => {
                self.connect(from);
                self.report(from, ChannelNews::Begun);
            }
        }
    }

    fn open(&mut self, to: Seat, number: NonZeroU32, start: Start) {
        let serial = self.next;
        self.next += 1;
        let news = NewsSender {
            to,
            serial,
            news: self.sender.clone(),
        };
        let connection = Connection::open(number, &self.rules, self.listen, start, news);
        self.connections.push(connection);
    }

    fn report(&self, seat: Seat, news: ChannelNews) {
        // If thousands of datagrams wait, the page is far behind, and calls again.
        if self.sender.try_send((seat, None, news)).is_err() {
            tracing::debug!(seat = seat.0, "no room for the news of a data channel");
        }
    }

    fn find(&mut self, seat: Seat, number: NonZeroU32) -> Option<&mut Connection> {
        let mut connections = self.connections.iter_mut();
        connections.find(|each| each.to == seat && each.number == number)
    }
}

/// Draws a number that distinguishes a connection from others; nobody gains by guessing one.
fn draw_number() -> NonZeroU32 {
    let drawn = RandomState::new().hash_one(0);
    NonZeroU32::MIN.saturating_add(drawn as u32)
}

#[cfg(test)]
mod tests;
