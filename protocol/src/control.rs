//! Messages between a participant's page and the server, over one WebSocket, in order.
//!
//! A message is a byte [`crate::VERSION`] and then its postcard encoding. Times are microseconds:
//! `sent_us` on the sender's monotonic clock, `server_us` and `t0_us` on the server's clock
//! (microseconds since the Unix epoch, steady while the server runs).

mod chat;
mod client;
mod directives;
mod exchange;
mod plan;
mod server;
mod upload;
mod view;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{DecodeError, VERSION};

pub use chat::{ChatMember, ChatMessage, ChatView, MAX_CHAT_BYTES, MessageRefusal};
pub use client::{Answer, ClientMessage, Draft, Entry};
pub use directives::ShownButtons;
pub use exchange::{AttentionCheck, DeskMessage, Exchange, MAX_DESK_TEXT};
pub use plan::{IceServer, Plan, TurnLimit};
pub use server::{EndReason, HostView, MAX_PART, Refusal, Return, ServerMessage};
pub use upload::{Block, KeyEvent, Misprediction, Recount, Timing, Upload};
pub use view::{
    Ability, Absent, Ask, AtTimeout, Device, Farewell, Lack, LobbyChoice, Onward, StageView, Trial,
    Waiting,
};

/// The longest message, bytes.
pub const MAX_MESSAGE: usize = 256 * 1024;

/// The silence of a seat after which a page reports it, milliseconds.
pub const SILENT_MS: u32 = 250;

/// How datagrams travel to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum Link {
    /// WebRTC data channel.
    Direct,
    /// Through the server's WebSockets.
    Relay,
}

/// Encodes a message: the version and then postcard.
pub fn encode<M: Serialize>(message: &M) -> Vec<u8> {
    postcard::to_extend(message, vec![VERSION]).expect("a message has no map of unknown length")
}

/// Decodes a message.
///
/// # Errors
/// [`DecodeError`] for another version, a message over [`MAX_MESSAGE`], or malformed bytes.
pub fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, DecodeError> {
    if bytes.len() > MAX_MESSAGE {
        return Err(DecodeError::TooLong {
            len: bytes.len(),
            limit: MAX_MESSAGE,
        });
    }
    match bytes.split_first() {
        Some((&VERSION, body)) => match postcard::take_from_bytes(body) {
            Ok((message, [])) => Ok(message),
            _ => Err(DecodeError::Malformed("control message")),
        },
        Some((&found, _)) => Err(DecodeError::Version { found }),
        None => Err(DecodeError::Malformed("control message")),
    }
}
