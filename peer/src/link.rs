//! How datagrams travel to one peer: over the data channel while it carries, else through the server.
//!
//! A channel is trusted once it has brought [`TRUSTED_AFTER`] packets in a row. Silence alone does not end the trust: a
//! page that a busy machine does not run is as silent as a dead channel, and either page may be such a page. So packets
//! travel both ways during a silence. The page gives a channel up once that many packets came through the server while
//! the channel brought nothing. A channel that is given up again and again must carry for longer and longer before it
//! is trusted, so that the link does not flap. Packets are idempotent: for a second after a switch, they travel both
//! ways, too. An open channel that is not trusted is tried with every packet, because otherwise neither side would
//! learn that it carries again. This module must not know of WebRTC or sockets; it only gets what opened, closed and
//! came.

use protocol::control::Link;

/// How long the data channel has to come up before play starts through the server, microseconds.
pub const DIRECT_WITHIN_US: u64 = 5_000_000;
/// A channel is trusted after this many packets in a row, and given up after as many that came through the server alone.
const TRUSTED_AFTER: u32 = 5;
/// How long a channel that lost trust twice must carry without a silence, microseconds; twice as long the next time.
const PROVEN_AFTER_US: u64 = 1_000_000;
/// The longest time it must, microseconds.
const PROVEN_MAX_US: u64 = 16_000_000;
/// Trust that lasted this long cancels earlier losses of trust, microseconds.
const KEPT_US: u64 = 30_000_000;
/// How long packets go both ways after a switch to the channel, microseconds.
const BOTH_US: u64 = 1_000_000;
/// How long packets go both ways when a channel is in doubt, microseconds.
const DOUBTED_US: u64 = 10_000_000;
/// A channel that does not carry for this long is rebuilt, microseconds; twice as long the next time, and so on.
const REBUILT_AFTER_US: u64 = 5_000_000;
/// The longest pause between two attempts, microseconds.
const PAUSE_MAX_US: u64 = 40_000_000;

/// The ways that a packet takes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    /// Over the data channel.
    pub direct: bool,
    /// Through the server.
    pub relay: bool,
}

/// The two ways to one peer.
#[derive(Debug)]
pub struct PeerLink {
    /// Without a packet for this long, a channel is silent.
    silent_us: u64,
    open: bool,
    /// True if a channel was given up before it ever carried.
    failed: bool,
    trusted: bool,
    /// Packets over the channel without a silence between them, and when the first of them came.
    row: u32,
    row_us: u64,
    /// Losses of trust, each soon after the one before.
    lost: u32,
    /// When it was last trusted.
    trusted_us: u64,
    /// When a packet last came over the channel, or when it opened.
    direct_us: u64,
    /// Packets that came through the server since then, and when the first of them came.
    relayed: u32,
    relayed_us: u64,
    /// When a packet last came either way.
    heard_us: Option<u64>,
    both_until_us: u64,
    /// The time at which a channel that does not carry is rebuilt, and the pause after that.
    rebuild_us: u64,
    pause_us: u64,
    told: Link,
}

impl PeerLink {
    /// A way whose channel is being built. A silence of `silent_us` counts as one.
    pub fn new(now_us: u64, silent_us: u64) -> Self {
        Self {
            silent_us,
            open: false,
            failed: false,
            trusted: false,
            row: 0,
            row_us: 0,
            lost: 0,
            trusted_us: 0,
            direct_us: 0,
            relayed: 0,
            relayed_us: 0,
            heard_us: None,
            both_until_us: 0,
            // The first attempt is given the time of two, because nothing carried before it.
            rebuild_us: now_us + 2 * REBUILT_AFTER_US,
            pause_us: 2 * REBUILT_AFTER_US,
            told: Link::Relay,
        }
    }

    /// True if the first connection still has time to open.
    pub fn is_first_attempt(&self, now_us: u64) -> bool {
        !self.failed && !self.open && now_us < self.rebuild_us
    }

    /// The other page has begun to build the data channel: an attempt of this page would only end that one.
    pub fn handle_begun(&mut self, now_us: u64) {
        self.rebuild_us = self.rebuild_us.max(now_us + REBUILT_AFTER_US);
    }

    /// The data channel opened.
    pub fn handle_opened(&mut self, now_us: u64) {
        self.distrust(now_us, now_us);
        (self.open, self.failed) = (true, false);
        (self.direct_us, self.relayed) = (now_us, 0);
    }

