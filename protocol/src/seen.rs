//! What a participant saw: which state each frame showed, from what knowledge, and when.
//!
//! A state that was shown follows from the episode's header, the changes and inputs that the page knew, and the tick:
//! so that is what is noted. Inputs that the page had but that never became part of the log, because the episode
//! ended or the seat was cut before them, are here too. This module must not know how frames are drawn.

use crate::Tick;

/// A frame that showed something new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// When it was presented, milliseconds since tick 0 was due.
    pub at_ms: u32,
    /// Ticks that were simulated.
    pub tick: Tick,
    /// How many changes of seats were known.
    pub changes: u16,
    /// The first input of each seat that was missing.
    pub have: Vec<Tick>,
    /// The inputs of each seat that came since the frame before; the last of them is that of the tick before `have`.
    pub fresh: Vec<Vec<u16>>,
    /// Ticks beyond `tick` that were shown ahead.
    pub ahead: u8,
    /// The action of the own seat in the ticks shown ahead for which it was not yet fixed.
    pub wish: u16,
    /// Whether the page was out of sight.
    pub hidden: bool,
}
