//! A peer's input with every call, its effects, and its status.

use protocol::control::{ClientMessage, EndReason};
use protocol::{Seat, Tick};

/// A moment on the two clocks of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The page's own clock, microseconds.
    pub page_us: u64,
    /// The server's clock as the page knows it, microseconds.
    pub server_us: u64,
    /// True if the server's clock is known well enough to start by.
    pub is_set: bool,
}

impl Now {
    /// A moment of the server's clock on the page's.
    pub fn page_us_of(&self, server_us: u64) -> u64 {
        let ahead = server_us.wrapping_sub(self.server_us).cast_signed();
        self.page_us.saturating_add_signed(ahead)
    }

    /// A moment of the page's clock on the server's, microseconds since `t0_us`.
    pub fn since_us(&self, t0_us: u64, page_us: u64) -> i64 {
        let ahead = page_us.wrapping_sub(self.page_us).cast_signed();
        let since = self.server_us.wrapping_sub(t0_us).cast_signed();
        since.saturating_add(ahead)
    }
}

/// An order for the shell.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "an effect is moved once, from a short queue to a socket"
)]
pub enum Effect {
    /// Send a message to the server.
    Send(ClientMessage),
    /// Send a datagram over the data channel to a seat.
    Datagram {
        /// The seat of the receiver.
        to: Seat,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Build the connection to this seat; replace it if there is one already.
    Connect {
        /// The seat of the receiver.
        seat: Seat,
    },
    /// Close the connection to this seat: its page is gone.
    Disconnect {
        /// The seat of the receiver.
        seat: Seat,
    },
}

/// The server's statement of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The reason why it ended.
    pub reason: EndReason,
    /// Ticks in the archive.
    pub ticks: Tick,
    /// Score, from the replica.
    pub score: i64,
    /// Digest of the replica's last state.
    pub digest: u64,
}

/// The state of a peer: what the page shows around the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The world is not there yet.
    Loading,
    /// Ways to the others are looked for.
    Linking,
    /// This page is ready; others are not.
    Ready,
    /// The episode runs, or is about to: see [`crate::Peer::t0_us`].
    Playing,
    /// The world waits for somebody's inputs.
    Held {
        /// Since when, page clock, microseconds.
        since_us: u64,
        /// The seats that are not heard; empty if everybody is.
        seats: Vec<Seat>,
    },
    /// The seat is about to be this page's: it simulates already, or waits for the state to begin with.
    Returning,
    /// Somebody or something else has the seat; it is asked for as soon as the page is in sight and connected.
    Lost,
    /// The environment failed, or cannot be played here; the server knows.
    Stopped,
    /// The end is confirmed here; the server has not confirmed it yet.
    Finished,
    /// The episode is over.
    Over(Verdict),
}
