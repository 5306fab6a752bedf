//! The other people of an episode, as the server tells of them, and what the person at this page is told.
//!
//! This module must not know where the sentences are shown.

use protocol::change::{Change, Presence};
use protocol::control::{Plan, ServerMessage};
use protocol::{Controller, Seat};

use crate::messages;

/// Good news stay for this long, microseconds.
const GOOD_NEWS_US: u64 = 4_000_000;

/// A sentence, and the seconds left of what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The sentence.
    pub sentence: String,
    /// Seconds left, if somebody counts them.
    pub left_s: Option<u64>,
}

/// Another person.
#[derive(Debug)]
struct Companion {
    seat: Seat,
    name: String,
    presence: Presence,
    /// When the server decides on somebody who stays away, page clock.
    until_us: Option<u64>,
    /// Who or what plays the seat.
    controller: Controller,
    /// Whether an AI partner that is not disclosed plays or played while the person is away: then nothing is told.
    is_secret: bool,
    /// Until when it is told that the person is back, page clock.
    back_until_us: u64,
}

impl Companion {
    fn line(&self, now_us: u64) -> Option<Line> {
        let name = &self.name;
        let plays_on = matches!(self.controller, Controller::Vacant);
        let sentence = match (self.presence, &self.controller) {
            _ if self.is_secret => return None,
            (Presence::Here, Controller::Human) if now_us < self.back_until_us => {
                messages::back(name)
            }
            (Presence::Here, Controller::Human) => return None,
            (Presence::Returning, _) => messages::returning(name),
            (_, Controller::Ai { .. }) => messages::replaced(name),
            (Presence::Hidden, _) => messages::looked_away(name),
            (Presence::Here | Presence::Gone, _) => messages::gone(name, plays_on),
        };
        let left_s = self.left_s(now_us);
        Some(Line { sentence, left_s })
    }

    fn left_s(&self, now_us: u64) -> Option<u64> {
        let left_us = self.until_us?.checked_sub(now_us)?;
        Some(left_us.div_ceil(1_000_000))
    }
}

/// The other people of an episode.
#[derive(Debug)]
pub struct Companions {
    own: Seat,
    people: Vec<Companion>,
    disclose_ai: bool,
    /// What had the seat of this page before it came back.
    stand_in: Option<Controller>,
}

impl Companions {
    /// Everybody is here.
    pub fn new(plan: &Plan) -> Self {
        let seats = plan.controllers.iter().enumerate();
        let people = seats.filter(|(_, controller)| **controller == Controller::Human);
        let seats: Vec<Seat> = people
            .map(|(seat, _)| Seat(seat as u8))
            .filter(|&seat| seat != plan.seat)
            .collect();
        let is_alone = seats.len() == 1;
        let companion = |seat: Seat| Companion {
            seat,
            name: messages::companion(seat, is_alone),
            presence: Presence::Here,
            until_us: None,
            controller: Controller::Human,
            is_secret: false,
            back_until_us: 0,
        };
        Self {
            own: plan.seat,
            people: seats.into_iter().map(companion).collect(),
            disclose_ai: plan.disclose_ai,
            stand_in: None,
        }
    }

    /// Takes a message about this episode.
    pub fn hear(&mut self, now_us: u64, message: &ServerMessage) {
        match message {
            &ServerMessage::Peer {
                seat,
                presence,
                left_ms,
                ..
            } => {
                let people = &mut self.people;
                if let Some(person) = people.iter_mut().find(|person| person.seat == seat) {
                    let is_here = presence == Presence::Here;
                    if is_here && person.presence != Presence::Here && !person.is_secret {
                        person.back_until_us = now_us + GOOD_NEWS_US;
                    }
                    person.is_secret &= !is_here;
                    person.presence = presence;
                    let until_us = now_us + u64::from(left_ms) * 1_000;
                    person.until_us = (left_ms > 0).then_some(until_us);
                }
            }
            ServerMessage::Change { change, .. } => self.change(change),
            ServerMessage::Running { changes, .. } => {
                changes.iter().for_each(|change| self.change(change));
            }
            ServerMessage::Return(back) => {
                back.changes.iter().for_each(|change| self.change(change));
            }
            _ => {}
        }
    }

