//! The machine of the server in a virtual rehearsal: connections with every limit that a page must keep, the process,
//! and its deaths.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use protocol::DecodeError;
use protocol::control::{self, ClientMessage, Refusal, ServerMessage};
use server_core::arbiter::{ConnId, Event};
use server_core::limits::Limits;
use server_core::message_budget::MessageBudget;
use simulation::fault_injection::FaultInjection;
use simulation::rng::SeededRng;
use simulation::server::{EPOCH_US, Outgoing, Program, SimulatedServer};

use super::folder::FolderStorage;
use super::network::{Down, Lines, Sent, Stream, Up};
use crate::bot::WireId;

/// How long the server is down when it is killed, microseconds: the least and the most.
const DOWN_US: [u64; 2] = [500_000, 3_000_000];

/// A connection that the server has.
struct Connection {
    person: usize,
    wire: WireId,
    is_greeted: bool,
    budget: MessageBudget,
}

/// Something that will happen on the machine. The number keeps the order of simultaneous events.
type Coming = Reverse<(u64, u64)>;

/// The machine.
pub(super) struct Machine {
    server: SimulatedServer<FolderStorage>,
    limits: Limits,
    lines: Vec<Stream>,
    connections: BTreeMap<u64, Connection>,
    by_wire: BTreeMap<(usize, WireId), u64>,
    accepted: u64,
    /// Messages under way to the server, by their order.
    order: BinaryHeap<Coming>,
    coming: BTreeMap<u64, Sent<(WireId, Up)>>,
    number: u64,
    /// When the process is killed, the last time first, and when it starts again, microseconds.
    kills_us: Vec<u64>,
    starts_us: Option<u64>,
    /// How often it was killed.
    pub(super) killed: usize,
    rng: SeededRng,
    sent: Vec<Sent<Down>>,
    now_us: u64,
}

/// A time of the study as the time of a run, microseconds.
fn run_us(at_us: u64) -> u64 {
    at_us.saturating_sub(EPOCH_US)
}

impl Machine {
    /// A machine for some people, and their lines, whose server starts at a time.
    ///
    /// # Errors
    /// The server does not start.
    pub(super) fn start(
        now_us: u64,
        seed: u64,
        (people, lines): (usize, Lines),
        program: Program,
        storage: FolderStorage,
    ) -> Result<Self, String> {
        let limits = program.limits.clone();
        let injected = FaultInjection::default();
        let mut server = SimulatedServer::with_storage(seed, program, storage, injected);
        server.start(run_us(now_us))?;
        Ok(Self {
            server,
            limits,
            lines: (0..people)
                .map(|number| Stream::down(lines, seed, number))
                .collect(),
            connections: BTreeMap::new(),
            by_wire: BTreeMap::new(),
            accepted: 0,
            order: BinaryHeap::new(),
            coming: BTreeMap::new(),
            number: 0,
            kills_us: Vec::new(),
            starts_us: None,
            killed: 0,
            rng: SeededRng::new(seed, "machine"),
            sent: Vec::new(),
            now_us,
        })
    }

    /// Has the process killed at these times, the last one first.
    pub(super) fn kill_at(&mut self, kills_us: Vec<u64>) {
        self.kills_us = kills_us;
    }

    /// The storage, which outlives the process.
    pub(super) fn storage(&self) -> &FolderStorage {
        self.server.storage()
    }

    /// Something is under way to the server.
    pub(super) fn take(&mut self, sent: Sent<(WireId, Up)>) {
        self.number += 1;
        self.order.push(Reverse((sent.at_us, self.number)));
        self.coming.insert(self.number, sent);
    }

    /// When something happens next.
    pub(super) fn next_us(&self) -> Option<u64> {
        let coming = self.order.peek().map(|Reverse((at_us, _))| *at_us);
        let server = self.server.next_us().map(|at_us| EPOCH_US + at_us);
        let kill = self.kills_us.last().copied();
        let times = [coming, server, kill, self.starts_us];
        times.into_iter().flatten().min()
    }

    /// Runs until a time; returns what it sent.
    ///
    /// # Errors
    /// The disk or the database failed.
    pub(super) fn run(&mut self, until_us: u64) -> Result<Vec<Sent<Down>>, String> {
        while let Some(at_us) = self.next_us().filter(|at_us| *at_us < until_us) {
            self.now_us = self.now_us.max(at_us);
            let now_us = self.now_us;
            if self.kills_us.pop_if(|kill_us| *kill_us <= now_us).is_some() {
                self.kill()?;
            } else if self.starts_us.take_if(|at_us| *at_us <= now_us).is_some() {
                self.server.start(run_us(now_us))?;
                self.tell_all(true);
            } else if let Some(sent) = self.next_coming(at_us) {
                self.hear(sent)?;
            } else {
                self.server.run(run_us(now_us))?;
            }
            self.send_out()?;
        }
        Ok(std::mem::take(&mut self.sent))
    }

    /// Takes the next message that was under way, if it has arrived.
    fn next_coming(&mut self, at_us: u64) -> Option<Sent<(WireId, Up)>> {
        let Reverse((due_us, number)) = self.order.peek()?;
        let number = Some(*number).filter(|_| *due_us <= at_us)?;
        self.order.pop();
        self.coming.remove(&number)
    }

    /// Asks the server to stop, and carries out what that means.
    ///
    /// # Errors
    /// The disk or the database failed.
    pub(super) fn stop(mut self) -> Result<FolderStorage, String> {
        self.server.handle(run_us(self.now_us), Event::Stop)?;
        // Pending writes take a moment; there is nobody for whom anything else would have to be done.
        let until_us = self.now_us + 1_000_000;
        self.run(until_us)?;
        Ok(self.server.into_storage())
    }