    /// The data channel closed, or will not open.
    pub fn handle_closed(&mut self, now_us: u64) {
        self.distrust(now_us, now_us);
        (self.open, self.failed) = (false, true);
    }

    /// A packet came.
    pub fn handle_heard(&mut self, now_us: u64, over: Link) {
        self.heard_us = Some(now_us);
        match over {
            Link::Direct if self.open => self.heard_direct(now_us),
            Link::Direct => {}
            Link::Relay => self.heard_relayed(now_us),
        }
    }

    fn heard_direct(&mut self, now_us: u64) {
        let gap_us = now_us.saturating_sub(self.direct_us);
        if self.row == 0 || gap_us > self.silent_us {
            (self.row, self.row_us) = (0, now_us);
        }
        self.row += 1;
        (self.direct_us, self.relayed) = (now_us, 0);
        let is_proven = now_us.saturating_sub(self.row_us) >= self.proven_us();
        if !self.trusted && self.row >= TRUSTED_AFTER && is_proven {
            (self.trusted, self.trusted_us) = (true, now_us);
            self.both_until_us = now_us + BOTH_US;
        }
    }

    /// The other page is awake, and is heard through the server: a channel that brings nothing meanwhile does not carry.
    fn heard_relayed(&mut self, now_us: u64) {
        if self.relayed == 0 {
            self.relayed_us = now_us;
        }
        self.relayed += 1;
        let is_alone = now_us.saturating_sub(self.relayed_us) > self.silent_us;
        if self.relayed >= TRUSTED_AFTER && is_alone {
            self.distrust(now_us, self.direct_us + self.silent_us);
        }
    }

    /// Packets do not seem to arrive at the other end, whatever comes from there.
    pub fn doubt_link(&mut self, now_us: u64) {
        self.both_until_us = now_us + DOUBTED_US;
    }

    /// The ways for a packet now.
    pub fn ways(&self, now_us: u64) -> Ways {
        let is_sure = self.trusted && !self.is_channel_silent(now_us);
        Ways {
            direct: self.open,
            relay: !is_sure || now_us < self.both_until_us,
        }
    }

    /// True if the channel must be rebuilt now; if so, this counts as done.
    pub fn poll_rebuild(&mut self, now_us: u64) -> bool {
        let is_dead = !self.open || self.is_channel_silent(now_us);
        let due = !self.trusted && is_dead && now_us >= self.rebuild_us;
        if due {
            self.pause_us = (2 * self.pause_us).min(PAUSE_MAX_US);
            self.rebuild_us = now_us + self.pause_us;
            self.open = false;
        }
        due
    }

    /// Returns how packets travel: over the channel as long as it is trusted.
    pub fn link(&self) -> Link {
        if self.trusted {
            Link::Direct
        } else {
            Link::Relay
        }
    }

    /// Returns the chosen link, if it differs from the last one returned.
    pub fn poll_change(&mut self) -> Option<Link> {
        let changed = self.link() != self.told;
        self.told = self.link();
        changed.then_some(self.told)
    }

    /// True if it is known how packets will travel: the channel carries, or does not come up.
    pub fn is_settled(&self) -> bool {
        self.trusted || self.failed
    }

    /// True if the data channel is open, carrying or not.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// True if nothing came either way for long enough, counted from `since_us` at the earliest.
    pub fn is_silent(&self, now_us: u64, since_us: u64) -> bool {
        let from_us = self.heard_us.unwrap_or(0).max(since_us);
        now_us.saturating_sub(from_us) > self.silent_us
    }

    /// How long packets must come without a silence for the channel to be trusted; the first time they are just counted.
    fn proven_us(&self) -> u64 {
        match self.lost {
            0 | 1 => 0,
            lost => (PROVEN_AFTER_US << (lost - 2).min(8)).min(PROVEN_MAX_US),
        }
    }

    fn is_channel_silent(&self, now_us: u64) -> bool {
        now_us.saturating_sub(self.direct_us) > self.silent_us
    }

