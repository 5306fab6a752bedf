//! How things stand, for the page to show.

use super::*;
use crate::effects::Status;

impl<W: World> Peer<W> {
    /// The time at which tick 0 is due, server clock, microseconds; `None` before that is known.
    pub fn t0_us(&self) -> Option<u64> {
        self.shown_tick().map(|_| self.t0_us)
    }

    /// The tick from which on this page's person plays: 0, or the tick of the return.
    pub fn plays_from(&self) -> Tick {
        self.plays_from
    }

    /// Returns how packets travel: through the server if they do so to anyone; `None` without other people.
    pub fn link(&self) -> Option<Link> {
        self.net.link()
    }

    /// Returns how packets travel to one person; `None` for a person who has no seat now.
    pub fn link_to(&self, seat: Seat) -> Option<Link> {
        self.net.link_to(seat)
    }

    /// Returns the presence of a person by the server's last message, and the time at which it decides on those who
    /// stay away, page clock, microseconds; `None` without such a message.
    pub fn presence(&self, seat: Seat) -> Option<(Presence, Option<u64>)> {
        let told = self.presence.iter().find(|(of, ..)| *of == seat);
        told.map(|&(_, presence, until_us)| (presence, until_us))
    }

    /// The state of this peer.
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

    /// Returns the seats that keep the world waiting: those that are not heard, or else those whose receipts are
    /// missing.
    fn waited_for(&self, session: &Session<W>, now: Now) -> Vec<Seat> {
        let silent = self.net.silent_seats(now.page_us);
        if silent.is_empty() {
            session.waiting_for().into_iter().collect()
        } else {
            silent
        }
    }
}
