//! The rooms of all lobbies: those who may become a group wait in one room, so each room has a [`Lobby`].
//!
//! It must not know of sessions, episodes and messages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use study::Company;

use super::session::SessionId;
use crate::lobby::{Lobby, LobbyRules};

/// Waits that an estimate is made of.
const RECENT: usize = 20;

/// One of the rooms of a lobby stage: there is one for all who may become a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Room(pub usize);

/// An open room.
#[derive(Debug)]
struct OpenRoom {
    /// Index of the lobby stage.
    stage: u16,
    /// The facts that its people have in common.
    company: Company,
    lobby: Lobby<SessionId>,
}

/// The rooms of all lobbies.
#[derive(Debug, Default)]
pub(super) struct Lobbies {
    by_room: BTreeMap<Room, OpenRoom>,
    /// The rooms by lobby stage and by what their people have in common.
    rooms: BTreeMap<(u16, Company), Room>,
    /// Rooms whose people must learn who is here.
    changed: BTreeSet<Room>,
    /// The latest waits of people until they were matched, by lobby stage, microseconds.
    waits: BTreeMap<u16, VecDeque<u64>>,
}

impl Lobbies {
    /// Returns the room of a lobby stage for people with this in common; it is made when the first of them comes.
    pub(super) fn open_room(
        &mut self,
        stage: u16,
        company: Company,
        rules: impl FnOnce(Room) -> LobbyRules,
    ) -> Room {
        let next = Room(self.rooms.len());
        let key = (stage, company.clone());
        let room = *self.rooms.entry(key).or_insert(next);
        let open = self.by_room.entry(room);
        open.or_insert_with(|| OpenRoom {
            stage,
            company,
            lobby: Lobby::new(rules(room)),
        });
        room
    }

    pub(super) fn get(&self, room: Room) -> Option<&Lobby<SessionId>> {
        self.by_room.get(&room).map(|open| &open.lobby)
    }

    pub(super) fn get_mut(&mut self, room: Room) -> Option<&mut Lobby<SessionId>> {
        self.by_room.get_mut(&room).map(|open| &mut open.lobby)
    }

    /// Every room.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (Room, &Lobby<SessionId>)> {
        self.by_room.iter().map(|(room, open)| (*room, &open.lobby))
    }

    /// The index of the lobby stage of a room.
    pub(super) fn stage_of(&self, room: Room) -> Option<u16> {
        self.by_room.get(&room).map(|open| open.stage)
    }

    /// The facts that the people of a room have in common.
    pub(super) fn company_of(&self, room: Room) -> Option<&Company> {
        self.by_room.get(&room).map(|open| &open.company)
    }

    /// The room of a lobby stage for people with this in common, if it was opened.
    pub(super) fn find_room(&self, stage: u16, company: Company) -> Option<Room> {
        self.rooms.get(&(stage, company)).copied()
    }

    /// The levels of all rooms of a lobby stage that lead the same way, and how many people wait in each.
    pub(super) fn rooms_on_way<'a>(
        &'a self,
        stage: u16,
        way: &'a str,
    ) -> impl Iterator<Item = (&'a [String], usize)> {
        let first = Company {
            way: way.to_owned(),
            levels: Vec::new(),
        };
        let rooms = self.rooms.range((stage, first)..);
        let rooms = rooms.take_while(move |((of, company), _)| *of == stage && company.way == way);
        rooms.map(move |((_, company), room)| {
            let lobby = self.get(*room);
            let waiting = lobby.map_or(0, |lobby| lobby.waiting_people().count());
            (company.levels.as_slice(), waiting)
        })
    }

    /// Takes a person out of a room.
    pub(super) fn leave_room(&mut self, room: Room, who: SessionId) {
        let lobby = self.get_mut(room);
        if lobby.is_some_and(|lobby| lobby.handle_leave(who)) {
            self.touch_room(room);
        }
    }

    /// Records how long somebody waited for a group.
    pub(super) fn record_wait(&mut self, stage: u16, waited_us: u64) {
        let waits = self.waits.entry(stage).or_default();
        waits.push_back(waited_us);
        if waits.len() > RECENT {
            waits.pop_front();
        }
    }

    /// Returns the latest waits of people until they were matched at a lobby stage, microseconds, the oldest first.
    pub(super) fn recent_waits_us(&self, stage: u16) -> Vec<u64> {
        let waits = self.waits.get(&stage).into_iter().flatten();
        waits.copied().collect()
    }

    /// The median of recent waits at a lobby stage, microseconds.
    pub(super) fn usual_wait_us(&self, stage: u16) -> Option<u64> {
        let mut recent: Vec<u64> = self.waits.get(&stage)?.iter().copied().collect();
        recent.sort_unstable();
        recent.get(recent.len() / 2).copied()
    }

    /// Has a room settled.
    pub(super) fn touch_room(&mut self, room: Room) {
        self.changed.insert(room);
    }

    /// Has the rooms of these lobby stages settled.
    pub(super) fn touch_stages(&mut self, is_meant: impl Fn(u16) -> bool) {
        let meant = self.rooms.iter().filter(|((stage, _), _)| is_meant(*stage));
        self.changed.extend(meant.map(|(_, room)| *room));
    }

    /// Has those rooms settled whose time has come.
    pub(super) fn touch_due(&mut self, now_us: u64) {
        let is_due = |lobby: &Lobby<SessionId>| {
            let timeout = lobby.poll_timeout();
            timeout.is_some_and(|(at_us, _)| at_us <= now_us)
        };
        let due = self.by_room.iter().filter(|(_, open)| is_due(&open.lobby));
        self.changed.extend(due.map(|(room, _)| *room));
    }

    /// Takes the next room that must be settled.
    pub(super) fn poll_changed(&mut self) -> Option<Room> {
        self.changed.pop_first()
    }

    /// True if no room must be settled.
    pub(super) fn is_settled(&self) -> bool {
        self.changed.is_empty()
    }

    /// The time at which a room must be settled, microseconds, and the reason.
    pub(super) fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        let open = self.by_room.values();
        open.filter_map(|open| open.lobby.poll_timeout()).min()
    }
}