    fn change(&mut self, change: &Change) {
        let controller = &change.controller;
        if change.seat == self.own && *controller != Controller::Human {
            self.stand_in = Some(controller.clone());
        }
        let mut people = self.people.iter_mut();
        if let Some(person) = people.find(|person| person.seat == change.seat) {
            let is_ai = matches!(controller, Controller::Ai { .. });
            person.is_secret |= is_ai && !self.disclose_ai;
            person.controller = controller.clone();
        }
    }

    /// How somebody is.
    pub fn presence(&self, seat: Seat) -> Option<Presence> {
        let person = self.people.iter().find(|person| person.seat == seat);
        person.map(|person| person.presence)
    }

    /// What is to be told while the world goes on, in the order of the seats.
    pub fn lines(&self, now_us: u64) -> Vec<Line> {
        let lines = self.people.iter().map(|person| person.line(now_us));
        lines.flatten().collect()
    }

    /// Why the world waits, if these seats are not heard.
    pub fn waiting_for(&self, now_us: u64, seats: &[Seat], is_connected: bool) -> Line {
        let mut people = self.people.iter();
        let Some(person) = people.find(|person| seats.contains(&person.seat)) else {
            // Everybody is heard: what is missing is the server's word, or on its way.
            let sentence = match self.people.first() {
                _ if !is_connected => messages::say().waiting_for_server.to_owned(),
                Some(person) if self.people.len() == 1 => messages::waiting_for(&person.name),
                _ => messages::say().waiting_for_others.to_owned(),
            };
            return Line {
                sentence,
                left_s: None,
            };
        };
        let sentence = match person.presence {
            Presence::Here => messages::not_heard(&person.name),
            Presence::Hidden => messages::held_hidden(&person.name),
            Presence::Gone => messages::held_gone(&person.name),
            Presence::Returning => messages::returning(&person.name),
        };
        let left_s = person.left_s(now_us);
        Line { sentence, left_s }
    }

    /// What the person is told who has the seat of this page again.
    pub fn welcome_back(&self) -> &'static str {
        match self.stand_in {
            Some(Controller::Ai { .. }) if self.disclose_ai => messages::say().back_from_ai,
            Some(Controller::Vacant) => messages::say().back_to_place,
            _ => messages::say().back,
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Era, Life, Tick};

    use super::*;

    const ERA: Era = Era(4);
    const SECOND_US: u64 = 1_000_000;

    fn plan(people: u8, disclose_ai: bool) -> Plan {
        Plan {
            era: ERA,
            episode: "E-1".to_owned(),
            seat: Seat(0),
            controllers: vec![Controller::Human; usize::from(people)],
            env: "test".to_owned(),
            env_version: "1".to_owned(),
            module: String::new(),
            networks: Vec::new(),
            params: String::new(),
            seed: 1,
            tick_hz: 10,
            window: 8,
            keys: Vec::new(),
            disclose_ai,
            ice: Vec::new(),
            touch: true,
            fullscreen: false,
            relay_only: false,
            measures_loss: false,
            life: Life(0),
            running: false,
            rules: Default::default(),
            round: (0, 1),
            countdown_s: None,
            hud: Vec::new(),
            chat: false,
        }
    }

    fn told(seat: u8, presence: Presence, left_ms: u32) -> ServerMessage {
        ServerMessage::Peer {
            era: ERA,
            seat: Seat(seat),
            presence,
            left_ms,
        }
    }

    fn changed(seat: u8, controller: Controller) -> ServerMessage {
        let change = Change {
            number: 0,
            seat: Seat(seat),
            tick: Tick(9),
            controller,
            life: Life(1),
            from: Tick(0),
            inputs: Vec::new(),
        };
        ServerMessage::Change { era: ERA, change }
    }

    fn bot() -> Controller {
        Controller::Ai {
            policy: "cook".to_owned(),
        }
    }

    fn sentences_at(companions: &Companions, now_us: u64) -> Vec<String> {
        let lines = companions.lines(now_us);
        lines.into_iter().map(|line| line.sentence).collect()
    }

