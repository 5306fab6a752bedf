//! The buttons by which people tell AI partners what to do.

use serde::{Deserialize, Serialize};

use crate::{Era, Seat};

/// The buttons for an AI partner on a page, and their effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct ShownButtons {
    /// The episode.
    pub era: Era,
    /// The seat of the AI partner.
    pub seat: Seat,
    /// Its name, as participants read it.
    pub name: String,
    /// The labels of the buttons.
    pub labels: Vec<String>,
    /// The button whose directive the AI partner follows; `None` before the first one, or if the partner has another
    /// directive.
    pub followed: Option<u8>,
    /// The button whose last press by the person of this page had no effect.
    pub refused: Option<u8>,
}
