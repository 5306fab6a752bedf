//! The other people of an episode, as the server describes them, and the notices to the person at this page.
//!
//! This module must not know where the sentences are shown.

use protocol::change::{Change, Presence};
use protocol::control::{ChatMember, ChatView, Plan};
use protocol::{Controller, Seat};

use super::partner_names::PartnerNames;
use crate::messages;

/// Good news stay for this long, microseconds.
const GOOD_NEWS_US: u64 = 4_000_000;

/// A sentence, and the seconds left until its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartnerNotice {
    /// The sentence.
    pub sentence: String,
    /// Seconds left, if somebody counts them.
    pub left_s: Option<u64>,
}

/// Another person.
#[derive(Debug)]
struct Partner {
    seat: Seat,
    name: String,
    presence: Presence,
    /// The time at which the server decides on somebody who stays away, page clock.
    until_us: Option<u64>,
    /// The controller of the seat.
    controller: Controller,
    /// True if an AI partner that is not disclosed plays or played while the person is away: then there are no notices.
    is_secret: bool,
    /// The end of the notice that the person is back, page clock.
    back_until_us: u64,
}

impl Partner {
    fn line(&self, now_us: u64) -> Option<PartnerNotice> {
        let name = &self.name;
        let plays_on = matches!(self.controller, Controller::Vacant);
        let sentence = match (self.presence, &self.controller) {
            _ if self.is_secret => return None,
            (Presence::Here, Controller::Human) if now_us < self.back_until_us => {
                messages::say_back(name)
            }
            (Presence::Here, Controller::Human) => return None,
            (Presence::Returning, _) => messages::say_returning(name),
            (_, Controller::Ai { .. }) => messages::say_replaced(name),
            (Presence::Hidden, _) => messages::say_looked_away(name),
            (Presence::Here | Presence::Gone, _) => messages::say_gone(name, plays_on),
        };
        let left_s = self.left_s(now_us);
        Some(PartnerNotice { sentence, left_s })
    }

    fn left_s(&self, now_us: u64) -> Option<u64> {
        let left_us = self.until_us?.checked_sub(now_us)?;
        Some(left_us.div_ceil(1_000_000))
    }
}

/// A partner, as far as the person at this page may know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownPartner {
    /// The seat; in a chat without an episode, the place in the group.
    pub seat: Seat,
    /// True for an AI partner that the study discloses.
    pub is_ai: bool,
    /// False for somebody who left or lost connection, where the study tells people from AI partners.
    pub is_here: bool,
}

/// Returns the other members of a chat without an episode.
pub fn list_members(view: &ChatView) -> Vec<KnownPartner> {
    let members = (0..).map(Seat).zip(&view.members);
    let others = members.filter(|(place, _)| *place != view.place);
    let known = others.map(|(seat, member)| KnownPartner {
        seat,
        is_ai: *member == ChatMember::Ai,
        is_here: matches!(member, ChatMember::Here | ChatMember::Ai),
    });
    known.collect()
}

/// The other people of an episode.
#[derive(Debug)]
pub struct PartnerNotices {
    own: Seat,
    names: PartnerNames,
    people: Vec<Partner>,
    disclose_ai: bool,
    /// The controller of this page's seat before it came back.
    stand_in: Option<Controller>,
}

impl PartnerNotices {
    /// Everybody is here.
    pub fn new(plan: &Plan) -> Self {
        let seats = plan.controllers.iter().enumerate();
        let people = seats.filter(|(_, controller)| **controller == Controller::Human);
        let seats: Vec<Seat> = people
            .map(|(seat, _)| Seat(seat as u8))
            .filter(|&seat| seat != plan.seat)
            .collect();
        let names = PartnerNames::new(plan);
        let partner = |seat: Seat| Partner {
            seat,
            name: names.name_at(seat),
            presence: Presence::Here,
            until_us: None,
            controller: Controller::Human,
            is_secret: false,
            back_until_us: 0,
        };
        let people = seats.into_iter().map(partner).collect();
        Self {
            own: plan.seat,
            names,
            people,
            disclose_ai: plan.disclose_ai,
            stand_in: None,
        }
    }

