//! Rooms of a lobby, and moves of people by a researcher from one room to another.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::desk::{DeskOrder, OrderRefused};
use crate::overview::{RoomChoice, WaitingPerson};

/// A lobby of two whose people share a tone, after these stages and with these further lines of the design.
fn lobby(design: &str, before: &str) -> Stage {
    Stage::read(
        &format!(
            "design:
  between: {{tone: {{levels: [warm, cool, mild]}}, size: {{levels: [small, large]}}}}
{design}timeline:
  - {{id: how, type: instructions, pages: [page.md]}}
{before}  - {{id: lobby, type: lobby, group_size: 2, timeout_s: 600, on_timeout: wait, match: {{same: [tone]}}}}
  - {{id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}}
  - {{id: last, type: instructions, pages: [page.md], when: tone == 'warm' && size == 'large'}}
"
        ),
        Limits::default(),
    )
}

impl Stage {
    fn waiting_people(&self) -> Vec<WaitingPerson> {
        self.arbiter.make_overview(self.now_us).waiting
    }

    /// The room in which somebody waits, by order of arrival.
    fn room_of(&self, number: usize) -> Option<String> {
        let name = self
            .arbiter
            .sessions
            .iter()
            .nth(number)?
            .participant
            .clone();
        let mut waiting = self.waiting_people().into_iter();
        Some(waiting.find(|one| one.participant == name)?.room)
    }

    fn move_to(&mut self, number: usize, room: &str) -> Result<(), OrderRefused> {
        let session = self.arbiter.sessions.iter().nth(number).unwrap();
        let order = DeskOrder::MoveToRoom {
            participant: session.participant.clone(),
            room: room.to_owned(),
        };
        let done = self.arbiter.handle_order(self.now_us, "Ada", order);
        self.drain();
        done
    }

    fn moves(&self) -> Vec<String> {
        let writes = self.writes.iter();
        let moves = writes.filter_map(|write| match write {
            Write::Intervention { order, detail, .. } if *order == "move_to_room" => {
                Some(detail.clone())
            }
            _ => None,
        });
        moves.collect()
    }
}

#[test]
fn somebody_who_is_moved_plays_with_the_people_of_the_other_room() {
    let in_two_rooms = (1..20).find_map(|seed| {
        let mut stage = lobby(&format!("  seed: {seed}\n"), "");
        stage.queue(1);
        stage.wait(5 * SECOND);
        stage.queue(2);
        (stage.plan(1).is_none() && stage.plan(2).is_none()).then_some(stage)
    });
    let mut stage = in_two_rooms.expect("some seed draws two tones");
    let rooms = [0, 1].map(|number| stage.room_of(number).unwrap());
    assert_ne!(rooms[0], rooms[1]);
    let first = &stage.waiting_people()[0];
    let other = RoomChoice {
        room: rooms[1].clone(),
        waiting: 1,
    };
    assert_eq!((first.rooms.len(), &first.rooms[0]), (2, &other));
    stage.move_to(0, &rooms[1]).unwrap();
    assert_eq!(stage.moves(), [format!("{} to {}", rooms[0], rooms[1])]);
    let plans = (stage.plan(1).unwrap(), stage.plan(2).unwrap());
    assert_eq!(plans.0.era, plans.1.era);
    assert_eq!(plans.0.seat, Seat(0), "they have waited longer");
    let again = stage.move_to(0, &rooms[0]);
    assert!(
        matches!(again, Err(OrderRefused::NotWaiting(_))),
        "{again:?}"
    );
}

#[test]
fn a_move_is_there_after_a_restart() {
    let mut stage = lobby("", "");
    let token = stage.queue(1);
    let own = stage.room_of(0).unwrap();
    let other = stage.waiting_people()[0].rooms[0].room.clone();
    stage.move_to(0, &other).unwrap();
    assert_eq!(stage.room_of(0).as_ref(), Some(&other));
    stage.restart();
    stage.resume(2, &token, None);
    assert_eq!(stage.room_of(0), Some(other));
    stage.move_to(0, &own).unwrap();
    assert_eq!(stage.room_of(0), Some(own));
}

