//! The gate: every connection to the web server, its client, and the connection that must close when there are too
//! many.
//!
//! A connection is silent until it has said something useful: a request that is being answered, or the first message of
//! a page. It is idle while it is the page of a session in which nothing was done yet. If there are too many, the one
//! that has been silent longest closes, or else the one that has been idle longest, so that these keep nobody out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use server_core::limits::Limits;
use tokio::sync::Notify;

use crate::client_address::ClientAddress;

/// Every open connection.
#[derive(Debug)]
pub struct ConnectionGate {
    state: Mutex<State>,
    /// Connections at the same time.
    most: usize,
    /// Connections of one client at the same time.
    most_each: usize,
    /// Session sockets of one client at the same time, and the time that one may be silent before another takes its
    /// place.
    most_pages: usize,
    silence: Duration,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    open: BTreeMap<u64, Connection>,
    /// Those that are silent, the oldest first.
    silent: BTreeSet<u64>,
    /// Pages of sessions of which nothing was done yet, the oldest first.
    idle: BTreeSet<u64>,
    by_client: BTreeMap<ClientAddress, BTreeSet<u64>>,
    /// Session sockets, and when each was opened.
    pages: BTreeMap<ClientAddress, BTreeMap<u64, Instant>>,
}

#[derive(Debug)]
struct Connection {
    client: Option<ClientAddress>,
    closes: Arc<Notify>,
}

/// The place of a connection; it is free when this is dropped.
#[derive(Debug)]
pub struct Admitted {
    gate: Arc<ConnectionGate>,
    number: u64,
    closes: Arc<Notify>,
}

impl ConnectionGate {
    /// A gate for this many connections, and as many of each client as the limits say.
    pub fn new(most: usize, limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            most,
            most_each: limits.client_connections,
            most_pages: limits.client_pages,
            silence: limits.silence,
        })
    }

    /// Lets a connection in; `None` if there is no room. A connection through a proxy counts for no client until it
    /// says whose it is.
    pub fn admit_client(self: &Arc<Self>, client: Option<ClientAddress>) -> Option<Admitted> {
        let mut state = self.state();
        if !self.make_room_for(&mut state, client) {
            return None;
        }
        if state.open.len() >= self.most {
            let oldest = state.silent.first().or(state.idle.first()).copied()?;
            state.close(oldest);
        }
        let number = state.next;
        state.next += 1;
        let closes = Arc::new(Notify::new());
        let connection = Connection {
            client,
            closes: Arc::clone(&closes),
        };
        state.open.insert(number, connection);
        state.silent.insert(number);
        if let Some(client) = client {
            state.by_client.entry(client).or_default().insert(number);
        }
        Some(Admitted {
            gate: Arc::clone(self),
            number,
            closes,
        })
    }

    /// Sees to it that a client may have one connection more, by closing its oldest silent one if need be.
    fn make_room_for(&self, state: &mut State, client: Option<ClientAddress>) -> bool {
        let Some(all) = client.and_then(|client| state.by_client.get(&client)) else {
            return true;
        };
        if all.len() < self.most_each {
            return true;
        }
        let find = |among: &BTreeSet<u64>| all.iter().find(|it| among.contains(it)).copied();
        let oldest = find(&state.silent).or_else(|| find(&state.idle));
        oldest.map(|oldest| state.close(oldest)).is_some()
    }

    /// Closes the page that has been idle longest; false if there is none.
    pub fn close_idle_page(&self) -> bool {
        let mut state = self.state();
        let oldest = state.idle.first().copied();
        oldest.map(|oldest| state.close(oldest)).is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Tells a connection to close, and immediately forgets it.
    fn close(&mut self, number: u64) {
        if let Some(connection) = self.remove(number) {
            connection.closes.notify_one();
        }
    }

    fn remove(&mut self, number: u64) -> Option<Connection> {
        self.silent.remove(&number);
        self.idle.remove(&number);
        let connection = self.open.remove(&number)?;
        self.leave_client(number, connection.client);
        Some(connection)
    }

    fn leave_client(&mut self, number: u64, client: Option<ClientAddress>) {
        let Some(client) = client else {
            return;
        };
        if let Some(pages) = self.pages.get_mut(&client) {
            pages.remove(&number);
            if pages.is_empty() {
                self.pages.remove(&client);
            }
        }
        if let Some(all) = self.by_client.get_mut(&client) {
            all.remove(&number);
            if all.is_empty() {
                self.by_client.remove(&client);
            }
        }
    }
}