    /// Takes the places of people from the chat beside the episode; returns true if they are new.
    pub fn handle_chat(&mut self, view: &ChatView) -> bool {
        let is_news = self.names.handle_chat(view);
        for person in self.people.iter_mut().filter(|_| is_news) {
            person.name = self.names.name_at(person.seat);
        }
        is_news
    }

    /// The partners, as far as the person may know them. Where AI partners are not disclosed, everybody counts as a
    /// person who is there, always: only people go and come back.
    pub fn list_known(&self) -> Vec<KnownPartner> {
        let others = self.names.others().map(|(seat, is_ai)| {
            let person = self.people.iter().find(|person| person.seat == seat);
            let is_stand_in = |person: &Partner| matches!(person.controller, Controller::Ai { .. });
            let is_ai = is_ai || self.disclose_ai && person.is_some_and(is_stand_in);
            let is_gone = |person: &Partner| {
                matches!(person.controller, Controller::Vacant)
                    || matches!(person.presence, Presence::Gone | Presence::Returning)
            };
            KnownPartner {
                seat,
                is_ai,
                is_here: is_ai || !(self.disclose_ai && person.is_some_and(is_gone)),
            }
        });
        others.collect()
    }

    /// The seat of a place in the group.
    pub fn seat_of(&self, place: Seat) -> Option<Seat> {
        self.names.seat_of(place)
    }

    /// Everybody else, in a few words; empty if there is nobody.
    pub fn name_everybody(&self) -> String {
        self.names.name_everybody()
    }