#[test]
fn a_room_that_there_is_not_or_that_is_the_own_is_refused() {
    let mut stage = lobby("", "");
    stage.queue(1);
    let own = stage.room_of(0).unwrap();
    let unknown = stage.move_to(0, "hot").unwrap_err();
    let told = "the lobby `lobby` has no room `hot`; its rooms are warm, cool, mild";
    assert_eq!(unknown.to_string(), told);
    let same = stage.move_to(0, &own);
    assert!(matches!(same, Err(OrderRefused::SameRoom(_))), "{same:?}");
    assert_eq!(stage.moves(), [""; 0]);
}

#[test]
fn a_level_that_was_used_on_the_way_stays() {
    let read = "  - {id: read, type: instructions, pages: [page.md], when: tone == 'warm'}\n";
    let mut stage = lobby("", read);
    stage.queue(1);
    if stage.room_of(0).is_none() {
        let done = ClientMessage::StageDone {
            stage: 1,
            answers: Vec::new(),
            pages_ms: vec![1],
        };
        stage.say(1, done);
    }
    let own = stage.room_of(0).unwrap();
    let other = ["warm", "cool"].into_iter().find(|room| *room != own);
    let refused = stage.move_to(0, other.unwrap());
    assert!(
        matches!(&refused, Err(OrderRefused::LevelInUse { factor, .. }) if factor == "tone"),
        "{refused:?}"
    );
    assert_eq!(stage.waiting_people()[0].rooms, []);
}

#[test]
fn a_treatment_without_a_place_takes_nobody() {
    let each =
        "warm/small: 1, warm/large: 1, cool/small: 1, cool/large: 1, mild/small: 1, mild/large: 1";
    let mut stage = lobby(&format!("  quota: {{{each}}}\n"), "");
    for conn in 1..=6 {
        stage.queue(conn);
    }
    let all: Vec<String> = (0..6).filter_map(|number| stage.room_of(number)).collect();
    // Two came for each tone, and so were matched.
    assert_eq!(all, [""; 0]);
    let mut stage = lobby(&format!("  quota: {{{each}}}\n"), "");
    for conn in 1..=5 {
        stage.queue(conn);
    }
    let waiting = stage.waiting_people();
    let [last] = &waiting[..] else {
        panic!("{waiting:?}")
    };
    let participant = last.participant.clone();
    let order = DeskOrder::MoveToRoom {
        participant,
        room: last.rooms[0].room.clone(),
    };
    let refused = stage.arbiter.handle_order(stage.now_us, "Ada", order);
    assert!(
        matches!(refused, Err(OrderRefused::NoPlaceInTreatment(_))),
        "{refused:?}"
    );
}

#[test]
fn a_lobby_whose_people_share_nothing_has_one_room() {
    let mut stage = Stage::new(Limits::default());
    stage.queue(1);
    assert_eq!(stage.room_of(0).as_deref(), Some(""));
    let refused = stage.move_to(0, "warm");
    assert!(
        matches!(refused, Err(OrderRefused::OneRoom(_))),
        "{refused:?}"
    );
}

#[derive(Clone, Debug)]
enum Step {
    Come,
    Move(usize, usize),
    Close(usize),
    Return(usize),
    Here(usize),
    Wait(u64),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let at = 0..8_usize;
    prop_oneof![
        3 => Just(Step::Come),
        6 => (at.clone(), 0..3_usize).prop_map(|(at, room)| Step::Move(at, room)),
        1 => at.clone().prop_map(Step::Close),
        2 => at.clone().prop_map(Step::Return),
        1 => at.prop_map(Step::Here),
        2 => (0..40 * SECOND).prop_map(Step::Wait),
        1 => Just(Step::Restart),
    ]
}

/// People who come, wait, are moved and go, and the connections of their pages.
struct Crowd {
    stage: Stage,
    people: Vec<(String, u64)>,
    conns: u64,
}

