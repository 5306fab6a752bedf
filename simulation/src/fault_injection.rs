//! Faults that are injected on purpose, so that the oracles are seen to find them.

use protocol::Seat;
use protocol::datagram::DatagramLayout;

/// The parts that are broken on purpose.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultInjection {
    /// Drafts are acknowledged and never stored.
    pub lose_drafts: bool,
    /// Payments are acknowledged and stored as nothing.
    pub lose_pay: bool,
    /// A crash takes the last write with it although it was acknowledged.
    pub lose_writes: bool,
    /// Pages treat confirmed ticks as final.
    pub settles_early: bool,
    /// Datagrams are rewritten under way.
    pub datagrams: Option<Tamper>,
}

/// Rewrites a datagram, given its layout, the seat of the page that gets it, and datagrams sent before.
pub type Tamper = fn(&mut Vec<u8>, DatagramLayout, Seat, &[Vec<u8>]);
