//! Allocation of one client: a relayed address, the peers that may send to it, and its budget of bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use turn_types::attribute::{Data, XorPeerAddress};
use turn_types::channel::ChannelData;
use turn_types::message::DATA;
use turn_types::stun::attribute::{AttributeWrite, ErrorCode};
use turn_types::stun::message::{
    Message, MessageWrite as _, MessageWriteExt as _, MessageWriteVec,
};

use super::RelayLimits;

/// How long an allocation lasts unless it is renewed, seconds. Source: RFC 8656 §3.2.
pub(super) const LIFE_S: u32 = 600;

/// Source: RFC 8656 §9 (permission), §12 (channel).
const PERMISSION_S: u64 = 300;
const CHANNEL_S: u64 = 600;

/// The allocation of a client.
pub(super) struct Allocation {
    pub(super) username: String,
    /// The request that made it, for a client that did not hear the answer.
    pub(super) made_by: u128,
    pub(super) port: u16,
    pub(super) expires_us: u64,
    /// All relayed addresses share one IP address, and permissions are for IP addresses: there is only this one.
    permitted_until_us: u64,
    /// From channel to the peer's port and its end.
    channels: BTreeMap<u16, (u16, u64)>,
    budget: f64,
    filled_us: u64,
}

impl Allocation {
    /// An allocation that lets nobody speak yet.
    pub(super) fn new(
        now_us: u64,
        made_by: u128,
        username: &str,
        port: u16,
        limits: &RelayLimits,
    ) -> Self {
        Self {
            username: username.into(),
            made_by,
            port,
            expires_us: now_us + u64::from(LIFE_S) * 1_000_000,
            permitted_until_us: 0,
            channels: BTreeMap::new(),
            budget: f64::from(limits.bytes_burst),
            filled_us: now_us,
        }
    }

    /// True if it has not expired.
    pub(super) fn is_alive(&self, now_us: u64) -> bool {
        self.expires_us > now_us
    }

    /// Lets the other clients of this server speak for a while.
    pub(super) fn permit_peer(&mut self, now_us: u64) {
        self.permitted_until_us = now_us + PERMISSION_S * 1_000_000;
    }

    /// True if the other clients of this server may speak.
    pub(super) fn is_permitted(&self, now_us: u64) -> bool {
        self.is_alive(now_us) && self.permitted_until_us > now_us
    }

    /// Binds a channel to a peer, or renews it; `most` are held at once.
    ///
    /// # Errors
    /// The code of an error; nothing is changed then.
    pub(super) fn bind(
        &mut self,
        now_us: u64,
        channel: u16,
        port: u16,
        most: usize,
    ) -> Result<(), u16> {
        self.channels.retain(|_, (_, until_us)| *until_us > now_us);
        let is_other =
            |(number, (bound, _)): (&u16, &(u16, u64))| (*number == channel) != (*bound == port);
        if self.channels.iter().any(is_other) {
            return Err(ErrorCode::BAD_REQUEST);
        }
        if self.channels.len() >= most && !self.channels.contains_key(&channel) {
            return Err(ErrorCode::INSUFFICIENT_CAPACITY);
        }
        let until_us = now_us + CHANNEL_S * 1_000_000;
        self.channels.insert(channel, (port, until_us));
        self.permit_peer(now_us);
        Ok(())
    }

    /// The port of the peer that a channel is bound to.
    pub(super) fn bound_channel(&self, now_us: u64, channel: u16) -> Option<u16> {
        let (port, until_us) = self.channels.get(&channel)?;
        (*until_us > now_us).then_some(*port)
    }

    /// Takes bytes out of the budget, which fills steadily.
    pub(super) fn has_budget(&mut self, now_us: u64, bytes: usize, limits: &RelayLimits) -> bool {
        let filled = now_us.saturating_sub(self.filled_us) as f64 / 1e6;
        self.budget = (self.budget + filled * f64::from(limits.bytes_per_s))
            .min(f64::from(limits.bytes_burst));
        self.filled_us = now_us;
        let enough = self.budget >= bytes as f64;
        if enough {
            self.budget -= bytes as f64;
        }
        enough
    }

    /// Data from a peer as this client wants it: over the channel that it bound, or as an indication.
    pub(super) fn wrap_data(&self, now_us: u64, peer: SocketAddr, data: &[u8]) -> Vec<u8> {
        let is_bound = |(_, (port, until_us)): &(&u16, &(u16, u64))| {
            *port == peer.port() && *until_us > now_us
        };
        if let Some((&channel, _)) = self.channels.iter().find(is_bound) {
            let mut bytes = vec![0; 4 + data.len()];
            ChannelData::new(channel, data).write_into_unchecked(&mut bytes);
            return bytes;
        }
        let mut message = Message::builder_indication(DATA, MessageWriteVec::new());
        let transaction = message.transaction_id();
        put(&mut message, &XorPeerAddress::new(peer, transaction));
        put(&mut message, &Data::new(data));
        message.finish()
    }
}

/// Adds an attribute.
pub(super) fn put(message: &mut MessageWriteVec, attribute: &dyn AttributeWrite) {
    message
        .add_attribute(attribute)
        .expect("a frame is bounded, and nothing was signed");
}