impl Crowd {
    fn new() -> Self {
        let stage = Stage::read(
            "design:
  between: {tone: {levels: [warm, cool, mild]}, side: {levels: [left, right]}}
timeline:
  - {id: how, type: instructions, pages: [page.md]}
  - id: lobby
    type: lobby
    group_size: 2
    timeout_s: 300
    on_timeout: wait
    presence: {prompt_after_s: 20, grace_s: 10}
    match:
      same: [tone]
      composition: members.exists(m, m.side == 'left') && members.exists(m, m.side == 'right')
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}
",
            Limits::default(),
        );
        Self {
            stage,
            people: Vec::new(),
            conns: 0,
        }
    }

    fn take(&mut self, step: Step) {
        let count = self.people.len().max(1);
        match step {
            Step::Come if self.people.len() < 8 => {
                self.conns += 1;
                let token = self.stage.queue(self.conns);
                self.people.push((token, self.conns));
            }
            Step::Come => {}
            Step::Move(at, room) if at < self.people.len() => {
                let _ = self.stage.move_to(at, ["warm", "cool", "mild"][room]);
            }
            Step::Move(..) => {}
            Step::Close(at) => {
                if let Some((_, conn)) = self.people.get(at % count) {
                    self.stage.close(*conn);
                }
            }
            Step::Return(at) => {
                if let Some((token, conn)) = self.people.get_mut(at % count) {
                    self.conns += 1;
                    *conn = self.conns;
                    let (token, conn) = (token.clone(), *conn);
                    self.stage.resume(conn, &token, None);
                }
            }
            Step::Here(at) => {
                if let Some((_, conn)) = self.people.get(at % count) {
                    self.stage.say(*conn, ClientMessage::Here);
                }
            }
            Step::Wait(us) => self.stage.wait(us),
            Step::Restart => self.stage.restart(),
        }
    }

    /// Checks that everybody who waits is in one room, the room of their levels.
    fn check_rooms(&self) -> Result<(), TestCaseError> {
        let arbiter = &self.stage.arbiter;
        let mut found = BTreeMap::new();
        for (room, lobby) in arbiter.lobbies.iter() {
            for (who, ..) in lobby.waiting_people() {
                prop_assert_eq!(found.insert(who, room), None, "in two rooms");
            }
        }
        for who in arbiter.sessions.ids() {
            let session = &arbiter.sessions[who];
            let room = match session.place {
                Place::Lobby(room) => Some(room),
                _ => None,
            };
            prop_assert_eq!(
                found.get(&who).copied(),
                room,
                "lost, or forgotten in a room"
            );
            let is_at_lobby = arbiter.stage_of(who) == 1 && session.conn.is_some();
            prop_assert!(!is_at_lobby || session.place != Place::Page, "nowhere");
            if let Some(company) = room.and_then(|room| arbiter.lobbies.company_of(room)) {
                let tone = &session.progress.assignment().own.levels["tone"];
                prop_assert_eq!(&company.levels, std::slice::from_ref(tone));
            }
        }
        Ok(())
    }

    /// Checks that the people of a group share what the study says, and differ as it says.
    fn check_groups(&self) -> Result<(), TestCaseError> {
        let arbiter = &self.stage.arbiter;
        for (_, group) in arbiter.groups.iter() {
            let members = group.members().map(|(_, member)| member.who);
            let levels = members.map(|who| &arbiter.sessions[who].progress.assignment().own.levels);
            let levels: Vec<_> = levels.collect();
            prop_assert_eq!(levels.len(), 2);
            prop_assert_eq!(&levels[0]["tone"], &levels[1]["tone"]);
            prop_assert_ne!(&levels[0]["side"], &levels[1]["side"]);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// After any moves, nobody is in two rooms, nobody is lost, and groups are as the study wants.
    #[test]
    fn a_move_never_breaks_the_laws_of_a_lobby(steps in prop::collection::vec(step(), 0..80)) {
        let mut crowd = Crowd::new();
        for step in steps {
            crowd.take(step);
            crowd.check_rooms()?;
            crowd.check_groups()?;
        }
    }
}
