//! A researcher moves somebody who waits to another room of the same lobby: they get the levels that its people share,
//! if nothing on their route has used the levels that change.

use std::collections::BTreeMap;

use study::assign;
use study::design::{Between, Unit};

use super::assignment::Counted;
use super::lobbies::Room;
use super::{Arbiter, Place, SessionId};
use crate::desk::OrderRefused;
use crate::overview::RoomChoice;

/// The most rooms that are listed for somebody who waits.
const MOST_ROOMS: usize = 24;

/// The rooms of one overview, by the room in which somebody waits and the factors whose level can change.
pub(super) type RoomChoices = BTreeMap<(Room, Vec<usize>), Vec<RoomChoice>>;

/// Lists the levels of rooms, one of each factor; with `stays`, only those that differ from these levels in open
/// factors.
fn list_levels(
    factors: &[&Between],
    stays: Option<(&[String], &[usize])>,
) -> impl Iterator<Item = Vec<String>> + use<> {
    let names = |(at, factor): (usize, &&Between)| match stays {
        Some((levels, open)) if !open.contains(&at) => {
            levels.get(at).cloned().into_iter().collect()
        }
        _ => factor
            .levels
            .iter()
            .map(|level| level.name.clone())
            .collect(),
    };
    let names: Vec<Vec<String>> = factors.iter().enumerate().map(names).collect();
    let count: usize = names.iter().map(Vec::len).product();
    (0..count).map(move |number| {
        let mut rest = number;
        let mut levels: Vec<String> = Vec::new();
        for of_factor in names.iter().rev() {
            levels.push(of_factor[rest % of_factor.len()].clone());
            rest /= of_factor.len();
        }
        levels.reverse();
        levels
    })
}

/// A way from one room to another.
struct RoomChange {
    from: Room,
    stage: u16,
    levels: Vec<String>,
}

impl Arbiter {
    /// Finds the factors whose level somebody can still change when they come to a lobby. Nobody changes rooms if
    /// groups come together again, or if they wait for an AI partner as if for a person.
    pub(super) fn find_open_factors(&self, stage: u16, who: SessionId) -> Vec<usize> {
        match self.is_bound_to_room(stage, who) {
            true => Vec::new(),
            false => self.sessions[who].progress.open_factors(&self.study),
        }
    }

    fn is_bound_to_room(&self, stage: u16, who: SessionId) -> bool {
        let lobby = self.study.lobby(stage);
        lobby.is_none_or(|lobby| lobby.matching.reunite.is_some())
            || self.awaited_ai_partner(who).is_some()
    }

    /// Checks that somebody can be moved to a room.
    pub(super) fn check_move(&self, who: SessionId, room: &str) -> Result<(), OrderRefused> {
        let change = self.find_room_change(who, room)?;
        let session = &self.sessions[who];
        let mut draw = session.progress.assignment().own.clone();
        let factors = self.study.company_factors(change.stage);
        let levels = factors.zip(&change.levels);
        let levels = levels.map(|(factor, level)| (factor.name.clone(), level.clone()));
        draw.levels.extend(levels);
        if self.design.unit == Unit::Participant {
            let counts = self.counts(Unit::Participant, Counted::Places, Some(who));
            if !assign::has_place(&self.design, &counts, &draw) {
                return Err(OrderRefused::NoPlaceInTreatment(room.to_owned()));
            }
        }
        let company = self.lobbies.company_of(change.from).cloned();
        let mut company = company.unwrap_or_default();
        company.levels = change.levels;
        let found = self.lobbies.find_room(change.stage, company);
        let lobby = found.and_then(|found| self.lobbies.get(found));
        match lobby.is_some_and(|lobby| lobby.is_full()) {
            true => Err(OrderRefused::RoomFull(room.to_owned())),
            false => Ok(()),
        }
    }

