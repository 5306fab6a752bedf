//! The one connection to the server: when it is opened, when it is abandoned, and the pauses before the next attempt.
//!
//! This module must not know what the messages mean, except the first answer, which lets the page in.

/// Pauses before the next attempt to connect, microseconds; the last one repeats.
pub const PAUSES_US: [u64; 6] = [250_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000];

/// An attempt that is neither open nor closed within this time is abandoned, microseconds.
pub const OPEN_WITHIN_US: u64 = 10_000_000;

/// A connection whose server does not answer the first message within this time is abandoned, microseconds.
pub const WELCOME_WITHIN_US: u64 = 10_000_000;

/// The number of a connection: distinguishes its events from those of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SocketId(pub u32);

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is none until then, microseconds.
    Pausing { until_us: u64 },
    /// It is being opened since then.
    Opening { since_us: u64 },
    /// It is open since then, and the server has not let the page in.
    Open { since_us: u64 },
    /// The server has let the page in.
    Welcomed,
    /// There is none until [`Connection::start`].
    Stopped,
}

/// The work that is due at a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Open this connection.
    Open(SocketId),
    /// The present or attempted connection is abandoned.
    GiveUp,
}

/// The connection to the server, or the wish for one.
#[derive(Debug)]
pub(crate) struct Connection {
    state: State,
    socket: SocketId,
    /// Failed attempts since the server last let the page in.
    failures: usize,
    jitter: u64,
}

impl Connection {
    /// Creates a connection that must be opened now; `seed` varies the pauses.
    pub(crate) fn new(now_us: u64, seed: u64) -> Self {
        Self {
            state: State::Pausing { until_us: now_us },
            socket: SocketId(0),
            failures: 0,
            jitter: seed,
        }
    }

    /// True if news of a connection with this number still count.
    pub(crate) fn is_current(&self, socket: SocketId) -> bool {
        let has_one = !matches!(self.state, State::Pausing { .. } | State::Stopped);
        has_one && socket == self.socket
    }

