//! Clients: how often pages of one network address may begin sessions, try wrong codes, and write into the log. The
//! arbiter knows an address by a key alone, and only in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::bucket::Bucket;
use super::session::ConnId;
use crate::limits::{Limits, Rate};

/// A network address, as the shell names it: not the address itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientKey(pub u64);

/// The most clients that are remembered. One more, and the one is forgotten that could soonest do everything again.
const REMEMBERED: usize = 10_000;

/// An action that is limited by client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitedAction {
    /// A session begins.
    Begin,
    /// A link, ticket or token is unknown, or an identifier has not its form.
    WrongCode,
    /// A page writes a line into the log.
    Log,
}

/// The connections of clients, and how often each may do what.
#[derive(Debug, Default)]
pub(super) struct Clients {
    by_conn: BTreeMap<ConnId, ClientKey>,
    buckets: BTreeMap<ClientKey, [Bucket; 3]>,
    /// The same clients, by the time at which all of their buckets are full again.
    by_full_us: BTreeSet<(u64, ClientKey)>,
}

/// The time at which all buckets of a client are full again, microseconds.
fn full_us(buckets: &[Bucket; 3]) -> u64 {
    let times = buckets.iter().map(Bucket::full_us);
    times.max().unwrap_or(0)
}

impl Clients {
    /// Takes note whose connection one is.
    pub(super) fn add_connection(&mut self, conn: ConnId, client: ClientKey) {
        self.by_conn.insert(conn, client);
    }

    /// Takes note that a connection is gone.
    pub(super) fn remove_connection(&mut self, conn: ConnId) {
        self.by_conn.remove(&conn);
    }

    /// True if the client of a connection may do something now; it then counts as done. A connection without a client
    /// may do everything.
    pub(super) fn take_token(
        &mut self,
        limits: &Limits,
        now_us: u64,
        conn: ConnId,
        action: LimitedAction,
    ) -> bool {
        let Some(client) = self.by_conn.get(&conn) else {
            return true;
        };
        let Rate { burst, per_min } = match action {
            LimitedAction::Begin => limits.client_sessions,
            LimitedAction::WrongCode => limits.client_wrong_codes,
            LimitedAction::Log => limits.client_log_lines,
        };
        let client = *client;
        let mut buckets = match self.buckets.get(&client) {
            Some(buckets) => *buckets,
            None => [Bucket::default(); 3],
        };
        self.by_full_us.remove(&(full_us(&buckets), client));
        let each_us = 60_000_000 / u64::from(per_min.max(1));
        let is_taken = buckets[action as usize].take_token_of(now_us, each_us, u64::from(burst));
        self.remember(client, buckets);
        is_taken
    }

    /// Remembers how full the buckets of a client are, which `by_full_us` does not name any more.
    fn remember(&mut self, client: ClientKey, buckets: [Bucket; 3]) {
        let is_new = self.buckets.insert(client, buckets).is_none();
        if is_new
            && self.buckets.len() > REMEMBERED
            && let Some((_, first)) = self.by_full_us.pop_first()
        {
            self.buckets.remove(&first);
        }
        self.by_full_us.insert((full_us(&buckets), client));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_separate_buckets() {
        let limits = Limits {
            client_sessions: Rate {
                burst: 3,
                per_min: 60,
            },
            ..Limits::default()
        };
        let mut clients = Clients::default();
        let mut begin = |now_us, conn: u64, client: u64| {
            clients.add_connection(ConnId(conn), ClientKey(client));
            clients.take_token(&limits, now_us, ConnId(conn), LimitedAction::Begin)
        };
        let taken = (0..9).filter(|conn| begin(1, *conn, 7)).count();
        assert_eq!(taken, 3);
        assert!(begin(1, 20, 8), "another address");
        assert!(begin(1_000_002, 21, 7), "one a second");
        assert!(!begin(1_000_002, 22, 7));
        assert_eq!(clients.buckets.len(), 2);
    }

    #[test]
    fn a_flood_of_clients_takes_bounded_room_and_frees_none_that_did_much() {
        let limits = Limits {
            client_sessions: Rate {
                burst: 3,
                per_min: 60,
            },
            ..Limits::default()
        };
        let mut clients = Clients::default();
        let mut begin = |client: u64| {
            clients.add_connection(ConnId(client), ClientKey(client));
            clients.take_token(&limits, 1, ConnId(client), LimitedAction::Begin)
        };
        assert_eq!((0..9).filter(|_| begin(7)).count(), 3);
        // All at the same time, so that nobody's buckets are full again.
        let flood = 100..100 + 2 * REMEMBERED as u64;
        assert!(flood.into_iter().all(&mut begin));
        assert!(!begin(7), "it did more than the others");
        assert!(begin(8));
        assert_eq!(clients.buckets.len(), REMEMBERED);
        assert_eq!(clients.by_full_us.len(), REMEMBERED);
    }
}
