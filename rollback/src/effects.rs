//! What a session gives back: packets, events, statistics, refusals.

use protocol::{DecodeError, MAX_SEATS, Seat, Tick};

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<'a> {
    /// To whom.
    pub to: Seat,
    /// What; the memory is reused for the next packet.
    pub bytes: &'a [u8],
}

/// Something that happened in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Predictions were wrong and their ticks were simulated again.
    RolledBack {
        /// Ticks simulated when it happened.
        at: Tick,
        /// How many of them were taken back.
        depth: u8,
    },
    /// The prediction window is used up: the simulation waits for a peer.
    Held {
        /// The tick that waits.
        since: Tick,
    },
    /// The simulation goes on.
    Resumed {
        /// The tick that waited first.
        since: Tick,
        /// How long the hold was, milliseconds.
        held_ms: u32,
    },
    /// The end of the episode is confirmed.
    Over {
        /// Ticks played.
        ticks: Tick,
    },
}

/// What a session did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How often ticks were taken back.
    pub rollbacks: u64,
    /// The most ticks taken back at once.
    pub max_depth: u8,
    /// Ticks simulated again.
    pub resimulated: u64,
    /// Inputs of each seat that came after their tick was simulated with a prediction; 0 past the last seat.
    pub predicted: [u32; MAX_SEATS],
    /// Those of them for which the prediction was wrong.
    pub mispredicted: [u32; MAX_SEATS],
    /// Time held at the end of the prediction window, microseconds; a hold counts when it is over.
    pub held_us: u64,
    /// Packets handed out by `poll_transmit`.
    pub datagrams_sent: u64,
    /// Their bytes, without any header of the transport.
    pub bytes_sent: u64,
    /// Packets given to `handle_datagram`.
    pub datagrams_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Received packets that were refused.
    pub dropped: u64,
    /// Inputs that contradicted an earlier one of the same seat and tick; the earlier one stays.
    pub equivocations: u64,
}

/// Why a packet was refused. The session is then unchanged but for its statistics.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatagramError {
    /// Not a datagram of this version and layout.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Of another episode.
    #[error("the datagram belongs to another episode")]
    Era,
    /// Not from another person's seat.
    #[error("seat {} sends no datagrams here", .0.0)]
    Sender(Seat),
    /// It acknowledges an input that was never made.
    #[error("a receipt for tick {}, which was never sent", .0.0)]
    Receipt(Tick),
}