    /// The process dies, and with it every connection.
    fn kill(&mut self) -> Result<(), String> {
        if let Some(starts_us) = self.starts_us {
            // It is dead already, and dies soon after it is there again.
            self.kills_us.push(starts_us + DOWN_US[0]);
            self.kills_us.sort_unstable_by(|one, other| other.cmp(one));
            return Ok(());
        }
        self.killed += 1;
        self.server.crash_and_restart(run_us(self.now_us))?;
        self.tell_all(false);
        let wires: Vec<(usize, WireId)> = self.by_wire.keys().copied().collect();
        self.connections.clear();
        self.by_wire.clear();
        for (person, wire) in wires {
            self.down(person, Down::Lost(wire));
        }
        let [least, most] = DOWN_US;
        self.starts_us = Some(self.now_us + self.rng.draw_between(least, most));
        Ok(())
    }

    fn tell_all(&mut self, is_up: bool) {
        for person in 0..self.lines.len() {
            self.down(person, Down::Server(is_up));
        }
    }

    fn down(&mut self, person: usize, what: Down) {
        let at_us = self.lines[person].arrives_us(self.now_us);
        self.sent.push(Sent {
            at_us,
            person,
            what,
        });
    }

    fn hear(&mut self, sent: Sent<(WireId, Up)>) -> Result<(), String> {
        let (person, (wire, what)) = (sent.person, sent.what);
        let known = self.by_wire.get(&(person, wire)).copied();
        match (what, known) {
            (Up::Dial, _) => self.accept(person, wire),
            (Up::Gone, Some(conn)) => {
                self.forget(conn);
                self.handle(Event::Closed(ConnId(conn)))?;
            }
            (Up::Text, Some(conn)) => self.refuse(conn, Refusal::Malformed)?,
            (Up::Bytes(bytes), Some(conn)) => self.read(conn, &bytes)?,
            (_, None) => {}
        }
        Ok(())
    }

    fn accept(&mut self, person: usize, wire: WireId) {
        let is_full = self.connections.len() >= self.limits.connections;
        if !self.server.is_up() || is_full {
            return self.down(person, Down::Lost(wire));
        }
        self.accepted += 1;
        let connection = Connection {
            person,
            wire,
            is_greeted: false,
            budget: MessageBudget::new(&self.limits, self.now_us),
        };
        self.connections.insert(self.accepted, connection);
        self.by_wire.insert((person, wire), self.accepted);
        self.down(person, Down::Opened(wire));
    }

    fn forget(&mut self, conn: u64) -> Option<(usize, WireId)> {
        let of = self.connections.remove(&conn)?;
        self.by_wire.remove(&(of.person, of.wire));
        Some((of.person, of.wire))
    }

    /// Turns a page away.
    fn refuse(&mut self, conn: u64, why: Refusal) -> Result<(), String> {
        if let Some((person, wire)) = self.forget(conn) {
            let refused = control::encode(&ServerMessage::Refused { why });
            self.down(person, Down::Bytes(wire, refused));
            self.down(person, Down::Lost(wire));
        }
        self.handle(Event::Closed(ConnId(conn)))
    }

    /// Reads a frame of a page.
    fn read(&mut self, conn: u64, bytes: &[u8]) -> Result<(), String> {
        if bytes.len() > self.limits.message_bytes {
            return self.refuse(conn, Refusal::Malformed);
        }
        let message: ClientMessage = match control::decode(bytes) {
            Ok(message) => message,
            Err(DecodeError::Version { .. }) => return self.refuse(conn, Refusal::OldPage),
            Err(_) => return self.refuse(conn, Refusal::Malformed),
        };
        let Some(of) = self.connections.get_mut(&conn) else {
            return Ok(());
        };
        let is_hello = matches!(message, ClientMessage::Hello { .. });
        if std::mem::replace(&mut of.is_greeted, true) == is_hello {
            return self.refuse(conn, Refusal::Malformed);
        }
        let is_datagram = matches!(message, ClientMessage::Relay { .. });
        match of.budget.take_message(self.now_us, is_datagram) {
            true => {}
            false if is_datagram => return Ok(()),
            false => return self.refuse(conn, Refusal::Malformed),
        }
        match message {
            ClientMessage::Clock { sent_us } => {
                let server_us = self.server.clock_us(run_us(self.now_us));
                let (person, wire) = (of.person, of.wire);
                let told = ServerMessage::Clock { sent_us, server_us };
                self.down(person, Down::Bytes(wire, control::encode(&told)));
                Ok(())
            }
            message => self.handle(Event::Message(ConnId(conn), message)),
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), String> {
        self.server.handle(run_us(self.now_us), event)
    }

    /// Sends the messages of the server.
    fn send_out(&mut self) -> Result<(), String> {
        while let Some(outgoing) = self.server.poll_outgoing() {
            match outgoing {
                Outgoing::Send(ConnId(conn), message) | Outgoing::Relay(ConnId(conn), message) => {
                    if let Some(of) = self.connections.get(&conn) {
                        let (person, wire) = (of.person, of.wire);
                        self.down(person, Down::Bytes(wire, control::encode(&message)));
                    }
                }
                Outgoing::Close(ConnId(conn)) => {
                    if let Some((person, wire)) = self.forget(conn) {
                        self.down(person, Down::Lost(wire));
                        self.handle(Event::Closed(ConnId(conn)))?;
                    }
                }
            }
        }
        Ok(())
    }
}