    /// Trusts the channel no more, which has been dead since `dead_us`.
    fn distrust(&mut self, now_us: u64, dead_us: u64) {
        self.row = 0;
        if std::mem::replace(&mut self.trusted, false) {
            self.pause_us = REBUILT_AFTER_US;
            self.rebuild_us = dead_us + REBUILT_AFTER_US;
            let is_kept = now_us.saturating_sub(self.trusted_us) >= KEPT_US;
            self.lost = if is_kept { 1 } else { self.lost + 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT_US: u64 = 250_000;
    const PERIOD_US: u64 = 16_000;
    const SECOND_US: u64 = 1_000_000;

    fn link() -> PeerLink {
        PeerLink::new(0, SILENT_US)
    }

    /// A link whose channel carried from `from_us` on, five packets.
    fn trusted(from_us: u64) -> PeerLink {
        let mut link = link();
        link.handle_opened(from_us);
        for k in 1..=5 {
            link.handle_heard(from_us + k * PERIOD_US, Link::Direct);
        }
        link
    }

    #[test]
    fn play_starts_through_the_server_and_turns_direct_after_five_packets() {
        let mut link = link();
        let relayed = Ways {
            direct: false,
            relay: true,
        };
        assert_eq!((link.ways(0), link.poll_change()), (relayed, None));
        link.handle_opened(300_000);
        for k in 1..5 {
            link.handle_heard(300_000 + k * PERIOD_US, Link::Direct);
            assert_eq!(link.link(), Link::Relay);
        }
        link.handle_heard(300_000 + 5 * PERIOD_US, Link::Direct);
        assert_eq!(link.poll_change(), Some(Link::Direct));
        assert_eq!(link.poll_change(), None);
    }

    #[test]
    fn a_channel_that_falls_silent_again_and_again_must_carry_for_longer() {
        let mut link = link();
        link.handle_opened(0);
        let mut changes_us = Vec::new();
        // A silence every two seconds, in which the other page is heard through the server.
        for k in 1..60 * SECOND_US / PERIOD_US {
            let now_us = k * PERIOD_US;
            let is_silent = now_us % (2 * SECOND_US) <= 3 * SILENT_US;
            let over = if is_silent { Link::Relay } else { Link::Direct };
            link.handle_heard(now_us, over);
            assert!(link.ways(now_us).relay || link.link() == Link::Direct);
            if link.poll_change().is_some() {
                changes_us.push(now_us);
            }
        }
        assert!((2..=6).contains(&changes_us.len()), "{changes_us:?}");
        // Once it carries well, it is soon trusted, and stays so.
        for k in 0..PROVEN_MAX_US / PERIOD_US + 2 {
            link.handle_heard(60 * SECOND_US + k * PERIOD_US, Link::Direct);
        }
        assert_eq!(link.poll_change(), Some(Link::Direct));
    }

    #[test]
    fn a_page_that_is_heard_by_neither_way_again_and_again_is_no_lost_channel() {
        let mut link = trusted(0);
        assert_eq!(link.poll_change(), Some(Link::Direct));
        // A silence every two seconds, on a machine that has too much to do.
        for k in 6..60 * SECOND_US / PERIOD_US {
            let now_us = k * PERIOD_US;
            let is_silent = (now_us + SECOND_US) % (2 * SECOND_US) <= 3 * SILENT_US;
            if !is_silent {
                link.handle_heard(now_us, Link::Direct);
            }
            let silent_us = now_us - link.direct_us;
            assert!(link.ways(now_us).relay || silent_us <= SILENT_US);
            assert!(!link.poll_rebuild(now_us));
            assert_eq!(link.poll_change(), None, "after {now_us} us");
        }
    }

    #[test]
    fn packets_go_both_ways_for_a_second_after_a_switch() {
        let mut link = trusted(0);
        let trusted_us = 5 * PERIOD_US;
        let mut last_us = trusted_us;
        while last_us < trusted_us + BOTH_US {
            let both = Ways {
                direct: true,
                relay: true,
            };
            assert_eq!(link.ways(last_us), both);
            last_us += PERIOD_US;
            link.handle_heard(last_us, Link::Direct);
        }
        assert!(!link.ways(last_us).relay && link.ways(last_us).direct);
    }

    #[test]
    fn a_silent_channel_is_helped_at_once_given_up_once_the_relay_is_heard_and_comes_back_after_five_in_a_row()
     {
        let mut link = trusted(0);
        let last_us = 5 * PERIOD_US;
        assert_eq!(link.poll_change(), Some(Link::Direct));
        let both = Ways {
            direct: true,
            relay: true,
        };
        let silent_us = last_us + SILENT_US + 1;
        assert_eq!(link.ways(silent_us), both);
        assert_eq!(link.poll_change(), None, "nobody is heard by any way");
        // The other page helps itself likewise.
        let mut now_us = silent_us;
        while link.link() == Link::Direct {
            link.handle_heard(now_us, Link::Relay);
            now_us += PERIOD_US;
        }
        assert!((SILENT_US..SILENT_US + 3 * PERIOD_US).contains(&(now_us - silent_us)));
        assert_eq!(link.ways(now_us), both);
        assert_eq!(link.poll_change(), Some(Link::Relay));
        // Four packets, a gap, and four again are not five in a row.
        for gap_us in [PERIOD_US; 3].into_iter().chain([SILENT_US + 1]) {
            link.handle_heard(now_us, Link::Direct);
            now_us += gap_us;
        }
        for _ in 0..4 {
            link.handle_heard(now_us, Link::Direct);
            now_us += PERIOD_US;
        }
        assert_eq!(link.link(), Link::Relay);
        link.handle_heard(now_us, Link::Direct);
        assert_eq!(link.link(), Link::Direct);
    }

    #[test]
    fn packets_that_waited_for_a_sleeping_page_say_nothing_against_its_channel() {
        let mut link = trusted(0);
        // The packets that came through the server are taken first, all together.
        let awake_us = 5 * PERIOD_US + 2 * SILENT_US;
        (0..30).for_each(|_| link.handle_heard(awake_us, Link::Relay));
        link.handle_heard(awake_us, Link::Direct);
        // Now and then one comes that way alone.
        for k in 1..SECOND_US / PERIOD_US {
            let now_us = awake_us + k * PERIOD_US;
            link.handle_heard(now_us, Link::Relay);
            if k % 8 == 0 {
                link.handle_heard(now_us, Link::Direct);
            }
            assert_eq!(link.link(), Link::Direct);
        }
    }

    #[test]
    fn a_channel_in_doubt_is_helped_by_the_relay_for_a_while() {
        let mut link = trusted(0);
        let mut now_us = 5 * PERIOD_US;
        let doubted_us = 2 * BOTH_US;
        let mut helped_us = Vec::new();
        while now_us < doubted_us + 2 * DOUBTED_US {
            if now_us >= doubted_us && helped_us.len() < 2 {
                link.doubt_link(now_us);
                helped_us.push(now_us);
            }
            link.handle_heard(now_us, Link::Direct);
            if link.ways(now_us).relay && now_us > doubted_us {
                helped_us[1..].fill(now_us);
            }
            now_us += PERIOD_US;
        }
        let for_us = helped_us[1] - doubted_us;
        assert!(for_us.abs_diff(DOUBTED_US) <= 2 * PERIOD_US, "{for_us}");
        assert_eq!(link.link(), Link::Direct);
    }

    #[test]
    fn a_closed_channel_is_left_at_once() {
        let mut link = trusted(0);
        assert_eq!(link.poll_change(), Some(Link::Direct));
        link.handle_closed(100_000);
        assert_eq!(link.poll_change(), Some(Link::Relay));
        assert!(!link.ways(100_000).direct && link.is_settled());
    }

    #[test]
    fn a_channel_that_the_other_page_builds_is_given_its_time() {
        let mut link = trusted(0);
        link.handle_closed(100_000);
        let due_us = 100_000 + REBUILT_AFTER_US;
        link.handle_begun(due_us - 50_000);
        assert!(!link.poll_rebuild(due_us));
        assert!(link.poll_rebuild(due_us - 50_000 + REBUILT_AFTER_US));
    }

    #[test]
    fn a_dead_channel_is_built_anew_after_five_seconds_and_then_less_often() {
        let mut link = trusted(0);
        let dead_us = 5 * PERIOD_US + SILENT_US + 1;
        for k in 0..20 {
            link.handle_heard(dead_us + k * PERIOD_US, Link::Relay);
        }
        let rebuilt: Vec<u64> = (0..120)
            .map(|k| dead_us + k * 500_000)
            .filter(|&now_us| link.poll_rebuild(now_us))
            .map(|now_us| (now_us - dead_us) / 1_000_000)
            .collect();
        assert_eq!(rebuilt, [5, 15, 35]);
    }

    #[test]
    fn a_channel_that_carries_is_left_alone() {
        let mut link = trusted(0);
        for k in 6..2_000 {
            link.handle_heard(k * PERIOD_US, Link::Direct);
            link.ways(k * PERIOD_US);
            assert!(!link.poll_rebuild(k * PERIOD_US));
        }
    }

    #[test]
    fn a_peer_is_heard_by_either_way() {
        let mut link = link();
        assert!(link.is_silent(300_000, 0));
        assert!(!link.is_silent(300_000, 100_000));
        link.handle_heard(5_000_000, Link::Relay);
        assert!(!link.is_silent(5_250_000, 0));
        assert!(link.is_silent(5_250_001, 0));
    }
}
