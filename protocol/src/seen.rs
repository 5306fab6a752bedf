//! What a participant saw: which state each frame showed, from what knowledge, and when.
//!
//! A state that was shown follows from the episode's log, the tick, and how many inputs of each seat the page had:
//! so that is all that is noted. This module must not know how frames are drawn.

use crate::Tick;

/// A frame that showed something new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// When it was presented, milliseconds since tick 0 was due.
    pub at_ms: u32,
    /// Ticks that were simulated.
    pub tick: Tick,
    /// The first input of each seat that was missing.
    pub have: Vec<Tick>,
    /// Ticks beyond `tick` that were shown ahead.
    pub ahead: u8,
    /// The action of the own seat in the ticks shown ahead for which it was not yet fixed.
    pub wish: u16,
    /// Whether the page was out of sight.
    pub hidden: bool,
}
