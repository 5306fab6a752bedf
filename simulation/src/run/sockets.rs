//! The WebSockets of a run: connections, and messages both ways.

use protocol::control::{self, ClientMessage, ServerMessage};
use server_core::arbiter::{ConnId, Event};

use crate::server::{self, Outgoing};
use crate::tab::Tab;

use super::{Happening, Run};

impl Run {
    pub(super) fn dial(&mut self, at: usize) {
        let (now_us, person) = (self.now_us, self.pages[at].person);
        let conn = self.wires.dial(now_us, at, person, &server::test_limits());
        self.pages[at].conn = Some(conn);
        if let Some(wire) = self.wires.get(conn) {
            let at_us = wire.send_up(now_us, &mut self.network);
            self.later(at_us, Happening::Accept(conn));
        }
    }

    pub(super) fn hang_up(&mut self, conn: u64) {
        if let Some(wire) = self.wires.get(conn) {
            wire.at_page = false;
            let at_us = wire.send_up(self.now_us, &mut self.network);
            self.later(at_us, Happening::Gone(conn));
        }
    }

    pub(super) fn send_up(&mut self, at: usize, message: &ClientMessage) -> Result<(), String> {
        let Some(liar) = self.liar_of(at) else {
            return self.up_as_is(at, message);
        };
        let mut message = message.clone();
        liar.change_message(&mut message);
        if let Some(peer) = self.pages[at].peer() {
            let plan = peer.plan();
            let claims = liar.list_claims(&message, plan.seat, plan.controllers.len() as u8);
            for claim in claims {
                self.up_as_is(at, &claim)?;
            }
        }
        if let ClientMessage::Relay { bytes, .. } = &mut message {
            self.lie(at, bytes);
        }
        self.up_as_is(at, &message)
    }

    fn up_as_is(&mut self, at: usize, message: &ClientMessage) -> Result<(), String> {
        let page = &self.pages[at];
        let Some(conn) = page.conn else { return Ok(()) };
        self.oracle.record_typed(page.person, page.number, message);
        if let (ClientMessage::Upload(upload), Some(peer)) = (message, page.peer()) {
            self.oracle.record_upload(peer.plan().seat, upload);
        }
        self.trace.line(self.now_us, || {
            format!("page {} -> {message:?}", page.number)
        });
        let bytes = control::encode(message);
        if let Some(wire) = self.wires.get(conn) {
            let at_us = wire.send_up(self.now_us, &mut self.network);
            self.later(at_us, Happening::Up(conn, bytes));
        }
        Ok(())
    }

    /// Sends the messages of the server.
    pub(super) fn send_out(&mut self) -> Result<(), String> {
        while let Some(outgoing) = self.server.poll_outgoing() {
            match outgoing {
                Outgoing::Send(ConnId(conn), message) => self.down(conn, &message, false),
                Outgoing::Relay(ConnId(conn), message) => self.down(conn, &message, true),
                Outgoing::Close(ConnId(conn)) => self.close(conn)?,
            }
        }
        self.wires.sweep_closed();
        Ok(())
    }

    pub(super) fn down(&mut self, conn: u64, message: &ServerMessage, may_drop: bool) {
        let Some(wire) = self.wires.get(conn).filter(|wire| wire.at_server) else {
            return;
        };
        // A few hundred messages fit into the buffers of the system before the server's own queue fills.
        if may_drop && wire.down > 600 {
            return;
        }
        wire.down += 1;
        let at_us = wire.down(self.now_us, &mut self.network);
        let page = wire.page;
        self.trace
            .line(self.now_us, || format!("server -> page {page} {message:?}"));
        self.later(at_us, Happening::Down(conn, control::encode(message)));
    }

    /// The server closes a connection.
    pub(super) fn close(&mut self, conn: u64) -> Result<(), String> {
        let Some(wire) = self.wires.get(conn).filter(|wire| wire.at_server) else {
            return Ok(());
        };
        wire.at_server = false;
        let at_us = wire.down(self.now_us, &mut self.network);
        self.later(at_us, Happening::Lost(conn));
        self.server
            .handle(self.now_us, Event::Closed(ConnId(conn)))?;
        self.send_out()
    }

    pub(super) fn accept_socket(&mut self, conn: u64) {
        let is_up = self.server.is_up();
        let Some(wire) = self.wires.get(conn) else {
            return;
        };
        wire.at_server = is_up;
        let at_us = wire.down(self.now_us, &mut self.network);
        let news = if is_up {
            Happening::Opened(conn)
        } else {
            Happening::Lost(conn)
        };
        self.later(at_us, news);
    }

