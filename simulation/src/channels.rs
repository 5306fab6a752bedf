//! The data channels between pages: the wished ones, and the open ones.
//!
//! A channel comes up a while after both of its pages have asked for it, if their networks let it.
//! This module must not know what is sent.

use std::collections::BTreeMap;

use protocol::Seat;

/// A channel, or an attempt at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The pages at its ends.
    pub pages: [usize; 2],
    /// The seats of these pages.
    pub seats: [Seat; 2],
    /// True for each end that knows that it is open.
    pub open: [bool; 2],
}

impl Channel {
    /// Which end a page is at.
    pub fn side_of(&self, page: usize) -> Option<usize> {
        self.pages.iter().position(|&other| other == page)
    }
}

/// All channels and wishes.
#[derive(Debug, Default)]
pub struct Channels {
    channels: BTreeMap<u64, Channel>,
    /// The seats to which each page wishes a channel.
    wishes: BTreeMap<(usize, Seat), ()>,
    next: u64,
}

impl Channels {
    /// A page wishes for a channel to a seat.
    pub fn add_wish(&mut self, page: usize, seat: Seat) {
        self.wishes.insert((page, seat), ());
    }

    /// A page wishes for none any more.
    pub fn remove_wish(&mut self, page: usize, seat: Seat) {
        self.wishes.remove(&(page, seat));
    }

    /// True if a page wishes for a channel to a seat.
    pub fn has_wish(&self, page: usize, seat: Seat) -> bool {
        self.wishes.contains_key(&(page, seat))
    }

    /// Begins an attempt; returns its number.
    pub fn begin_channel(&mut self, pages: [usize; 2], seats: [Seat; 2]) -> u64 {
        self.next += 1;
        let open = [false; 2];
        self.channels
            .insert(self.next, Channel { pages, seats, open });
        self.next
    }

    /// A channel.
    pub fn get(&mut self, number: u64) -> Option<&mut Channel> {
        self.channels.get_mut(&number)
    }

    /// The channel of a page to a seat, open or not.
    pub fn find(&self, page: usize, seat: Seat) -> Option<u64> {
        let found = self.channels.iter().find(|(_, channel)| {
            channel
                .side_of(page)
                .is_some_and(|side| channel.seats[1 - side] == seat)
        });
        found.map(|(&number, _)| number)
    }

    /// The channels of a page.
    pub fn channels_of(&self, page: usize) -> Vec<u64> {
        let own = self
            .channels
            .iter()
            .filter(|(_, channel)| channel.side_of(page).is_some());
        own.map(|(&number, _)| number).collect()
    }

    /// Ends a channel; returns it as it was.
    pub fn end(&mut self, number: u64) -> Option<Channel> {
        self.channels.remove(&number)
    }

    /// Forgets the wishes of a page.
    pub fn forget(&mut self, page: usize) {
        self.wishes.retain(|&(other, _), ()| other != page);
    }
}
