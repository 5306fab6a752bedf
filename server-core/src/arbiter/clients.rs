//! Clients: how often pages of one network address may begin sessions, try wrong codes, and write into the log. The
//! arbiter knows an address by a key alone, and only in memory.

use std::collections::BTreeMap;

use super::ConnId;
use super::bucket::Bucket;
use crate::limits::{Limits, Rate};

/// A network address, as the shell names it: not the address itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientKey(pub u64);

/// Clients that are remembered before those are forgotten that did nothing lately.
const REMEMBERED: usize = 10_000;

/// An action that is limited by client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
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
        deed: Deed,
    ) -> bool {
        let Some(client) = self.by_conn.get(&conn) else {
            return true;
        };
        if self.buckets.len() >= REMEMBERED && !self.buckets.contains_key(client) {
            (self.buckets)
                .retain(|_, buckets| buckets.iter().any(|bucket| !bucket.is_full(now_us)));
        }
        let Rate { burst, per_min } = match deed {
            Deed::Begin => limits.client_sessions,
            Deed::WrongCode => limits.client_wrong_codes,
            Deed::Log => limits.client_log_lines,
        };
        let buckets = self.buckets.entry(*client).or_default();
        let each_us = 60_000_000 / u64::from(per_min.max(1));
        buckets[deed as usize].take_token_of(now_us, each_us, u64::from(burst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_separate_buckets_and_are_forgotten_when_these_are_full_again() {
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
            clients.take_token(&limits, now_us, ConnId(conn), Deed::Begin)
        };
        let taken = (0..9).filter(|conn| begin(1, *conn, 7)).count();
        assert_eq!(taken, 3);
        assert!(begin(1, 20, 8), "another address");
        assert!(begin(1_000_002, 21, 7), "one a second");
        assert!(!begin(1_000_002, 22, 7));
        for client in 100..100 + 2 * REMEMBERED as u64 {
            begin(100_000_000 + client * 1_000_000, 23, client);
        }
        assert!(clients.buckets.len() <= REMEMBERED);
    }
}