    /// Finds the room in which somebody waits, and the levels of the room with a name.
    fn find_room_change(&self, who: SessionId, room: &str) -> Result<RoomChange, OrderRefused> {
        let session = &self.sessions[who];
        let name = || session.participant.clone();
        let not_waiting = || OrderRefused::NotWaiting(name());
        let Place::Lobby(from) = session.place else {
            return Err(not_waiting());
        };
        let stage = self.lobbies.stage_of(from).ok_or_else(not_waiting)?;
        let company = self.lobbies.company_of(from).ok_or_else(not_waiting)?;
        let factors: Vec<&Between> = self.study.company_factors(stage).collect();
        let lobby = || self.study.timeline[usize::from(stage)].id.clone();
        if factors.is_empty() {
            return Err(OrderRefused::OneRoom(lobby()));
        }
        if self.is_bound_to_room(stage, who) {
            return Err(OrderRefused::BoundToRoom(name()));
        }
        let mut all = list_levels(&factors, None);
        let Some(levels) = all.find(|levels| levels.join("/") == room) else {
            let all = list_levels(&factors, None).take(MOST_ROOMS);
            let rooms: Vec<String> = all.map(|levels| levels.join("/")).collect();
            return Err(OrderRefused::NoSuchRoom {
                lobby: lobby(),
                room: room.to_owned(),
                rooms: rooms.join(", "),
            });
        };
        let changed = (0..factors.len()).filter(|at| company.levels.get(*at) != levels.get(*at));
        let changed: Vec<usize> = changed.collect();
        if changed.is_empty() {
            return Err(OrderRefused::SameRoom(name()));
        }
        let kept = changed.iter().find(|at| !session.open_factors.contains(at));
        match kept {
            Some(at) => Err(OrderRefused::LevelInUse {
                participant: name(),
                factor: factors[*at].name.clone(),
            }),
            None => Ok(RoomChange {
                from,
                stage,
                levels,
            }),
        }
    }

    /// The rooms between which somebody is moved, in words for the tables.
    pub(super) fn describe_move(&self, who: SessionId, room: &str) -> String {
        let Place::Lobby(from) = self.sessions[who].place else {
            return room.to_owned();
        };
        let from = self.lobbies.company_of(from);
        format!(
            "{} to {room}",
            from.map_or(String::new(), |from| from.name())
        )
    }

    /// Moves somebody to a room, which was checked. They have waited there as long as they have waited.
    pub(super) fn move_to_room(&mut self, who: SessionId, room: &str) {
        let Ok(change) = self.find_room_change(who, room) else {
            return;
        };
        let study = std::sync::Arc::clone(&self.study);
        let progress = &mut self.sessions[who].progress;
        progress.change_levels(&study, &change.levels);
        self.store_place(who, None);
        let Some(to) = self.make_room(change.stage, who) else {
            return;
        };
        let lobby = self.lobbies.get_mut(change.from);
        let moving = lobby.and_then(|lobby| lobby.take_out(who));
        let lobby = self.lobbies.get_mut(to);
        let is_in = moving
            .zip(lobby)
            .is_some_and(|(moving, lobby)| lobby.put_in(moving).is_ok());
        self.sessions[who].place = match is_in {
            true => Place::Lobby(to),
            false => Place::Page,
        };
        self.lobbies.touch_room(change.from);
        self.lobbies.touch_room(to);
    }

    /// Lists the rooms to which somebody who waits in a room can be moved; those with the most people first.
    pub(super) fn list_room_choices(
        &self,
        who: SessionId,
        from: Room,
        known: &mut RoomChoices,
    ) -> Vec<RoomChoice> {
        let open = &self.sessions[who].open_factors;
        if open.is_empty() {
            return Vec::new();
        }
        let found = known.entry((from, open.clone()));
        let found = found.or_insert_with(|| self.find_room_choices(from, open));
        found.clone()
    }

    fn find_room_choices(&self, from: Room, open: &[usize]) -> Vec<RoomChoice> {
        let stage = self.lobbies.stage_of(from);
        let Some((stage, company)) = stage.zip(self.lobbies.company_of(from)) else {
            return Vec::new();
        };
        let is_other = |levels: &[String]| {
            let differs = |at: &usize| levels.get(*at) != company.levels.get(*at);
            let mut changed = (0..levels.len()).filter(differs).peekable();
            changed.peek().is_some() && changed.all(|at| open.contains(&at))
        };
        let rooms = self.lobbies.rooms_on_way(stage, &company.way);
        let rooms = rooms.filter(|(levels, waiting)| *waiting > 0 && is_other(levels));
        let mut choices: Vec<RoomChoice> = rooms
            .map(|(levels, waiting)| RoomChoice {
                room: levels.join("/"),
                waiting: waiting as u32,
            })
            .collect();
        choices.sort_by_key(|choice| std::cmp::Reverse(choice.waiting));
        let factors: Vec<&Between> = self.study.company_factors(stage).collect();
        // A study can have many treatments; rooms in which somebody waits come first.
        for levels in list_levels(&factors, Some((&company.levels, open))).take(MOST_ROOMS) {
            let room = levels.join("/");
            let is_known = choices.iter().any(|choice| choice.room == room);
            if is_other(&levels) && !is_known {
                choices.push(RoomChoice { room, waiting: 0 });
            }
        }
        choices.truncate(MOST_ROOMS);
        choices
    }
}