    /// True if messages go out now.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. } | State::Welcomed)
    }

    /// True if the server has let the page in over this connection.
    pub(crate) fn is_welcomed(&self) -> bool {
        self.state == State::Welcomed
    }

    /// True if there will be no other connection by itself.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state == State::Stopped
    }

    /// Failed attempts since the server last let the page in.
    pub(crate) fn failed_attempts(&self) -> usize {
        self.failures
    }

    /// The work that is due, if any.
    pub(crate) fn handle_timeout(&mut self, now_us: u64) -> Option<Due> {
        let (due_us, _) = self.poll_timeout()?;
        if now_us < due_us {
            return None;
        }
        if !matches!(self.state, State::Pausing { .. }) {
            return Some(Due::GiveUp);
        }
        self.socket.0 = self.socket.0.wrapping_add(1);
        self.state = State::Opening { since_us: now_us };
        Some(Due::Open(self.socket))
    }

    /// The time of the next [`Self::handle_timeout`], and its reason.
    pub(crate) fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        match self.state {
            State::Pausing { until_us } => Some((until_us, "connect")),
            State::Opening { since_us } => Some((since_us + OPEN_WITHIN_US, "open")),
            State::Open { since_us } => Some((since_us + WELCOME_WITHIN_US, "welcome")),
            State::Welcomed | State::Stopped => None,
        }
    }

    /// Notes that the connection is open; false if that is no news.
    pub(crate) fn handle_opened(&mut self, now_us: u64) -> bool {
        let is_news = matches!(self.state, State::Opening { .. });
        if is_news {
            self.state = State::Open { since_us: now_us };
        }
        is_news
    }

    /// Notes that the server has let the page in: the next loss starts with short pauses again.
    pub(crate) fn handle_welcome(&mut self) {
        if self.is_open() {
            (self.state, self.failures) = (State::Welcomed, 0);
        }
    }

    /// Forgets the connection and plans the next attempt.
    pub(crate) fn handle_lost(&mut self, now_us: u64) {
        let pause_us = PAUSES_US[self.failures.min(PAUSES_US.len() - 1)];
        self.failures += 1;
        // Pages of a server that restarts must not all come back in the same moment.
        let permille = 750 + self.next_random() % 501;
        let until_us = now_us + pause_us * permille / 1_000;
        self.state = State::Pausing { until_us };
    }

    /// Connects again after [`Self::stop`].
    pub(crate) fn start(&mut self, now_us: u64) {
        if self.is_stopped() {
            self.state = State::Pausing { until_us: now_us };
        }
    }

    /// Ends the connection until [`Self::start`].
    pub(crate) fn stop(&mut self) {
        self.state = State::Stopped;
    }

    /// Source: SplitMix64, by Sebastiano Vigna, in the public domain.
    fn next_random(&mut self) -> u64 {
        self.jitter = self.jitter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.jitter ^ (self.jitter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time of the next attempt.
    fn next_us(connection: &Connection) -> u64 {
        let (due_us, reason) = connection.poll_timeout().unwrap();
        assert_eq!(reason, "connect");
        due_us
    }

    #[test]
    fn pauses_grow_until_the_server_lets_the_page_in() {
        let mut connection = Connection::new(0, 7);
        let mut now_us = 0;
        for pause_us in PAUSES_US.into_iter().chain([5_000_000]) {
            assert!(matches!(
                connection.handle_timeout(now_us),
                Some(Due::Open(_))
            ));
            connection.handle_lost(now_us);
            let waits_us = next_us(&connection) - now_us;
            assert!((pause_us * 3 / 4..=pause_us * 5 / 4).contains(&waits_us));
            assert_eq!(connection.handle_timeout(now_us + waits_us - 1), None);
            now_us += waits_us;
        }
        connection.handle_timeout(now_us);
        assert!(connection.handle_opened(now_us));
        connection.handle_welcome();
        assert!(connection.is_welcomed() && connection.failed_attempts() == 0);
        connection.handle_lost(now_us);
        assert!(next_us(&connection) - now_us <= 312_500);
    }

    #[test]
    fn pages_come_back_at_different_times() {
        let pauses = (0..20).map(|seed| {
            let mut connection = Connection::new(0, seed);
            connection.handle_lost(0);
            next_us(&connection)
        });
        let all: std::collections::BTreeSet<u64> = pauses.collect();
        assert!(all.len() > 15);
    }

    #[test]
    fn an_attempt_that_does_not_open_and_a_server_that_says_nothing_are_given_up() {
        let mut connection = Connection::new(0, 1);
        connection.handle_timeout(0);
        assert_eq!(connection.handle_timeout(OPEN_WITHIN_US - 1), None);
        assert_eq!(connection.handle_timeout(OPEN_WITHIN_US), Some(Due::GiveUp));
        connection.handle_lost(OPEN_WITHIN_US);
        let now_us = next_us(&connection);
        connection.handle_timeout(now_us);
        assert!(connection.handle_opened(now_us));
        let given_up_us = now_us + WELCOME_WITHIN_US;
        assert_eq!(connection.handle_timeout(given_up_us - 1), None);
        assert_eq!(connection.handle_timeout(given_up_us), Some(Due::GiveUp));
    }

    #[test]
    fn news_of_an_earlier_connection_do_not_count() {
        let mut connection = Connection::new(0, 1);
        let Some(Due::Open(first)) = connection.handle_timeout(0) else {
            panic!("it is to be opened");
        };
        assert!(connection.is_current(first));
        connection.handle_lost(0);
        assert!(!connection.is_current(first), "it is gone");
        let now_us = next_us(&connection);
        let Some(Due::Open(second)) = connection.handle_timeout(now_us) else {
            panic!("it is to be opened");
        };
        assert!(connection.is_current(second) && !connection.is_current(first));
    }

    #[test]
    fn a_page_that_stops_connects_no_more_until_it_starts() {
        let mut connection = Connection::new(0, 1);
        connection.handle_timeout(0);
        connection.stop();
        assert_eq!(connection.poll_timeout(), None);
        assert!(connection.is_stopped() && !connection.is_open());
        connection.start(50);
        assert_eq!(next_us(&connection), 50);
    }
}
