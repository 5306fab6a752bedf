//! The one WebSocket to the server: control messages both ways, and a new connection when it breaks.
//!
//! This module must not know what the messages mean, but for the first one, which says who comes.

use protocol::DecodeError;
use protocol::control::{self, ClientMessage};
use wasm_bindgen::prelude::*;
use web_sys::{BinaryType, Event, MessageEvent, WebSocket};

use crate::shell::inbox::{Inbox, Input, ServerNews};
use crate::shell::{dom, panic_handler};

/// Pauses before the next try, milliseconds; the last one repeats.
const PAUSES_MS: [f64; 6] = [250.0, 500.0, 1_000.0, 2_000.0, 3_000.0, 5_000.0];
/// A try that is neither open nor closed by then is given up, milliseconds.
const OPEN_WITHIN_MS: f64 = 10_000.0;

/// The connection, or the wish for one.
pub(crate) struct Socket {
    url: String,
    inbox: Inbox,
    socket: Option<WebSocket>,
    /// Tells the news of this connection from those of an older one.
    generation: u32,
    failures: usize,
    started_ms: f64,
    retry_ms: Option<f64>,
    stopped: bool,
}

impl Socket {
    /// A socket that is not connected yet.
    pub(crate) fn new(url: String, inbox: Inbox) -> Self {
        Self {
            url,
            inbox,
            socket: None,
            generation: 0,
            failures: 0,
            started_ms: 0.0,
            retry_ms: Some(0.0),
            stopped: false,
        }
    }

    /// Whether messages go out now.
    pub(crate) fn is_open(&self) -> bool {
        self.socket
            .as_ref()
            .is_some_and(|socket| socket.ready_state() == WebSocket::OPEN)
    }

    /// Whether news of a connection with this generation still count.
    pub(crate) fn is_current(&self, generation: u32) -> bool {
        generation == self.generation
    }

    /// Failed tries since the last connection that worked.
    pub(crate) fn failures(&self) -> usize {
        self.failures
    }

    /// Connects again when it is time.
    pub(crate) fn tick(&mut self, now_ms: f64) {
        let stuck = self
            .socket
            .as_ref()
            .is_some_and(|socket| socket.ready_state() == WebSocket::CONNECTING)
            && now_ms > self.started_ms + OPEN_WITHIN_MS;
        if stuck {
            self.lost(now_ms);
        }
        if !self.stopped && self.retry_ms.is_some_and(|at| now_ms >= at) {
            self.connect(now_ms);
        }
    }

    /// Sends a message, or drops it if there is no connection.
    pub(crate) fn send(&self, message: &ClientMessage) {
        if let Some(socket) = self.socket.as_ref().filter(|_| self.is_open()) {
            // A failed send is followed by the news that the connection is gone.
            socket.send_with_u8_array(&control::encode(message)).ok();
        }
    }

    /// The server welcomed this page: the next loss starts with short pauses again.
    pub(crate) fn welcomed(&mut self) {
        self.failures = 0;
    }

    /// The connection is gone: forgets it and plans the next try.
    pub(crate) fn lost(&mut self, now_ms: f64) {
        self.drop_connection();
        let pause = PAUSES_MS[self.failures.min(PAUSES_MS.len() - 1)];
        // Pages of a server that restarts must not all come back in the same moment.
        self.retry_ms = Some(now_ms + pause * (0.75 + 0.5 * js_sys::Math::random()));
        self.failures += 1;
    }

    /// Connects again after [`Self::stop`].
    pub(crate) fn start(&mut self) {
        (self.stopped, self.retry_ms) = (false, Some(0.0));
    }

    /// Ends the connection until [`Self::start`].
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.drop_connection();
    }

    fn drop_connection(&mut self) {
        self.generation += 1;
        if let Some(socket) = self.socket.take() {
            socket.close().ok();
        }
    }

    fn connect(&mut self, now_ms: f64) {
        self.retry_ms = None;
        self.started_ms = now_ms;
        self.generation += 1;
        match WebSocket::new(&self.url) {
            Ok(socket) => {
                panic_handler::keep_socket(socket.clone());
                self.socket = Some(self.subscribe(socket));
            }
            Err(_) => self.lost(now_ms),
        }
    }

    fn subscribe(&self, socket: WebSocket) -> WebSocket {
        socket.set_binary_type(BinaryType::Arraybuffer);
        let generation = self.generation;
        let inbox = self.inbox.clone();
        dom::listen(&socket, "open", move |_: Event| {
            inbox.send(Input::Socket(generation, ServerNews::Open))
        });
        let inbox = self.inbox.clone();
        dom::listen(&socket, "close", move |_: Event| {
            inbox.send(Input::Socket(generation, ServerNews::Closed))
        });
        let inbox = self.inbox.clone();
        dom::listen(&socket, "message", move |event: MessageEvent| {
            let bytes =
                js_sys::Uint8Array::new(&event.data().unchecked_into::<js_sys::ArrayBuffer>())
                    .to_vec();
            let news = match control::decode(&bytes) {
                Ok(message) => ServerNews::Message(message),
                Err(DecodeError::Version { .. }) => ServerNews::OtherVersion,
                Err(error) => ServerNews::Garbled(error.to_string()),
            };
            inbox.send(Input::Socket(generation, news));
        });
        socket
    }
}
