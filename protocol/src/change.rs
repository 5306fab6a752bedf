//! A seat changes hands in the middle of an episode.
//!
//! Only the server decides this, makes it durable as a record of the episode log, and sends it to every page; all pages
//! apply it at the same tick. The controllers of the header and the changes in their order say who or what played
//! every seat in every tick. This module must not know why a seat changes hands.

use serde::{Deserialize, Serialize};

use crate::{Controller, Life, Seat, Tick};

/// A seat has another controller from a tick on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Change {
    /// Its place in the order of the episode's changes, from 0.
    pub number: u16,
    /// The seat.
    pub seat: Seat,
    /// The first tick of the new controller. Never before an earlier change of the seat, and never before a tick that
    /// is durable.
    pub tick: Tick,
    /// The controller from then on.
    pub controller: Controller,
    /// The life of the seat from then on.
    pub life: Life,
    /// For a person who takes the seat: the tick at which their page begins to simulate. From there on, the others send
    /// it their inputs.
    pub from: Tick,
    /// For a person who loses the seat: their last inputs, ending with that of the tick before `tick`,
    /// because some pages may not have them.
    pub inputs: Vec<u16>,
    /// For a person who takes the seat: the public key of their page.
    pub key: Option<[u8; 32]>,
}

/// The distance beyond the durable ticks at which a person gets a seat, seconds of ticks, so that their page has time
/// to reach it.
pub const LEAD_S: u32 = 1;

/// The presence of a person, as the server knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum Presence {
    /// At the page.
    Here,
    /// The page is out of sight.
    Hidden,
    /// The page is gone, and may come back.
    Gone,
    /// The page is back, and about to take its seat again.
    Returning,
}
