//! The output of a session: packets, events, statistics, refusals.

use env_core::Action;
use env_core::contract::StateError;
use protocol::{DecodeError, Life, MAX_SEATS, Seat, Tick};

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<'a> {
    /// The seat of the receiver.
    pub to: Seat,
    /// The bytes; the memory is reused for the next packet.
    pub bytes: &'a [u8],
}

/// Something that happened in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEvent {
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
    /// The simulation continues.
    Resumed {
        /// The tick that waited first.
        since: Tick,
        /// How long the hold was, milliseconds.
        held_ms: u32,
    },
    /// An input came, and another action had been shown for it. There is one event for each wrong prediction that was
    /// simulated in its place, in order, even if another prediction, right or wrong, had replaced it before the input
    /// came.
    Mispredicted {
        /// The seat.
        seat: Seat,
        /// For which tick.
        tick: Tick,
        /// The action that was simulated.
        predicted: Action,
        /// The action that came.
        actual: Action,
        /// The time from the simulation with this prediction to the next simulation of the tick or to the arrival of
        /// the input, microseconds; 0 if both were in the same call, so that nobody saw it.
        shown_us: u64,
    },
    /// Ticks are due later than before, because a page or the network could not keep up.
    Delayed {
        /// The first tick that is due later.
        tick: Tick,
        /// How much later than at first, milliseconds.
        delay_ms: u32,
    },
    /// The local seat has changed hands: the session stands still. Another session must be resumed to continue to play.
    Lost {
        /// The first tick that this page does not play.
        tick: Tick,
    },
    /// The end of the episode is confirmed. This event comes again if the server cuts a seat before it.
    Over {
        /// Ticks played.
        ticks: Tick,
    },
}

/// Counts of a session's work so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How often ticks were taken back.
    pub rollbacks: u64,
    /// The most ticks taken back in one rollback.
    pub max_depth: u8,
    /// Ticks simulated again.
    pub resimulated: u64,
    /// Inputs of each seat that came after their tick was simulated with a prediction, even if the tick is now beyond
    /// an end; 0 past the last seat.
    pub predicted: [u32; MAX_SEATS],
    /// Inputs among them for which the first prediction was wrong.
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
    /// The same by reason.
    pub refused: Refusals,
    /// Inputs that contradicted an earlier one of the same seat and tick; the earlier one stays.
    pub equivocations: u64,
}

/// Received packets that were refused, by reason: the variants of [`DatagramError`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// [`DatagramError::Decode`].
    pub malformed: u64,
    /// [`DatagramError::Era`].
    pub era: u64,
    /// [`DatagramError::Channel`].
    pub channel: u64,
    /// [`DatagramError::Life`].
    pub life: u64,
    /// [`DatagramError::Sender`].
    pub sender: u64,
    /// [`DatagramError::Receipt`].
    pub receipt: u64,
}

impl Refusals {
    pub(crate) fn count(&mut self, error: &DatagramError) {
        *match error {
            DatagramError::Decode(_) => &mut self.malformed,
            DatagramError::Era => &mut self.era,
            DatagramError::Channel { .. } => &mut self.channel,
            DatagramError::Life { .. } => &mut self.life,
            DatagramError::Sender(_) => &mut self.sender,
            DatagramError::Receipt(_) => &mut self.receipt,
        } += 1;
    }
}

/// The reason why a packet was refused. The session is then unchanged, except for its statistics.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatagramError {
    /// Not a datagram of this version and layout.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Of another episode.
    #[error("the datagram belongs to another episode")]
    Era,
    /// It names another seat than the seat of its channel.
    #[error("a datagram of seat {} in the channel of seat {}", .named.0, .channel.0)]
    Channel {
        /// The seat whose channel it is.
        channel: Seat,
        /// The seat that it names.
        named: Seat,
    },
    /// Of another page than the one that plays the seat now.
    #[error("seat {} is in life {}, and the datagram of life {}", .seat.0, .present.0, .found.0)]
    Life {
        /// The seat.
        seat: Seat,
        /// Its life, as known here.
        present: Life,
        /// The life that the datagram names.
        found: Life,
    },
    /// Not from another person's seat.
    #[error("seat {} sends no datagrams here", .0.0)]
    Sender(Seat),
    /// It acknowledges an input that was never made.
    #[error("a receipt for tick {}, which was never sent", .0.0)]
    Receipt(Tick),
}

/// The reason why a change was refused. The session is then unchanged. After each reason except [`ChangeError::Order`],
/// this page cannot continue with its data: it must take its seat back from the server's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// A change before it is missing.
    #[error("change {found} came before change {expected}")]
    Order {
        /// The number of the next change.
        expected: u16,
        /// The number that came.
        found: u16,
    },
    /// No such seat.
    #[error("there is no seat {}", .0.0)]
    Seat(Seat),
    /// No episode is so long.
    #[error("a change at tick {}, beyond any episode", .0.0)]
    Tick(Tick),
    /// Its tick is final here, or precedes an earlier change of the seat.
    #[error("a change at tick {}, which is settled up to tick {}", .tick.0, .settled.0)]
    Settled {
        /// The tick of the change.
        tick: Tick,
        /// The first tick at which it could be.
        settled: Tick,
    },
    /// The inputs in the change begin after the inputs of this page.
    #[error("inputs of seat {} from tick {} are missing", .seat.0, .from.0)]
    Gap {
        /// The seat.
        seat: Seat,
        /// The first input that is missing.
        from: Tick,
    },
}

/// The reason why a session cannot begin in the middle of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The state or the memory of a partner cannot be taken up.
    #[error(transparent)]
    State(#[from] StateError),
    /// The state is another one than was meant.
    #[error("a state with digest {found:016x} instead of {expected:016x}")]
    Digest {
        /// The digest that was announced.
        expected: u64,
        /// The digest of the state.
        found: u64,
    },
    /// The changes do not fit the episode.
    #[error(transparent)]
    Change(#[from] ChangeError),
}
