//! How datagrams travel to one peer: over the data channel while it carries, else through the server.
//!
//! This module must not know of WebRTC or sockets; it is told what opened, closed and came.

use protocol::control::Link;

/// How long the data channel has to come up before play starts through the server, microseconds.
pub const DIRECT_WITHIN_US: u64 = 5_000_000;
/// A data channel that carried nothing for this long counts as silent, microseconds.
const SILENT_US: u64 = 1_000_000;
/// How long a data channel in doubt is not relied on, microseconds.
const DOUBTED_US: u64 = 10_000_000;

/// The two ways to one peer.
#[derive(Debug)]
pub struct PeerLink {
    /// Whether the data channel is open.
    open: bool,
    /// When a packet last came over the data channel, or when it opened.
    direct_us: u64,
    /// When a packet last came either way.
    heard_us: u64,
    /// Until then the data channel may carry one way only.
    doubted_us: u64,
    told: Link,
}

impl Default for PeerLink {
    fn default() -> Self {
        Self {
            open: false,
            direct_us: 0,
            heard_us: 0,
            doubted_us: 0,
            told: Link::Relay,
        }
    }
}

impl PeerLink {
    /// The data channel opened.
    pub fn opened(&mut self, now_us: u64) {
        self.open = true;
        self.direct_us = now_us;
    }

    /// The data channel closed.
    pub fn closed(&mut self) {
        self.open = false;
    }

    /// A packet came.
    pub fn heard(&mut self, now_us: u64, over: Link) {
        self.heard_us = now_us;
        if over == Link::Direct {
            self.direct_us = now_us;
        }
    }

    /// Packets do not seem to arrive at the other end, whatever comes from there.
    pub fn doubt(&mut self, now_us: u64) {
        self.doubted_us = now_us + DOUBTED_US;
    }

    /// Whether the data channel is open, carrying or not. A silent one is still tried with every packet,
    /// because otherwise neither side would learn that it carries again.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// How a packet should travel now.
    pub fn choose(&self, now_us: u64) -> Link {
        let carries = now_us.saturating_sub(self.direct_us) <= SILENT_US;
        if self.open && carries && now_us >= self.doubted_us {
            Link::Direct
        } else {
            Link::Relay
        }
    }

    /// The way chosen, if it differs from what was told last.
    pub fn change(&mut self, now_us: u64) -> Option<Link> {
        let link = self.choose(now_us);
        let changed = link != self.told;
        self.told = link;
        changed.then_some(link)
    }

    /// Whether the peer was heard within the last `within_us`.
    pub fn is_alive(&self, now_us: u64, within_us: u64) -> bool {
        now_us.saturating_sub(self.heard_us) <= within_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn play_starts_through_the_server_and_turns_direct() {
        let mut link = PeerLink::default();
        assert_eq!(link.choose(0), Link::Relay);
        assert_eq!(link.change(0), None);
        link.opened(300_000);
        assert_eq!(link.change(300_000), Some(Link::Direct));
        assert_eq!(link.change(300_001), None);
    }

    #[test]
    fn a_silent_channel_gives_way_and_comes_back() {
        let mut link = PeerLink::default();
        link.opened(0);
        link.heard(500_000, Link::Direct);
        assert_eq!(link.choose(1_500_000), Link::Direct);
        link.heard(1_500_001, Link::Relay);
        assert_eq!(
            link.change(1_500_001),
            None,
            "the relay is what was told last"
        );
        assert_eq!(link.choose(1_500_001), Link::Relay);
        assert!(link.is_open());
        link.heard(2_000_000, Link::Direct);
        assert_eq!(link.change(2_000_000), Some(Link::Direct));
    }

    #[test]
    fn a_channel_in_doubt_is_helped_by_the_relay_for_a_while() {
        let mut link = PeerLink::default();
        link.opened(0);
        link.doubt(500_000);
        link.heard(600_000, Link::Direct);
        assert_eq!(link.choose(600_000), Link::Relay);
        assert!(link.is_open());
        let later = 500_000 + DOUBTED_US;
        link.heard(later, Link::Direct);
        assert_eq!(link.choose(later), Link::Direct);
    }

    #[test]
    fn a_closed_channel_is_left_at_once() {
        let mut link = PeerLink::default();
        link.opened(0);
        link.heard(10, Link::Direct);
        assert_eq!(link.change(10), Some(Link::Direct));
        link.closed();
        assert_eq!(link.change(11), Some(Link::Relay));
        assert!(!link.is_open());
    }

    #[test]
    fn a_peer_is_alive_by_either_way() {
        let mut link = PeerLink::default();
        link.heard(5_000_000, Link::Relay);
        assert!(link.is_alive(5_900_000, 1_000_000));
        assert!(!link.is_alive(6_100_000, 1_000_000));
    }
}
