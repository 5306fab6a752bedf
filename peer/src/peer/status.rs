//! How things stand, for the page to show.

use super::*;
use crate::effects::Status;

impl<W: World> Peer<W> {
    /// When tick 0 is due, server clock, microseconds; none before that is known.
    pub fn t0_us(&self) -> Option<u64> {
        self.shown_tick().map(|_| self.t0_us)
    }

    /// The tick from which on this page's person plays: 0, or where it comes back.
    pub fn plays_from(&self) -> Tick {
        self.plays_from
    }

    /// How packets travel: through the server if they do to anyone; none without other people.
    pub fn link(&self) -> Option<Link> {
        self.net.link()
    }

    /// How packets travel to one person; none to one who has no seat now.
    pub fn link_to(&self, seat: Seat) -> Option<Link> {
        self.net.link_to(seat)
    }

    /// How a person is, as the server said last, and when it decides on those who stay away, page clock,
    /// microseconds; none for one of whom nothing was said.
    pub fn presence(&self, seat: Seat) -> Option<(Presence, Option<u64>)> {
        let told = self.presence.iter().find(|(of, ..)| *of == seat);
        told.map(|&(_, presence, until_us)| (presence, until_us))
    }

    /// How this peer stands.
    pub fn status(&self, now: Now) -> Status {
        if let Some(verdict) = self.verdict {
            return Status::Over(verdict);
        }
        match &self.stage {
            Stage::Loading if self.plan.running => Status::Returning,
            Stage::Loading => Status::Loading,
            Stage::Linking(..) if self.plan.running => Status::Returning,
            Stage::Linking(_, false) => Status::Linking,
            Stage::Linking(_, true) => Status::Ready,
            Stage::Playing(session) => self.play_status(session, now),
            Stage::Hosted(host) => match self.held_us {
                _ if host.over.is_some() => Status::Finished,
                Some(since_us) => Status::Held {
                    since_us,
                    seats: Vec::new(),
                },
                None => Status::Playing,
            },
            Stage::Lost => Status::Lost,
            Stage::Stopped => Status::Stopped,
        }
    }

    fn play_status(&self, session: &Session<W>, now: Now) -> Status {
        match self.held_us {
            _ if self.is_fault_told => Status::Stopped,
            _ if session.ended().is_some() => Status::Finished,
            Some(since_us) => Status::Held {
                since_us,
                seats: self.waited_for(session, now),
            },
            None if session.current() < self.plays_from => Status::Returning,
            None => Status::Playing,
        }
    }

    /// The seat that keeps the world waiting: whoever is not heard, or else whose receipts are missing.
    fn waited_for(&self, session: &Session<W>, now: Now) -> Vec<Seat> {
        let silent = self.net.silent(now.page_us);
        if silent.is_empty() {
            session.waiting_for().into_iter().collect()
        } else {
            silent
        }
    }
}
