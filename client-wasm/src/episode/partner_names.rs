//! The names of the others in an episode, by seat: those of the chat, where the study gives names.
//!
//! This module must not know where the names are shown.

use protocol::control::{ChatView, Plan};
use protocol::{Controller, Seat};

use crate::messages::{self, Other};

/// The group, as its chat describes it.
#[derive(Debug, PartialEq, Eq)]
struct GroupPlaces {
    number: usize,
    /// The name of each place; empty without names.
    names: Vec<String>,
}

/// The names of the others in an episode.
#[derive(Debug)]
pub struct PartnerNames {
    own: Seat,
    /// The controller of each seat at the start.
    controllers: Vec<Controller>,
    /// False if an AI partner counts as a person.
    disclose_ai: bool,
    /// `None` until the chat beside the episode has described it.
    group: Option<GroupPlaces>,
}

impl PartnerNames {
    /// Returns the names before a chat has given any.
    pub fn new(plan: &Plan) -> Self {
        Self {
            own: plan.seat,
            controllers: plan.controllers.clone(),
            disclose_ai: plan.disclose_ai,
            group: None,
        }
    }

    /// Takes the places of people from the chat; returns true if they are new.
    pub fn handle_chat(&mut self, view: &ChatView) -> bool {
        let is_known = self
            .group
            .as_ref()
            .is_some_and(|group| (group.number, &group.names) == (view.members.len(), &view.names));
        if !is_known {
            self.group = Some(GroupPlaces {
                number: view.members.len(),
                names: view.names.clone(),
            });
        }
        !is_known
    }

    /// The name of the person at a seat, at the start of a sentence.
    pub fn name_at(&self, seat: Seat) -> String {
        let people = self.others().filter(|(_, is_ai)| !is_ai).count();
        let places = self.group.as_ref().map_or(0, |group| group.number);
        let is_alone = people == 1 && places <= 2;
        self.given_name(seat).unwrap_or_else(|| {
            let place = self.place_of(seat).unwrap_or(seat);
            messages::name_partner(place, is_alone)
        })
    }

    /// Everybody else, in a few words; empty if there is nobody.
    pub fn name_everybody(&self) -> String {
        let others = self.others().map(|(seat, is_ai)| Other {
            given: self.given_name(seat),
            is_ai,
        });
        messages::name_others(&others.collect::<Vec<_>>())
    }

    /// The other seats that somebody plays, and whether it is an AI partner that the person knows of.
    pub fn others(&self) -> impl Iterator<Item = (Seat, bool)> + '_ {
        let seats = (0..).map(Seat).zip(&self.controllers);
        let others = seats.filter(|(seat, _)| *seat != self.own);
        others.filter_map(|(seat, controller)| match controller {
            Controller::Human => Some((seat, false)),
            Controller::Ai { .. } => Some((seat, self.disclose_ai)),
            Controller::Vacant => None,
        })
    }

    /// Returns the seat of a place in the group.
    pub fn seat_of(&self, place: Seat) -> Option<Seat> {
        let mut seats = (0..).map(Seat).take(self.controllers.len());
        seats.find(|seat| self.place_of(*seat) == Some(place))
    }

    fn given_name(&self, seat: Seat) -> Option<String> {
        let name = (self.group.as_ref()?.names).get(self.place_of(seat)?.index())?;
        (!name.is_empty()).then(|| name.clone())
    }

    /// Returns the place of a seat in the group. An AI partner of the stage has none; a partner that plays for a
    /// missing person has the place of that person.
    fn place_of(&self, seat: Seat) -> Option<Seat> {
        let is_played = |controller: &&Controller| **controller != Controller::Vacant;
        let is_person = |controller: &&Controller| **controller == Controller::Human;
        let before = self.controllers.iter().take(seat.index());
        let played = self.controllers.iter().filter(is_played).count();
        let all_have_places = (self.group.as_ref()).is_none_or(|group| group.number == played);
        let place = match self.controllers.get(seat.index()) {
            None | Some(Controller::Vacant) => return None,
            Some(_) if all_have_places => before.filter(is_played).count(),
            Some(Controller::Human) => before.filter(is_person).count(),
            Some(Controller::Ai { .. }) => return None,
        };
        u8::try_from(place).ok().map(Seat)
    }
}

#[cfg(test)]
mod tests {
    use protocol::control::ChatMember;

    use super::*;
    use crate::messages::name_writer;

    fn names(controllers: &[Controller], disclose_ai: bool) -> PartnerNames {
        PartnerNames::new(&Plan {
            controllers: controllers.to_vec(),
            disclose_ai,
            ..Plan::for_testing(controllers.len())
        })
    }

    fn ai() -> Controller {
        Controller::Ai {
            policy: "cook".to_owned(),
        }
    }

    fn view(members: &[ChatMember], names: &[&str]) -> ChatView {
        ChatView {
            group_visit: 0,
            place: Seat(0),
            members: members.to_vec(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            max_length: 500,
            left_ms: None,
            next: 0,
            messages: Vec::new(),
        }
    }

    #[test]
    fn a_vacant_seat_is_nobody() {
        let seats = [Controller::Human, Controller::Vacant];
        assert_eq!(names(&seats, true).name_everybody(), "");
        let seats = [Controller::Human, Controller::Vacant, Controller::Human];
        assert_eq!(names(&seats, true).name_everybody(), "Partner");
    }

    #[test]
    fn an_ai_partner_that_is_not_disclosed_counts_as_a_person() {
        let seats = [Controller::Human, Controller::Human, ai()];
        assert_eq!(
            names(&seats, true).name_everybody(),
            "Another player and an AI"
        );
        assert_eq!(names(&seats, false).name_everybody(), "Two other players");
        assert_eq!(
            names(&[Controller::Human, ai()], false).name_everybody(),
            "Partner"
        );
    }

    #[test]
    fn a_person_has_the_number_and_the_name_that_the_chat_uses() {
        let here = [ChatMember::Here; 3];
        // The AI partner of the stage sits between the people, and has no place in their group.
        let between = [
            Controller::Human,
            ai(),
            Controller::Human,
            Controller::Human,
        ];
        for given in [&[][..], &["Red", "Green", "Blue"]] {
            let view = view(&here, given);
            let mut names = names(&between, true);
            assert!(names.handle_chat(&view));
            assert!(!names.handle_chat(&view));
            assert_eq!(names.name_at(Seat(2)), name_writer(&view, Seat(1)));
            assert_eq!(names.name_at(Seat(3)), name_writer(&view, Seat(2)));
            let seats = [0, 1, 2, 3].map(|place| names.seat_of(Seat(place)));
            assert_eq!(seats, [Some(Seat(0)), Some(Seat(2)), Some(Seat(3)), None]);
            let everybody = match given {
                [] => "Two other players and an AI",
                _ => "Green, Blue and an AI",
            };
            assert_eq!(names.name_everybody(), everybody);
        }
    }

    #[test]
    fn an_ai_partner_in_the_place_of_somebody_leaves_the_others_their_numbers() {
        let view = view(&[ChatMember::Here, ChatMember::Left, ChatMember::Here], &[]);
        let mut names = names(&[Controller::Human, ai(), Controller::Human], true);
        names.handle_chat(&view);
        assert_eq!(names.name_at(Seat(2)), name_writer(&view, Seat(2)));
        assert_eq!(names.name_at(Seat(2)), "Player 3");
    }
}
