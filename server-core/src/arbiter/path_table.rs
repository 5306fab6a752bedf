//! The paths of datagrams between the pages of an episode: plain data.

use std::collections::BTreeMap;

use protocol::Seat;
use protocol::control::Link;

/// The paths between pages, as the pages report them.
#[derive(Debug, Default)]
pub(super) struct PathTable {
    /// From whose page, to whose, and how.
    pub(super) links: BTreeMap<(Seat, Seat), Link>,
    /// How often each page has reported a new path.
    told: BTreeMap<Seat, usize>,
}

impl PathTable {
    /// Records a path; true if it is new, and among the first `most` new ones of the page.
    pub(super) fn learn_path(&mut self, seat: Seat, other: Seat, link: Link, most: usize) -> bool {
        if self.links.insert((seat, other), link) == Some(link) {
            return false;
        }
        let told = self.told.entry(seat).or_default();
        *told += 1;
        *told <= most
    }
}