    pub(super) fn message_up(&mut self, conn: u64, bytes: &[u8]) -> Result<(), String> {
        let now_us = self.now_us;
        let Some(wire) = self.wires.get(conn).filter(|wire| wire.at_server) else {
            return Ok(());
        };
        let message: ClientMessage = control::decode(bytes)
            .map_err(|error| format!("packet: a page sends what is no message: {error}"))?;
        let is_datagram = matches!(message, ClientMessage::Relay { .. });
        match wire.take_message(now_us, is_datagram) {
            true => {}
            false if is_datagram => return Ok(()),
            false => {
                return Err("refusal: a page sends more messages than the server takes".into());
            }
        }
        wire.greeted = true;
        match message {
            ClientMessage::Clock { sent_us } => {
                let server_us = self.server.clock_us(now_us);
                self.down(conn, &ServerMessage::Clock { sent_us, server_us }, false);
            }
            message => {
                self.server
                    .handle(now_us, Event::Message(ConnId(conn), message))?;
                self.send_out()?;
            }
        }
        self.count()
    }

    pub(super) fn message_down(&mut self, conn: u64, bytes: &[u8]) -> Result<(), String> {
        let Some(wire) = self.wires.get(conn) else {
            return Ok(());
        };
        wire.down = wire.down.saturating_sub(1);
        let at = wire.page;
        if !wire.at_page || !self.pages[at].is_alive || self.pages[at].conn != Some(conn) {
            return Ok(());
        }
        let mut message: ServerMessage = control::decode(bytes)
            .map_err(|error| format!("packet: the server sends what is no message: {error}"))?;
        if let ServerMessage::Relay { bytes, .. } = &mut message {
            self.tamper_with(at, bytes);
        }
        let page = &mut self.pages[at];
        let plays = page
            .peer()
            .map(|peer| (peer.plan().era, peer.plan().seat, peer.plan().life));
        self.oracle.record_promise(at, &message)?;
        if self.scenario.liar.is_none() {
            self.oracle.is_right(&message)?;
        }
        self.oracle.check_told(plays, &message)?;
        if let Some(peer) = page.peer() {
            self.oracle.check_telling(peer, &message)?;
        }
        page.handle_message(self.now_us, message);
        self.drain(at)?;
        self.count()
    }

    /// A message or datagram was delivered: somebody may have to die.
    pub(super) fn count(&mut self) -> Result<(), String> {
        self.delivered += 1;
        match self.scenario.kill {
            Some((number, victim)) if number == self.delivered => self.kill(victim),
            _ => Ok(()),
        }
    }

    pub(super) fn handle_opened(&mut self, conn: u64) -> Result<(), String> {
        let Some(wire) = self.wires.get(conn).filter(|wire| wire.at_page) else {
            return Ok(());
        };
        let at = wire.page;
        if self.pages[at].is_alive && self.pages[at].conn == Some(conn) {
            self.pages[at].handle_socket_opened(self.now_us);
            self.drain(at)?;
        }
        Ok(())
    }

    /// The server learns that a connection is gone.
    pub(super) fn handle_gone(&mut self, conn: u64) -> Result<(), String> {
        let Some(wire) = self.wires.get(conn) else {
            return Ok(());
        };
        wire.at_page = false;
        if std::mem::take(&mut wire.at_server) {
            self.server
                .handle(self.now_us, Event::Closed(ConnId(conn)))?;
            self.send_out()?;
        }
        self.wires.sweep_closed();
        Ok(())
    }

    /// A page learns that its connection is gone.
    pub(super) fn handle_lost(&mut self, conn: u64) -> Result<(), String> {
        if let Some(wire) = self.wires.get(conn) {
            wire.at_page = false;
        }
        if let Some(at) = self.tab_with_connection(conn) {
            self.trace
                .line(self.now_us, || format!("page {at} loses its connection"));
            self.pages[at].handle_socket_closed(self.now_us);
            self.drain(at)?;
        }
        self.wires.sweep_closed();
        Ok(())
    }

    /// The page that has a connection, as far as it knows.
    pub(super) fn tab_with_connection(&self, conn: u64) -> Option<usize> {
        let has = |page: &&Tab| page.is_alive && page.conn == Some(conn);
        self.pages.iter().find(has).map(|page| page.number)
    }
}
