//! A tab of a bot: the page that people's browsers run, its clock, and the connection that it has.

use std::collections::BTreeSet;

use client_core::{Credentials, Page, ShownStage, SocketId};
use data_channels::ChannelRules;
use protocol::control::Link;
use protocol::hash::sha256;
use protocol::{Era, Seat};

use super::{S, WireId};
use crate::hands::Native;

/// A tab.
pub(super) struct Tab {
    /// Its number among the bot's tabs.
    pub(super) number: u32,
    /// The page.
    pub(super) page: Page<Native>,
    /// The connection that the page has or begins, by its number there and by that of the bot.
    pub(super) wire: Option<(SocketId, WireId)>,
    /// The episode for which there are data channels, and their rules.
    pub(super) channels: Option<(Era, ChannelRules)>,
    /// Seats whose data channel goes through TURN.
    pub(super) relayed: BTreeSet<Seat>,
    /// How packets travelled to each other person when the episode last ran.
    pub(super) links: Vec<(Seat, Link)>,
    /// The zero of the page's clock, microseconds.
    zero_us: u64,
}

impl Tab {
    /// A tab that opens now.
    pub(super) fn new(now_us: u64, number: u32, credentials: Credentials, seed: u64) -> Self {
        // A page's clock is not the server's.
        let zero_us = now_us.saturating_sub(5 * S);
        Self {
            number,
            page: Page::new(now_us - zero_us, credentials, sha256(&seed.to_le_bytes())),
            wire: None,
            channels: None,
            relayed: BTreeSet::new(),
            links: Vec::new(),
            zero_us,
        }
    }

    /// The clock of the page.
    pub(super) fn page_us(&self, now_us: u64) -> u64 {
        now_us.saturating_sub(self.zero_us)
    }

    /// Calls the page with the time on its own clock.
    pub(super) fn call_page<T>(
        &mut self,
        now_us: u64,
        action: impl FnOnce(&mut Page<Native>, u64) -> T,
    ) -> T {
        let page_us = self.page_us(now_us);
        action(&mut self.page, page_us)
    }

    /// The page's number of a connection, if it is the one that the page has.
    pub(super) fn socket_of(&self, wire: WireId) -> Option<SocketId> {
        let own = self.wire.filter(|(_, own)| *own == wire);
        own.map(|(socket, _)| socket)
    }

    /// Returns when the page must be called next, and why.
    pub(super) fn poll_timeout(&mut self, now_us: u64) -> Option<(u64, &'static str)> {
        let (due_us, reason) = self.call_page(now_us, Page::poll_timeout)?;
        Some((self.zero_us.saturating_add(due_us), reason))
    }

    /// Returns true if the page must be called by now.
    pub(super) fn is_due(&mut self, now_us: u64) -> bool {
        let due = self.poll_timeout(now_us);
        due.is_some_and(|(due_us, _)| due_us <= now_us)
    }

    /// Returns true if the episode is to run now.
    pub(super) fn is_episode_due(&mut self, now_us: u64) -> bool {
        let page_us = self.page_us(now_us);
        let now = self.page.now(page_us);
        let peer = self.page.peer();
        peer.is_some_and(|peer| peer.poll_timeout(now).0 <= page_us)
    }

    /// The stage that is shown.
    pub(super) fn stage(&self) -> Option<&ShownStage> {
        self.page.stage()
    }
}