    #[test]
    fn somebody_who_goes_is_counted_down_and_welcomed_back() {
        let mut companions = Companions::new(&plan(2, true));
        assert_eq!(companions.lines(0), []);
        companions.hear(SECOND_US, &told(1, Presence::Gone, 15_000));
        let line = &companions.lines(3 * SECOND_US + 1)[0];
        assert_eq!(line.left_s, Some(13));
        assert_eq!(line.sentence, messages::gone("Your partner", false));
        companions.hear(5 * SECOND_US, &told(1, Presence::Here, 0));
        assert_eq!(
            sentences_at(&companions, 6 * SECOND_US),
            [messages::back("Your partner")]
        );
        assert_eq!(companions.lines(5 * SECOND_US + GOOD_NEWS_US), []);
    }

    #[test]
    fn an_ai_partner_in_the_seat_is_told_if_the_study_discloses_it() {
        for disclose_ai in [true, false] {
            let mut companions = Companions::new(&plan(2, disclose_ai));
            companions.hear(0, &changed(1, bot()));
            companions.hear(0, &told(1, Presence::Gone, 9_000));
            let expected: &[String] = match disclose_ai {
                true => &[messages::replaced("Your partner")],
                false => &[],
            };
            assert_eq!(sentences_at(&companions, 1), expected);
            // The person comes back: what was never told is not taken back either.
            companions.hear(2, &changed(1, Controller::Human));
            companions.hear(2, &told(1, Presence::Returning, 0));
            assert_eq!(companions.lines(3).len(), usize::from(disclose_ai));
            companions.hear(4, &told(1, Presence::Here, 0));
            assert_eq!(companions.lines(5).len(), usize::from(disclose_ai));
            // The next time somebody only looks away, and that is told.
            companions.hear(6 + GOOD_NEWS_US, &told(1, Presence::Hidden, 0));
            assert_eq!(companions.lines(7 + GOOD_NEWS_US).len(), 1);
        }
    }

    #[test]
    fn of_several_people_each_has_a_name() {
        let mut companions = Companions::new(&plan(4, true));
        companions.hear(0, &told(3, Presence::Hidden, 0));
        companions.hear(0, &told(1, Presence::Gone, 0));
        companions.hear(0, &told(0, Presence::Gone, 0));
        let expected = [
            messages::gone("Player 2", false),
            messages::looked_away("Player 4"),
        ];
        assert_eq!(sentences_at(&companions, 1), expected);
        assert_eq!(companions.presence(Seat(3)), Some(Presence::Hidden));
        assert_eq!(companions.presence(Seat(0)), None);
    }

    #[test]
    fn the_world_waits_for_whom_is_not_heard() {
        let mut companions = Companions::new(&plan(2, true));
        let waits = |companions: &Companions, seats: &[Seat], is_connected| {
            companions.waiting_for(SECOND_US, seats, is_connected)
        };
        let partner = "Your partner";
        assert_eq!(
            waits(&companions, &[], true).sentence,
            messages::waiting_for(partner)
        );
        assert_eq!(
            waits(&companions, &[], false).sentence,
            messages::say().waiting_for_server
        );
        assert_eq!(
            waits(&companions, &[Seat(1)], true).sentence,
            messages::not_heard(partner)
        );
        companions.hear(0, &told(1, Presence::Gone, 9_000));
        let line = waits(&companions, &[Seat(1)], true);
        assert_eq!(line.sentence, messages::held_gone(partner));
        assert_eq!(line.left_s, Some(8));
    }

    #[test]
    fn who_comes_back_learns_who_played() {
        let mut companions = Companions::new(&plan(2, true));
        assert_eq!(companions.welcome_back(), messages::say().back);
        companions.hear(0, &changed(0, Controller::Vacant));
        assert_eq!(companions.welcome_back(), messages::say().back_to_place);
        companions.hear(0, &changed(0, bot()));
        companions.hear(0, &changed(0, Controller::Human));
        assert_eq!(companions.welcome_back(), messages::say().back_from_ai);
        let mut companions = Companions::new(&plan(2, false));
        companions.hear(0, &changed(0, bot()));
        assert_eq!(companions.welcome_back(), messages::say().back);
    }
}
