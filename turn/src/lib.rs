//! An embedded STUN and TURN server, so that pages find each other across NATs and firewalls without a third party.
//!
//! It relays between its own clients alone, and among those only between pages of one match: a relayed address is
//! a number in a table, not a socket. So a credential reaches no other machine, and the one port is all that a
//! firewall must let through. [`Relay`] is the protocol without sockets; the server has the sockets around it.
//!
//! Source: RFC 8489 (STUN), RFC 8656 (TURN). Not here: TCP allocations (RFC 6062), IPv6 beside IPv4 in one
//! allocation, EVEN-PORT.

#![forbid(unsafe_code)]

mod allocation;
mod credentials;
mod framing;
mod known_episodes;
mod relay;
#[cfg(test)]
mod tests;

use std::net::Ipv6Addr;
use std::time::Duration;

use protocol::Seat;
use protocol::control::IceServer;

pub use credentials::Secret;
pub use framing::{StreamFrame, measure};
pub use relay::{Client, Relay, Transmit};

/// Limits of the relay.
#[derive(Clone, Debug)]
pub struct RelayLimits {
    /// Allocations at the same time.
    pub allocations: usize,
    /// Allocations of one seat of an episode at the same time: its page has one for each peer, transport and network
    /// interface.
    pub allocations_each: usize,
    /// Channels of one allocation.
    pub channels: usize,
    /// TCP connections at the same time.
    pub streams: usize,
    /// Bytes of one datagram or frame; longer ones are dropped, and the TCP connection that brings one is closed.
    pub frame_bytes: usize,
    /// Bytes that one allocation may send in a second, on average; the rest is dropped.
    pub bytes_per_s: u32,
    /// Bytes that one allocation may send in a burst.
    pub bytes_burst: u32,
    /// Frames that wait for a slow TCP connection; more are dropped.
    pub waiting: usize,
    /// Time for which a TCP connection may have no allocation, and until an unfinished frame is whole.
    pub hello: Duration,
}

impl Default for RelayLimits {
    fn default() -> Self {
        Self {
            allocations: 8_192,
            allocations_each: 128,
            channels: 64,
            streams: 2_000,
            frame_bytes: 2_048,
            bytes_per_s: 125_000,
            bytes_burst: 250_000,
            waiting: 256,
            hello: Duration::from_secs(10),
        }
    }
}

/// The lifetime of a credential, seconds: longer than a match lasts.
pub const CREDENTIAL_S: u64 = 6 * 3_600;

/// The server's address for pages, and the secret that makes their credentials.
#[derive(Clone, Debug)]
pub struct Issuer {
    secret: Secret,
    host: String,
    port: u16,
}

impl Issuer {
    /// `host` is a name or an address as the pages can reach it.
    pub fn new(secret: Secret, host: &str, port: u16) -> Self {
        let is_v6 = host.parse::<Ipv6Addr>().is_ok();
        Self {
            secret,
            host: if is_v6 {
                format!("[{host}]")
            } else {
                host.into()
            },
            port,
        }
    }

    /// The ICE servers for a page of an episode: STUN, and TURN over UDP and TCP with a separate credential.
    ///
    /// The user name contains its expiry and, as a hash, its episode.
    pub fn ice_servers(&self, now_us: u64, episode: &str, seat: Seat) -> Vec<IceServer> {
        let Self { secret, host, port } = self;
        let expires_s = now_us / 1_000_000 + CREDENTIAL_S;
        let name = format!("{}.{}", secret.group(episode), seat.0);
        let (username, credential) = secret.issue(expires_s, &name);
        vec![
            IceServer {
                urls: vec![format!("stun:{host}:{port}")],
                username: None,
                credential: None,
            },
            IceServer {
                urls: vec![
                    format!("turn:{host}:{port}?transport=udp"),
                    format!("turn:{host}:{port}?transport=tcp"),
                ],
                username: Some(username),
                credential: Some(credential),
            },
        ]
    }
}
