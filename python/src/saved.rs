//! The bytes of a running episode: the state of the world, the values kept beside it, and the partners' states.

use batch::Episode;
use env_core::contract::StateError;
use serde::{Deserialize, Serialize};

/// One instance, to be taken up again by a world or a batch with the same parameters.
#[derive(Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) episode: Episode,
    /// The canonical bytes of the world's state.
    pub(crate) state: Vec<u8>,
    /// The partners' states, by seat.
    pub(crate) partners: Vec<Vec<u8>>,
}

impl Saved {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("plain data serialises into memory")
    }

    /// Reads it back.
    ///
    /// # Errors
    /// [`StateError`] for bytes that are something else.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        match postcard::take_from_bytes(bytes) {
            Ok((saved, [])) => Ok(saved),
            _ => Err(StateError),
        }
    }
}