    /// The presence of somebody changed; `left_ms` until the study decides on somebody who stays away, or 0.
    pub fn handle_presence(&mut self, now_us: u64, seat: Seat, presence: Presence, left_ms: u32) {
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

    /// Handles that seats changed hands; known changes may come again.
    pub fn handle_changes(&mut self, changes: &[Change]) {
        changes.iter().for_each(|change| self.handle_change(change));
    }

    fn handle_change(&mut self, change: &Change) {
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

    /// The presence of somebody.
    pub fn presence(&self, seat: Seat) -> Option<Presence> {
        let person = self.people.iter().find(|person| person.seat == seat);
        person.map(|person| person.presence)
    }

    /// Returns the notices to show while the world continues, in the order of the seats. A study that does not
    /// distinguish people from AI partners shows none: only people go and come back.
    pub fn lines(&self, now_us: u64) -> Vec<PartnerNotice> {
        if !self.disclose_ai {
            return Vec::new();
        }
        let lines = self.people.iter().map(|person| person.line(now_us));
        lines.flatten().collect()
    }

    /// Returns why the world waits, if these seats are not heard.
    pub fn waiting_for(&self, now_us: u64, seats: &[Seat], is_connected: bool) -> PartnerNotice {
        if !self.disclose_ai && is_connected {
            return PartnerNotice {
                sentence: messages::current_words().one_moment.to_owned(),
                left_s: None,
            };
        }
        let mut people = self.people.iter();
        let Some(person) = people.find(|person| seats.contains(&person.seat)) else {
            // Everybody is heard: only the server's message is missing, or inputs are on their way.
            let sentence = match self.people.first() {
                _ if !is_connected => messages::current_words().waiting_for_server.to_owned(),
                Some(person) if self.people.len() == 1 => messages::say_waiting_for(&person.name),
                _ => messages::current_words().waiting_for_others.to_owned(),
            };
            return PartnerNotice {
                sentence,
                left_s: None,
            };
        };
        let sentence = match person.presence {
            Presence::Here => messages::say_not_heard(&person.name),
            Presence::Hidden => messages::say_held_hidden(&person.name),
            Presence::Gone => messages::say_held_gone(&person.name),
            Presence::Returning => messages::say_returning(&person.name),
        };
        let left_s = person.left_s(now_us);
        PartnerNotice { sentence, left_s }
    }

    /// The notice to the person who has the seat of this page again.
    pub fn welcome_back(&self) -> &'static str {
        match self.stand_in {
            Some(Controller::Ai { .. }) if self.disclose_ai => {
                messages::current_words().back_from_ai
            }
            Some(Controller::Vacant) => messages::current_words().back_to_place,
            _ => messages::current_words().back,
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Era, Life, Tick};

    use super::*;

    const SECOND_US: u64 = 1_000_000;

    fn plan(people: u8, disclose_ai: bool) -> Plan {
        Plan {
            era: Era(4),
            disclose_ai,
            ..Plan::for_testing(usize::from(people))
        }
    }

    fn hear(
        notices: &mut PartnerNotices,
        now_us: u64,
        (seat, presence, left_ms): (u8, Presence, u32),
    ) {
        notices.handle_presence(now_us, Seat(seat), presence, left_ms);
    }

    fn change(notices: &mut PartnerNotices, seat: u8, controller: Controller) {
        notices.handle_changes(&[Change {
            number: 0,
            seat: Seat(seat),
            tick: Tick(9),
            controller,
            life: Life(1),
            from: Tick(0),
            inputs: Vec::new(),
            key: None,
        }]);
    }

    fn bot() -> Controller {
        Controller::Ai {
            policy: "cook".to_owned(),
        }
    }

    fn sentences_at(notices: &PartnerNotices, now_us: u64) -> Vec<String> {
        let lines = notices.lines(now_us);
        lines.into_iter().map(|line| line.sentence).collect()
    }

    #[test]
    fn somebody_who_goes_is_counted_down_and_welcomed_back() {
        let mut notices = PartnerNotices::new(&plan(2, true));
        assert_eq!(notices.lines(0), []);
        hear(&mut notices, SECOND_US, (1, Presence::Gone, 15_000));
        let line = &notices.lines(3 * SECOND_US + 1)[0];
        assert_eq!(line.left_s, Some(13));
        assert_eq!(line.sentence, messages::say_gone("Your partner", false));
        hear(&mut notices, 5 * SECOND_US, (1, Presence::Here, 0));
        assert_eq!(
            sentences_at(&notices, 6 * SECOND_US),
            [messages::say_back("Your partner")]
        );
        assert_eq!(notices.lines(5 * SECOND_US + GOOD_NEWS_US), []);
    }

    #[test]
    fn an_ai_partner_in_the_seat_is_told_if_the_study_discloses_it() {
        for disclose_ai in [true, false] {
            let mut notices = PartnerNotices::new(&plan(2, disclose_ai));
            change(&mut notices, 1, bot());
            hear(&mut notices, 0, (1, Presence::Gone, 9_000));
            let expected: &[String] = match disclose_ai {
                true => &[messages::say_replaced("Your partner")],
                false => &[],
            };
            assert_eq!(sentences_at(&notices, 1), expected);
            // The person comes back: a notice that was never shown is not taken back either.
            change(&mut notices, 1, Controller::Human);
            hear(&mut notices, 2, (1, Presence::Returning, 0));
            assert_eq!(notices.lines(3).len(), usize::from(disclose_ai));
            hear(&mut notices, 4, (1, Presence::Here, 0));
            assert_eq!(notices.lines(5).len(), usize::from(disclose_ai));
            // The next time, somebody only looks away, and a notice says so; an AI partner would not look away.
            hear(&mut notices, 6 + GOOD_NEWS_US, (1, Presence::Hidden, 0));
            assert_eq!(
                notices.lines(7 + GOOD_NEWS_US).len(),
                usize::from(disclose_ai)
            );
        }
    }

    #[test]
    fn nothing_that_is_known_of_partners_tells_an_ai_partner_that_is_not_disclosed() {
        let seats = |controllers: &[Controller]| Plan {
            controllers: controllers.to_vec(),
            ..plan(0, false)
        };
        let ai = PartnerNotices::new(&seats(&[Controller::Human, bot()]));
        let mut person = PartnerNotices::new(&seats(&[Controller::Human, Controller::Human]));
        let known = KnownPartner {
            seat: Seat(1),
            is_ai: false,
            is_here: true,
        };
        assert_eq!(ai.list_known(), [known]);
        assert_eq!(person.list_known(), [known]);
        for presence in [Presence::Hidden, Presence::Gone, Presence::Returning] {
            hear(&mut person, 0, (1, presence, 9_000));
            assert_eq!(person.list_known(), [known], "{presence:?}");
        }
        for controller in [bot(), Controller::Vacant, Controller::Human] {
            change(&mut person, 1, controller);
            assert_eq!(person.list_known(), [known]);
        }
    }

    #[test]
    fn what_is_known_of_partners_follows_who_goes_and_who_plays_for_them() {
        let controllers = vec![Controller::Human, Controller::Human, bot()];
        let mut notices = PartnerNotices::new(&Plan {
            controllers,
            ..plan(0, true)
        });
        let known = |notices: &PartnerNotices| -> Vec<(u8, bool, bool)> {
            let known = notices.list_known().into_iter();
            known.map(|of| (of.seat.0, of.is_ai, of.is_here)).collect()
        };
        assert_eq!(known(&notices), [(1, false, true), (2, true, true)]);
        hear(&mut notices, 0, (1, Presence::Gone, 9_000));
        assert_eq!(known(&notices)[0], (1, false, false));
        change(&mut notices, 1, bot());
        assert_eq!(known(&notices)[0], (1, true, true));
        change(&mut notices, 1, Controller::Human);
        hear(&mut notices, 1, (1, Presence::Here, 0));
        assert_eq!(known(&notices)[0], (1, false, true));
    }

    #[test]
    fn a_study_that_does_not_tell_ai_partners_says_nothing_that_only_people_do() {
        let mut notices = PartnerNotices::new(&plan(2, false));
        for presence in [
            Presence::Hidden,
            Presence::Gone,
            Presence::Returning,
            Presence::Here,
        ] {
            hear(&mut notices, 0, (1, presence, 9_000));
            assert_eq!(notices.lines(1), []);
            let why = notices.waiting_for(1, &[Seat(1)], true);
            assert_eq!(why.sentence, messages::current_words().one_moment);
            assert_eq!(why.left_s, None);
        }
    }

    #[test]
    fn of_several_people_each_has_a_name() {
        let mut notices = PartnerNotices::new(&plan(4, true));
        hear(&mut notices, 0, (3, Presence::Hidden, 0));
        hear(&mut notices, 0, (1, Presence::Gone, 0));
        hear(&mut notices, 0, (0, Presence::Gone, 0));
        let expected = [
            messages::say_gone("Player 2", false),
            messages::say_looked_away("Player 4"),
        ];
        assert_eq!(sentences_at(&notices, 1), expected);
        assert_eq!(notices.presence(Seat(3)), Some(Presence::Hidden));
        assert_eq!(notices.presence(Seat(0)), None);
    }

    #[test]
    fn the_world_waits_for_whom_is_not_heard() {
        let mut notices = PartnerNotices::new(&plan(2, true));
        let waits = |notices: &PartnerNotices, seats: &[Seat], is_connected| {
            notices.waiting_for(SECOND_US, seats, is_connected)
        };
        let partner = "Your partner";
        assert_eq!(
            waits(&notices, &[], true).sentence,
            messages::say_waiting_for(partner)
        );
        assert_eq!(
            waits(&notices, &[], false).sentence,
            messages::current_words().waiting_for_server
        );
        assert_eq!(
            waits(&notices, &[Seat(1)], true).sentence,
            messages::say_not_heard(partner)
        );
        hear(&mut notices, 0, (1, Presence::Gone, 9_000));
        let line = waits(&notices, &[Seat(1)], true);
        assert_eq!(line.sentence, messages::say_held_gone(partner));
        assert_eq!(line.left_s, Some(8));
    }

    #[test]
    fn who_comes_back_learns_who_played() {
        let mut notices = PartnerNotices::new(&plan(2, true));
        assert_eq!(notices.welcome_back(), messages::current_words().back);
        change(&mut notices, 0, Controller::Vacant);
        assert_eq!(
            notices.welcome_back(),
            messages::current_words().back_to_place
        );
        change(&mut notices, 0, bot());
        change(&mut notices, 0, Controller::Human);
        assert_eq!(
            notices.welcome_back(),
            messages::current_words().back_from_ai
        );
        let mut notices = PartnerNotices::new(&plan(2, false));
        change(&mut notices, 0, bot());
        assert_eq!(notices.welcome_back(), messages::current_words().back);
    }
}
