//! The one WebSocket to the server: bytes both ways.
//!
//! This module must not know what the messages mean, nor when a connection is opened or abandoned.

use client_core::SocketId;
use protocol::control::{self, ClientMessage};
use wasm_bindgen::prelude::*;
use web_sys::{BinaryType, Event, MessageEvent, WebSocket};

use crate::shell::inbox::{Inbox, Input, SocketNews};
use crate::shell::{dom, offline_data, panic_handler};

/// The WebSocket to the server, if there is one.
pub(crate) struct ServerSocket {
    url: String,
    inbox: Inbox,
    socket: Option<WebSocket>,
}

impl ServerSocket {
    /// A socket that is not open, to this address.
    pub(crate) fn new(url: String, inbox: Inbox) -> Self {
        Self {
            url,
            inbox,
            socket: None,
        }
    }

    /// Opens a connection, whose news come under this number.
    pub(crate) fn open(&mut self, id: SocketId) {
        self.close();
        let opened = match offline_data::open_socket() {
            Some(socket) => Ok(socket),
            None => WebSocket::new(&self.url),
        };
        match opened {
            Ok(socket) => {
                panic_handler::keep_socket(socket.clone());
                self.subscribe(&socket, id);
                self.socket = Some(socket);
            }
            Err(_) => self.inbox.send(Input::Socket(id, SocketNews::Closed)),
        }
    }

    /// Closes the connection.
    pub(crate) fn close(&mut self) {
        if let Some(socket) = self.socket.take() {
            socket.close().ok();
        }
    }

    /// Sends a message, or drops it if there is no connection.
    pub(crate) fn send(&self, message: &ClientMessage) {
        if let Some(socket) = &self.socket {
            // A failed send is followed by the news that the connection is gone.
            socket.send_with_u8_array(&control::encode(message)).ok();
        }
    }

    fn subscribe(&self, socket: &WebSocket, id: SocketId) {
        socket.set_binary_type(BinaryType::Arraybuffer);
        for (name, news) in [
            ("open", (|| SocketNews::Opened) as fn() -> SocketNews),
            ("close", || SocketNews::Closed),
        ] {
            let inbox = self.inbox.clone();
            dom::add_listener(socket, name, move |_: Event| {
                inbox.send(Input::Socket(id, news()))
            });
        }
        let inbox = self.inbox.clone();
        dom::add_listener(socket, "message", move |event: MessageEvent| {
            // The server sends no text; bytes that are not a message are recognised where they are read.
            let bytes = event.data().dyn_into::<js_sys::ArrayBuffer>();
            let bytes = bytes.map(|bytes| js_sys::Uint8Array::new(&bytes).to_vec());
            let news = SocketNews::Bytes(bytes.unwrap_or_default());
            inbox.send(Input::Socket(id, news));
        });
    }
}
