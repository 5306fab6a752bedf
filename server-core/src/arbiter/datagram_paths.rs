//! Paths of datagrams between pages: pages report them, and the archive records them.

use protocol::control::Link;
use protocol::log::Record;
use protocol::{Era, Seat};

use super::episode::{EpisodeState, Phase};
pub(super) use super::path_table::PathTable;
use super::{Arbiter, Effect, RecordWork, SessionId};

impl Arbiter {
    /// Records the paths that a page has to each seat when it is ready.
    pub(super) fn handle_links(&mut self, now_us: u64, who: SessionId, era: Era, links: &[Link]) {
        for (seat, &link) in (0..protocol::MAX_SEATS as u8).map(Seat).zip(links) {
            self.handle_link(now_us, who, era, seat, link);
        }
    }

    /// Handles a new path of a page's datagrams to a seat. Before the start it is only remembered.
    pub(super) fn handle_link(
        &mut self,
        now_us: u64,
        who: SessionId,
        era: Era,
        other: Seat,
        link: Link,
    ) {
        let most = self.limits.routes;
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        let Some(seat) = episode.seat_of(who) else {
            return;
        };
        if episode.header.way == protocol::EnvWay::Host {
            return;
        }
        let is_way = other != seat && episode.session_at(other).is_some();
        let news = is_way && episode.paths.learn_path(seat, other, link, most);
        if news && matches!(episode.phase, Phase::Playing(_)) {
            self.effects.push_back(note(era, now_us, seat, other, link));
        }
    }

    /// Appends the paths that were reported before the file was there.
    pub(super) fn record_paths(&mut self, now_us: u64, era: Era) {
        let paths = self
            .episodes
            .get(era)
            .map(|episode: &EpisodeState| &episode.paths);
        let links = paths.into_iter().flat_map(|paths| &paths.links);
        let notes = links.map(|(&(seat, other), &link)| note(era, now_us, seat, other, link));
        self.effects.extend(notes);
    }
}

fn note(era: Era, at_us: u64, seat: Seat, other: Seat, link: Link) -> Effect {
    let record = Record::Route {
        seat,
        other,
        at_us,
        link,
    };
    Effect::Archive(era, RecordWork::Note(Box::new(record)).into())
}
