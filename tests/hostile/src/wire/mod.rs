//! Coplay's formats, written from `protocol/PROTOCOL.md` alone.
//!
//! It must not use the crate `protocol`: an attacker has the page of prose and no more, and a mistake that both sides
//! share would hide itself.

pub(crate) mod chain;
pub(crate) mod datagram;
mod episode;
pub(crate) mod log;
pub(crate) mod messages;
pub(crate) mod seen;
mod view;

use anyhow::{Context as _, bail};
use serde::{Serialize, de::DeserializeOwned};

/// The version of the formats.
pub(crate) const VERSION: u8 = 6;

/// Encodes a control message.
pub(crate) fn encode<M: Serialize>(message: &M) -> anyhow::Result<Vec<u8>> {
    Ok(postcard::to_extend(message, vec![VERSION])?)
}

/// Decodes a control message.
///
/// # Errors
/// Another version, or bytes that are not such a message.
pub(crate) fn decode<M: DeserializeOwned>(bytes: &[u8]) -> anyhow::Result<M> {
    match bytes.split_first() {
        Some((&VERSION, body)) => postcard::from_bytes(body).context("a control message"),
        Some((version, _)) => bail!("a message of version {version}, not {VERSION}"),
        None => bail!("an empty message"),
    }
}
