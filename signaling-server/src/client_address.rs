//! The address of a client: the address of the connection, or the one that a trusted proxy forwards. Addresses are kept
//! only in memory, and never logged.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::OnceLock;

use axum::http::HeaderMap;
use server_core::arbiter::ClientKey;

/// The header in which proxies forward addresses; each adds the address that it sees at the end.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The address of a client, as limits count: of IPv6 the first 64 bits, as one household has all that begin so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// The client with this address.
    pub fn new(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
            }
        })
    }

    /// The client of a request. Forwarded addresses count only from a trusted proxy: the last one that is not a trusted
    /// proxy.
    pub fn of_request(peer: IpAddr, headers: &HeaderMap, trusted: &[IpAddr]) -> Self {
        let is_trusted = |address: &IpAddr| trusted.contains(&address.to_canonical());
        if !is_trusted(&peer) {
            return Self::new(peer);
        }
        let values = headers.get_all(FORWARDED_FOR).into_iter();
        let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
        let forwarded = texts.iter().rev().flat_map(|text| text.rsplit(','));
        // Further left is what the client says itself, so a text that is not an address ends the search.
        let addresses = forwarded.map_while(|text| read_address(text.trim()));
        let client = addresses.into_iter().find(|address| !is_trusted(address));
        Self::new(client.unwrap_or(peer))
    }

    /// Returns a key that identifies the client while the program runs, and does not reveal the address.
    pub fn key(&self) -> ClientKey {
        static STATE: OnceLock<RandomState> = OnceLock::new();
        ClientKey(STATE.get_or_init(RandomState::new).hash_one(self))
    }
}

/// An address, as proxies write it: also in brackets, or with a port.
fn read_address(text: &str) -> Option<IpAddr> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let with_port = || {
        text.parse()
            .ok()
            .map(|address: std::net::SocketAddr| address.ip())
    };
    bare.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn client(peer: &str, forwarded: &[&str], trusted: &[&str]) -> ClientAddress {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::try_from(*value).unwrap());
        }
        let trusted: Vec<IpAddr> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        ClientAddress::of_request(peer.parse().unwrap(), &headers, &trusted)
    }

    fn address(text: &str) -> ClientAddress {
        ClientAddress::new(text.parse().unwrap())
    }

    #[test]
    fn a_forwarded_address_counts_from_a_trusted_proxy_alone() {
        let forged = ["198.51.100.7"];
        assert_eq!(client("203.0.113.1", &forged, &[]), address("203.0.113.1"));
        assert_eq!(
            client("203.0.113.1", &forged, &["127.0.0.1"]),
            address("203.0.113.1")
        );
        assert_eq!(
            client("127.0.0.1", &forged, &["127.0.0.1"]),
            address("198.51.100.7")
        );
        assert_eq!(
            client("::ffff:127.0.0.1", &forged, &["127.0.0.1"]),
            address("198.51.100.7")
        );
        assert_eq!(
            client("127.0.0.1", &[], &["127.0.0.1"]),
            address("127.0.0.1")
        );
    }

    #[test]
    fn the_last_address_that_is_no_proxy_counts_whatever_stands_before_it() {
        let trusted = ["127.0.0.1", "10.0.0.2"];
        let chain = ["1.1.1.1, 198.51.100.7, 10.0.0.2"];
        assert_eq!(
            client("127.0.0.1", &chain, &trusted),
            address("198.51.100.7")
        );
        let lines = ["1.1.1.1", "198.51.100.7:4711"];
        assert_eq!(
            client("127.0.0.1", &lines, &trusted),
            address("198.51.100.7")
        );
        let garbage = ["1.1.1.1, nonsense"];
        assert_eq!(
            client("127.0.0.1", &garbage, &trusted),
            address("127.0.0.1")
        );
        let six = ["[2001:db8:1:2:3::4]"];
        assert_eq!(
            client("127.0.0.1", &six, &trusted),
            address("2001:db8:1:2::9")
        );
    }

    #[test]
    fn ipv6_counts_by_its_first_64_bits() {
        assert_eq!(address("2001:db8:1:2::1"), address("2001:db8:1:2:ffff::9"));
        assert_ne!(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_eq!(address("192.0.2.1").key(), address("192.0.2.1").key());
        assert_ne!(address("192.0.2.1").key(), address("192.0.2.2").key());
    }
}