impl Admitted {
    /// Notes that the connection says something useful, or is silent again.
    pub fn set_silent(&self, is_silent: bool) {
        let mut state = self.gate.state();
        if !state.open.contains_key(&self.number) {
            return;
        }
        match is_silent {
            true => state.silent.insert(self.number),
            false => state.silent.remove(&self.number),
        };
    }

    /// Takes note that nothing was done yet of the session of the connection's page, or that something was.
    pub fn set_idle(&self, is_idle: bool) {
        let mut state = self.gate.state();
        if !state.open.contains_key(&self.number) {
            return;
        }
        match is_idle {
            true => state.idle.insert(self.number),
            false => state.idle.remove(&self.number),
        };
    }

    /// Takes note that the connection is the session socket of a page, and of which client: it may have come through a
    /// proxy. False if that client has too many.
    pub fn become_page(&self, client: ClientAddress) -> bool {
        let mut state = self.gate.state();
        let Some(connection) = state.open.get_mut(&self.number) else {
            return false;
        };
        let before = connection.client.replace(client);
        if before != Some(client) {
            state.leave_client(self.number, before);
            let has_room = self.gate.make_room_for(&mut state, Some(client));
            let all = state.by_client.entry(client).or_default();
            all.insert(self.number);
            if !has_room {
                return false;
            }
        }
        let pages = state.pages.get(&client);
        if pages.is_some_and(|pages| pages.len() >= self.gate.most_pages) {
            let find = |among: &BTreeSet<u64>| {
                let is_old = |since: &Instant| since.elapsed() >= self.gate.silence;
                let mut pages = pages.into_iter().flatten();
                let oldest = pages.find(|(number, since)| is_old(since) && among.contains(number));
                oldest.map(|(number, _)| *number)
            };
            let Some(oldest) = find(&state.silent).or_else(|| find(&state.idle)) else {
                return false;
            };
            state.close(oldest);
        }
        let pages = state.pages.entry(client).or_default();
        pages.insert(self.number, Instant::now());
        true
    }

