//! Signals between two pages that connect by WebRTC: JSON inside [`crate::control::ClientMessage::Signal`], which the
//! server forwards. Where a study hides addresses, the server reads the signals first.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::DecodeError;

/// The longest signal, bytes.
pub const MAX_SIGNAL: usize = 16 * 1024;

/// A signal from one page to another to connect. Each names its connection by a number that the offering page draws.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum Signal {
    /// From the side that answers: it has no connection and wants one.
    Call,
    /// Describes the offering side.
    Offer {
        /// The number of the new connection.
        connection: NonZeroU32,
        /// The session description.
        sdp: String,
    },
    /// Describes the answering side.
    Answer {
        /// The number of the offer.
        connection: NonZeroU32,
        /// The session description.
        sdp: String,
    },
    /// A way to the sender.
    Candidate {
        /// The number of its connection.
        connection: NonZeroU32,
        /// The candidate, as the browser writes it.
        candidate: String,
        /// `sdpMid` of the candidate.
        mid: Option<String>,
        /// `sdpMLineIndex` of the candidate.
        line: Option<u16>,
    },
}

/// Encodes a signal.
pub fn encode(signal: &Signal) -> String {
    serde_json::to_string(signal).expect("a signal is strings and numbers")
}

/// Decodes a signal.
///
/// # Errors
/// [`DecodeError`] for a signal over [`MAX_SIGNAL`], or malformed JSON.
pub fn decode(json: &str) -> Result<Signal, DecodeError> {
    if json.len() > MAX_SIGNAL {
        return Err(DecodeError::TooLong {
            len: json.len(),
            limit: MAX_SIGNAL,
        });
    }
    serde_json::from_str(json).map_err(|_| DecodeError::Malformed("signal"))
}
