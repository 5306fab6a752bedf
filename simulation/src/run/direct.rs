//! The data channels of a run, and the datagrams in them.

use protocol::{Era, Seat};

use crate::network_conditions::End;
use crate::tab::Tab;

use super::{Happening, Run};

impl Run {
    /// The page that has a seat of an episode, if it is connected.
    pub(super) fn holder_of(&self, era: Era, seat: Seat) -> Option<usize> {
        let holds = |page: &&Tab| {
            page.is_alive
                && page.page.is_welcomed()
                && page
                    .peer()
                    .is_some_and(|peer| peer.plan().era == era && peer.plan().seat == seat)
        };
        self.pages.iter().rev().find(holds).map(|page| page.number)
    }

    /// Begins a channel if both of its pages wish for one.
    pub(super) fn attempt_channel(&mut self, at: usize, seat: Seat) {
        let Some(peer) = self.pages[at].peer() else {
            return;
        };
        let (era, own) = (peer.plan().era, peer.plan().seat);
        let other = self.holder_of(era, seat);
        let wished = other.filter(|&other| self.channels.has_wish(other, own));
        let takes_us = self.rng.draw_between(60_000, 900_000);
        match wished {
            Some(other) => {
                self.close_channel(other, own);
                let channel = self.channels.begin_channel([at, other], [own, seat]);
                self.later(self.now_us + takes_us, Happening::Channel(channel));
            }
            // Nobody answers: the attempt fails after a while, and is asked for again.
            None => self.later(
                self.now_us + 4 * takes_us,
                Happening::ChannelGone(at, seat.0),
            ),
        }
    }

    pub(super) fn channel_up(&mut self, channel: u64) {
        let Some(&mut found) = self.channels.get(channel) else {
            return;
        };
        let people = found.pages.map(|page| self.pages[page].person);
        let ends = people.map(End::Person);
        let good = people
            .iter()
            .all(|&person| self.scenario.people[person].direct)
            && found
                .pages
                .iter()
                .all(|&page| self.pages[page].is_alive && self.pages[page].page.is_welcomed())
            && self.network.can_pass(self.now_us, ends[0], ends[1])
            && self.network.can_pass(self.now_us, ends[1], ends[0]);
        for side in 0..2 {
            let soon_us = self.now_us + self.rng.draw_below(150_000);
            let news = match good {
                true => Happening::ChannelOpen(channel, side),
                false => Happening::ChannelGone(found.pages[side], found.seats[1 - side].0),
            };
            self.later(soon_us, news);
        }
        if !good {
            self.channels.end(channel);
        }
    }

    pub(super) fn channel_open(&mut self, channel: u64, side: usize) -> Result<(), String> {
        let Some(found) = self.channels.get(channel) else {
            return Ok(());
        };
        found.open[side] = true;
        let (at, seat) = (found.pages[side], found.seats[1 - side]);
        if !self.pages[at].is_alive {
            return Ok(());
        }
        self.pages[at].channels.insert(seat, channel);
        self.pages[at].handle_channel(self.now_us, seat, true);
        self.drain(at)
    }

    /// A page closes its channel to a seat; the other end learns of it.
    pub(super) fn close_channel(&mut self, at: usize, seat: Seat) {
        self.pages[at].channels.remove(&seat);
        let Some(channel) = self.channels.find(at, seat) else {
            return;
        };
        let Some(ended) = self.channels.end(channel) else {
            return;
        };
        let side = ended.side_of(at).unwrap_or(0);
        let other = ended.pages[1 - side];
        let soon_us = self.now_us + self.rng.draw_between(5_000, 200_000);
        self.later(soon_us, Happening::ChannelGone(other, ended.seats[side].0));
    }

    pub(super) fn channel_gone(&mut self, at: usize, seat: Seat) -> Result<(), String> {
        // A newer one may be there.
        if !self.pages[at].is_alive || self.channels.find(at, seat).is_some() {
            return Ok(());
        }
        self.pages[at].channels.remove(&seat);
        self.pages[at].handle_channel(self.now_us, seat, false);
        self.drain(at)
    }

    pub(super) fn send_datagram(
        &mut self,
        at: usize,
        channel: u64,
        seat: Seat,
        mut bytes: Vec<u8>,
    ) -> Result<(), String> {
        self.lie(at, &mut bytes);
        let Some(found) = self.channels.get(channel) else {
            return Ok(());
        };
        let side = found.side_of(at).unwrap_or(0);
        let (to, from) = (found.pages[1 - side], found.seats[side]);
        debug_assert_eq!(found.seats[1 - side], seat);
        let ends = [self.pages[at].person, self.pages[to].person].map(End::Person);
        for at_us in self.network.send_datagram(self.now_us, ends[0], ends[1]) {
            let bytes = bytes.clone();
            self.later(
                at_us,
                Happening::Datagram {
                    channel,
                    page: to,
                    from: from.0,
                    bytes,
                },
            );
        }
        Ok(())
    }

    pub(super) fn datagram_in(
        &mut self,
        channel: u64,
        at: usize,
        from: Seat,
        mut bytes: Vec<u8>,
    ) -> Result<(), String> {
        if self.pages[at].channels.get(&from) != Some(&channel) {
            return Ok(());
        }
        self.tamper_with(at, &mut bytes);
        self.pages[at].handle_datagram(self.now_us, from, &bytes);
        self.drain(at)?;
        self.count()
    }

    pub(super) fn tamper_with(&mut self, at: usize, bytes: &mut Vec<u8>) {
        let Some(tamper) = self.injected.datagrams else {
            return;
        };
        let Some(layout) = self.pages[at].layout() else {
            return;
        };
        let Some(seat) = self.pages[at].peer().map(|peer| peer.plan().seat) else {
            return;
        };
        // The first ones are the oldest, and a few will do.
        if self.sent.len() < 300 {
            self.sent.push(bytes.clone());
        }
        tamper(bytes, layout, seat, &self.sent);
    }
}
