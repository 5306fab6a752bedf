//! The WebSockets: ordered, delayed, and gone at any moment with all messages under way.

use std::collections::BTreeMap;

use server_core::limits::Limits;
use server_core::message_budget::MessageBudget;

use crate::network_conditions::{End, NetworkConditions};

/// One connection.
#[derive(Debug)]
pub struct Wire {
    /// The page.
    pub page: usize,
    /// The page.
    pub person: usize,
    /// True if the server has accepted it and not closed it.
    pub at_server: bool,
    /// True if the page has it and has not closed it.
    pub at_page: bool,
    /// True if the first message has come.
    pub greeted: bool,
    up_us: u64,
    down_us: u64,
    /// Messages on their way to the page.
    pub down: usize,
    budget: MessageBudget,
}

impl Wire {
    /// When a message sent now arrives at the server.
    pub fn send_up(&mut self, now_us: u64, network: &mut NetworkConditions) -> u64 {
        let arrives_us = network.send_on_stream(now_us, End::Person(self.person), End::Server);
        self.up_us = self.up_us.max(arrives_us);
        self.up_us
    }

    /// When a message sent now arrives at the page.
    pub fn down(&mut self, now_us: u64, network: &mut NetworkConditions) -> u64 {
        let arrives_us = network.send_on_stream(now_us, End::Server, End::Person(self.person));
        self.down_us = self.down_us.max(arrives_us);
        self.down_us
    }

    /// True if the server takes another message of this page; `is_datagram` says whether it is a datagram.
    pub fn take_message(&mut self, now_us: u64, is_datagram: bool) -> bool {
        self.budget.take_message(now_us, is_datagram)
    }
}

/// All connections that are not gone on both sides.
#[derive(Debug, Default)]
pub struct Wires {
    wires: BTreeMap<u64, Wire>,
    next: u64,
}

impl Wires {
    /// Begins a connection; returns its number.
    pub fn dial(&mut self, now_us: u64, page: usize, person: usize, limits: &Limits) -> u64 {
        self.next += 1;
        let wire = Wire {
            page,
            person,
            at_server: false,
            at_page: true,
            greeted: false,
            up_us: 0,
            down_us: 0,
            down: 0,
            budget: MessageBudget::new(limits, now_us),
        };
        self.wires.insert(self.next, wire);
        self.next
    }

    /// A connection.
    pub fn get(&mut self, conn: u64) -> Option<&mut Wire> {
        self.wires.get_mut(&conn)
    }

    /// The connections that the server has.
    pub fn accepted_sockets(&self) -> Vec<u64> {
        let accepted = self.wires.iter().filter(|(_, wire)| wire.at_server);
        accepted.map(|(&conn, _)| conn).collect()
    }

    /// Forgets connections that neither side has.
    pub fn sweep_closed(&mut self) {
        self.wires.retain(|_, wire| wire.at_server || wire.at_page);
    }
}
