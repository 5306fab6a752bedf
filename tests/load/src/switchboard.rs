//! The data channels between the pages of one episode: handed over in memory, as a network without loss would.
//!
//! Datagrams between browsers do not pass through the server, so they must not cost it anything here.

use std::cell::RefCell;
use std::collections::BTreeMap;

use protocol::Seat;
use tokio::sync::mpsc::UnboundedSender;

/// News of the data channels of a page.
#[derive(Debug)]
pub(crate) enum ChannelNews {
    /// The channel to a seat is open.
    Opened(Seat),
    /// A datagram came from a seat.
    Datagram(Seat, Vec<u8>),
}

/// A page in an episode: the episode's id and the seat.
pub(crate) type Place = (String, u8);

/// The pages that wish for channels.
#[derive(Debug, Default)]
pub(crate) struct Switchboard {
    pages: RefCell<BTreeMap<Place, UnboundedSender<ChannelNews>>>,
}

impl Switchboard {
    /// Handles a page's wish for a channel to another seat; both pages learn that it is open once both wish for it.
    pub(crate) fn connect(&self, place: &Place, to: Seat, news: &UnboundedSender<ChannelNews>) {
        let mut pages = self.pages.borrow_mut();
        pages.insert(place.clone(), news.clone());
        if let Some(other) = pages.get(&(place.0.clone(), to.0)) {
            // A page that is gone hears nothing.
            let _ = other.send(ChannelNews::Opened(Seat(place.1)));
            let _ = news.send(ChannelNews::Opened(to));
        }
    }

    /// Hands a datagram over.
    pub(crate) fn send(&self, place: &Place, to: Seat, bytes: Vec<u8>) {
        if let Some(other) = self.pages.borrow().get(&(place.0.clone(), to.0)) {
            let _ = other.send(ChannelNews::Datagram(Seat(place.1), bytes));
        }
    }

    /// A page is in this episode no more.
    pub(crate) fn leave(&self, place: &Place) {
        self.pages.borrow_mut().remove(place);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn a_channel_opens_once_both_pages_wish_for_it_and_belongs_to_one_episode() {
        let switchboard = Switchboard::default();
        let (one, mut one_hears) = mpsc::unbounded_channel();
        let (other, mut other_hears) = mpsc::unbounded_channel();
        let place = |seat| ("e1".to_owned(), seat);
        switchboard.connect(&place(0), Seat(1), &one);
        assert!(one_hears.try_recv().is_err(), "it is alone");
        switchboard.connect(&("e2".to_owned(), 1), Seat(0), &other);
        assert!(one_hears.try_recv().is_err(), "that is another episode");
        switchboard.connect(&place(1), Seat(0), &other);
        assert!(matches!(
            one_hears.try_recv(),
            Ok(ChannelNews::Opened(Seat(1)))
        ));
        assert!(matches!(
            other_hears.try_recv(),
            Ok(ChannelNews::Opened(Seat(0)))
        ));
        switchboard.send(&place(0), Seat(1), vec![7]);
        let heard = other_hears.try_recv();
        assert!(matches!(heard, Ok(ChannelNews::Datagram(Seat(0), bytes)) if bytes == [7]));
        switchboard.leave(&place(1));
        switchboard.send(&place(0), Seat(1), vec![7]);
        assert!(other_hears.try_recv().is_err());
    }
}