    /// Waits until the connection has to close.
    pub async fn wait_for_close(&self) {
        self.closes.notified().await;
        // For a connection that waits for this.
        self.closes.notify_one();
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.gate.state().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn client(last: u8) -> Option<ClientAddress> {
        Some(ClientAddress::new(IpAddr::V4(Ipv4Addr::new(
            192, 0, 2, last,
        ))))
    }

    fn gate(most: usize, most_each: usize) -> Arc<ConnectionGate> {
        let limits = Limits {
            client_connections: most_each,
            client_pages: 2,
            silence: Duration::ZERO,
            ..Limits::default()
        };
        ConnectionGate::new(most, &limits)
    }

    /// True if a connection must close.
    async fn is_told(connection: &Admitted) -> bool {
        let told = tokio::time::timeout(std::time::Duration::ZERO, connection.wait_for_close());
        told.await.is_ok()
    }

    #[tokio::test]
    async fn silent_connections_of_a_client_make_room_for_its_others_and_keep_nobody_out() {
        let gate = gate(100, 3);
        let mut silent: Vec<_> = (0..3)
            .map(|_| gate.admit_client(client(1)).unwrap())
            .collect();
        let honest = gate.admit_client(client(1)).unwrap();
        assert!(is_told(&silent[0]).await, "the oldest");
        assert!(!is_told(&silent[1]).await);
        honest.set_silent(false);
        silent
            .iter()
            .for_each(|connection| connection.set_silent(false));
        assert!(
            gate.admit_client(client(1)).is_none(),
            "all of them are of use"
        );
        assert!(gate.admit_client(client(2)).is_some());
        silent.pop();
        assert!(gate.admit_client(client(1)).is_some());
    }

    #[tokio::test]
    async fn silent_connections_of_many_clients_make_room_for_others() {
        let gate = gate(4, 3);
        let silent: Vec<_> = (0..4)
            .map(|last| gate.admit_client(client(last)).unwrap())
            .collect();
        silent[0].set_silent(false);
        let honest = gate.admit_client(client(9)).unwrap();
        assert!(!is_told(&silent[0]).await);
        assert!(is_told(&silent[1]).await);
        honest.set_silent(false);
        silent[2].set_silent(false);
        silent[3].set_silent(false);
        assert!(gate.admit_client(client(8)).is_none());
        drop(silent);
        assert!(gate.admit_client(client(8)).is_some());
    }

    #[tokio::test]
    async fn connections_through_a_proxy_count_for_the_client_that_it_names() {
        let gate = gate(100, 2);
        let pages: Vec<_> = (0..3).map(|_| gate.admit_client(None).unwrap()).collect();
        let one = client(1).unwrap();
        assert!(pages[0].become_page(one) && pages[1].become_page(one));
        pages[0].set_silent(false);
        pages[1].set_silent(false);
        assert!(!pages[2].become_page(one));
        assert!(pages[2].become_page(client(2).unwrap()));
    }

    #[tokio::test]
    async fn a_page_takes_the_place_of_one_that_is_silent_for_long_and_of_no_other() {
        let patient = Limits {
            client_pages: 2,
            ..Limits::default()
        };
        let one = client(1).unwrap();
        let patient = ConnectionGate::new(100, &patient);
        for (gate, is_let_in) in [(gate(100, 20), true), (patient, false)] {
            let pages: Vec<_> = (0..3)
                .map(|_| gate.admit_client(client(1)).unwrap())
                .collect();
            assert!(pages[0].become_page(one) && pages[1].become_page(one));
            pages[0].set_silent(false);
            assert_eq!(pages[2].become_page(one), is_let_in);
            assert_eq!(is_told(&pages[1]).await, is_let_in);
            assert!(!is_told(&pages[0]).await);
        }
    }

    #[tokio::test]
    async fn idle_pages_make_room_for_others_and_pages_of_people_who_take_part_do_not() {
        let gate = gate(4, 20);
        let one = client(1).unwrap();
        let pages: Vec<_> = (0..2)
            .map(|_| gate.admit_client(client(1)).unwrap())
            .collect();
        for page in &pages {
            page.set_idle(true);
            assert!(page.become_page(one));
            page.set_silent(false);
        }
        pages[0].set_idle(false);
        // The client's own limit.
        let third = gate.admit_client(client(1)).unwrap();
        assert!(third.become_page(one));
        assert!(is_told(&pages[1]).await && !is_told(&pages[0]).await);
        third.set_idle(true);
        third.set_silent(false);
        // That of all clients.
        let others: Vec<_> = (2..4)
            .map(|last| gate.admit_client(client(last)).unwrap())
            .collect();
        others.iter().for_each(|other| other.set_silent(false));
        let last = gate.admit_client(client(5)).unwrap();
        assert!(is_told(&third).await);
        last.set_silent(false);
        assert!(
            gate.admit_client(client(6)).is_none(),
            "nobody is idle any more"
        );
        // That of pages.
        assert!(!gate.close_idle_page());
        last.set_idle(true);
        assert!(gate.close_idle_page() && is_told(&last).await);
        assert!(!is_told(&pages[0]).await);
    }
}
