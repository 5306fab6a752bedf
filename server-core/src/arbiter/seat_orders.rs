//! A researcher gives somebody's seat to the AI partner of the stage, as it takes the seats of people who stay away;
//! the person continues to the last page, and the others play to the end.

use protocol::{Controller, Era, Seat};
use study::{Outcome, ProgressEvent};

use super::episode::{EpisodeState, Phase};
use super::{Arbiter, Place, SessionId};
use crate::desk::{BonusChange, OrderRefused};

impl EpisodeState {
    /// True if the seat of a person can go to an AI partner now: the stage has one, and somebody else plays on.
    pub(super) fn may_give_seat(&self, seat: Seat) -> bool {
        self.refuse_gift(seat).is_none()
    }

    /// Returns why the seat of a person cannot go to an AI partner now.
    fn refuse_gift(&self, seat: Seat) -> Option<Refused> {
        let Phase::Playing(play) = &self.phase else {
            return Some(Refused::NotPlaying);
        };
        let state = play.seats.list.get(seat.index());
        let is_played = state.is_some_and(|state| state.person && !state.left);
        if !play.open || play.closing_us.is_some() || !is_played {
            return Some(Refused::NotPlaying);
        }
        if play.seats.rules.partner_controller() == Controller::Vacant {
            return Some(Refused::NoPartner);
        }
        (!play.seats.is_watched(seat)).then_some(Refused::NobodyElse)
    }
}

/// The reason why a seat cannot be given away.
enum Refused {
    NotPlaying,
    NoPartner,
    NobodyElse,
}

impl Arbiter {
    /// Checks that a seat can be given to an AI partner, and that its person can end so.
    pub(super) fn check_give_seat(
        &self,
        who: SessionId,
        outcome: Outcome,
        bonus: Option<&BonusChange>,
    ) -> Result<(), OrderRefused> {
        self.check_end(who, outcome)?;
        let name = self.sessions[who].participant.clone();
        let Some((era, seat)) = self.find_seat(who) else {
            return Err(OrderRefused::NotPlaying(name));
        };
        let episode = self.episodes.get(era);
        let refused = episode.and_then(|episode| {
            let why = episode.refuse_gift(seat)?;
            let stage = episode.header.stage.clone();
            Some(match why {
                Refused::NotPlaying => OrderRefused::NotPlaying(name),
                Refused::NoPartner => OrderRefused::NoSeatPartner(stage),
                Refused::NobodyElse => OrderRefused::PlaysAlone(name),
            })
        });
        match (refused, bonus) {
            (Some(refused), _) => Err(refused),
            (None, Some(bonus)) => {
                let currency = self.study.recruitment.pay_terms.currency.clone();
                self.check_amount(bonus.bonus, currency)
            }
            (None, None) => Ok(()),
        }
    }

    /// Gives the seat of somebody away, and ends their part.
    pub(super) fn give_seat(
        &mut self,
        now_us: u64,
        who: SessionId,
        outcome: Outcome,
        bonus: Option<&BonusChange>,
    ) {
        if let Some((era, seat)) = self.find_seat(who) {
            if let Some(play) = self.episodes.play_mut(era) {
                play.seats.give_to_partner(seat);
            }
            self.episodes.touch_episode(era);
        }
        self.end_session(now_us, who, ProgressEvent::Cut(outcome));
        if let Some(BonusChange { bonus, reason }) = bonus {
            self.correct_bonus(now_us, who, *bonus, reason);
        }
    }

    fn find_seat(&self, who: SessionId) -> Option<(Era, Seat)> {
        let Place::Episode(era, _) = self.sessions[who].place else {
            return None;
        };
        let seat = self.episodes.get(era)?.seat_of(who)?;
        Some((era, seat))
    }
}
