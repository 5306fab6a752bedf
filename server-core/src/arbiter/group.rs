//! A group of people from its match to the last stage that they play together: plain data.
//!
//! The progress of its people says where they are; the group has only its members, and the people who will not come
//! back.

use std::collections::BTreeSet;

use protocol::Seat;
use protocol::control::{Absent, ChatMessage};
use study::UnitAssignment;

use super::group_chat::GroupChat;
use super::lobbies::Room;
use super::rows::MessageRow;
use super::session::SessionId;

/// A group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupId(pub usize);

/// People who were matched, and the AI partners that their lobby gave them.
#[derive(Debug)]
pub(super) struct Group {
    /// Id in the data, `G-` and eight letters.
    pub id: String,
    /// Index of the lobby that made it.
    pub lobby: u16,
    /// The room in which it was made; `None` after a restart.
    pub room: Option<Room>,
    /// Its random assignment.
    pub draw: UnitAssignment,
    /// The holder of each place, which is a seat of people in every stage that they play; `None` for an AI partner.
    pub places: Vec<Option<Member>>,
    /// True if an AI partner plays or played for somebody who is missing.
    pub has_ai: bool,
    /// True if it is durable: not before its first episode starts, because it may be dissolved until then.
    pub is_kept: bool,
    /// The wait for those who are missing at the next visit.
    pub wait: Option<GroupWait>,
    /// Until when somebody waits who plays with an AI partner and is not to know it, microseconds.
    pub blind_until_us: Option<u64>,
    /// The pages that show who is missing.
    pub shown: BTreeSet<SessionId>,
    /// The missing people, as the waiting people last learned.
    pub told: Vec<Absent>,
    /// The chat of its people at their visit.
    pub chat: Option<GroupChat>,
    /// Messages so far, at all visits.
    pub said: u32,
    /// The time at which it must be settled even if nothing happens, microseconds.
    pub wake_us: Option<u64>,
}

/// The wait of a group for those who are missing at a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupWait {
    /// The number of the visit.
    pub group_visit: u16,
    /// When it began, microseconds.
    pub since_us: u64,
    /// The time until which the others wait for missing people, microseconds.
    pub until_us: u64,
    /// True if nobody is there to wait.
    pub is_paused: bool,
    /// True if somebody has gone while the pages of the next episode connected.
    has_lost_link: bool,
}

impl GroupWait {
    /// A wait that begins, for at most this long.
    pub(super) fn new(group_visit: u16, now_us: u64, most_us: u64) -> Self {
        Self {
            group_visit,
            since_us: now_us,
            until_us: now_us + most_us,
            is_paused: false,
            has_lost_link: false,
        }
    }

    /// A wait that a stop of the server has interrupted.
    pub(super) fn restored((group_visit, until_us): (u16, u64), most_us: u64) -> Self {
        Self {
            group_visit,
            since_us: until_us.saturating_sub(most_us),
            until_us,
            is_paused: true,
            has_lost_link: false,
        }
    }

    /// Handles that somebody left while the pages of the next episode connected. The wait continues where it was; but
    /// the first time, they get as long to come back as after a stop of the server.
    pub(super) fn lose_link(&mut self) {
        self.is_paused |= !std::mem::replace(&mut self.has_lost_link, true);
    }

    /// Handles that somebody waits again. The missed time does not start again, but missing people also get `least_us`
    /// to come back.
    pub(super) fn resume(&mut self, now_us: u64, most_us: u64, least_us: u64) {
        if std::mem::take(&mut self.is_paused) {
            let least_us = (now_us + least_us.min(most_us)).saturating_sub(most_us);
            self.since_us = self.since_us.max(least_us);
        }
    }
}

/// Somebody of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub who: SessionId,
    /// The reason why they have left the group.
    pub gone: Option<DepartureReason>,
}

/// The reason why somebody has left their group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepartureReason {
    /// Their route has ended, or leads past what the group plays.
    Left,
    /// They were away from an episode for longer than the study grants.
    Away,
    /// They did not come to a stage in time.
    Late,
}

/// The holder of a seat of people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SeatAssignment {
    Person(SessionId),
    /// The policy of an AI partner.
    Ai(String),
}

impl Group {
    /// The end of its chat, microseconds, if it has one.
    pub(super) fn chat_until_us(&self) -> Option<u64> {
        self.chat.as_ref()?.until_us
    }

    pub(super) fn new(
        id: String,
        lobby: u16,
        draw: UnitAssignment,
        places: Vec<Option<Member>>,
    ) -> Self {
        let has_ai = places.iter().any(Option::is_none);
        Self {
            id,
            lobby,
            room: None,
            draw,
            places,
            has_ai,
            is_kept: false,
            wait: None,
            blind_until_us: None,
            shown: BTreeSet::new(),
            told: Vec::new(),
            chat: None,
            said: 0,
            wake_us: None,
        }
    }

    /// Its people, each with their seat among the seats of people.
    pub(super) fn members(&self) -> impl Iterator<Item = (Seat, Member)> + '_ {
        let places = (0..).map(Seat).zip(&self.places);
        places.filter_map(|(seat, member)| Some((seat, (*member)?)))
    }

    /// True if an AI partner plays or played for one of its people: not if its lobby alone gave it one.
    pub(super) fn is_replaced(&self) -> bool {
        let mut members = self.places.iter().flatten();
        let is_whole = self.places.iter().all(Option::is_some);
        self.has_ai && (is_whole || members.any(|member| member.gone.is_some()))
    }

    /// Any two of its people, the first before the other.
    pub(super) fn member_pairs(&self) -> Vec<(SessionId, SessionId)> {
        let people: Vec<SessionId> = self.members().map(|(_, member)| member.who).collect();
        let after = |one: SessionId| people.iter().filter(move |other| one < **other);
        let pairs = people
            .iter()
            .flat_map(|one| after(*one).map(|other| (*one, *other)));
        pairs.collect()
    }

    /// Restores a message; the messages of the data folder come in their order.
    pub(super) fn restore_message(&mut self, row: MessageRow) {
        self.said = row.number + 1;
        let group_visit = self.chat.as_ref().map(|chat| chat.group_visit);
        // A chat may have begun since; messages from before it are not shown there.
        if group_visit.is_some_and(|group_visit| group_visit > row.group_visit) {
            return;
        }
        if group_visit.is_none_or(|group_visit| group_visit < row.group_visit) {
            self.chat = Some(GroupChat::new(row.group_visit));
        }
        if let Some(chat) = &mut self.chat {
            chat.push_message(ChatMessage {
                place: row.place,
                number: row.turn,
                at_us: row.at_us,
                text: row.text,
            });
        }
    }

    pub(super) fn member_mut(&mut self, who: SessionId) -> Option<&mut Member> {
        let members = self.places.iter_mut().flatten();
        members.into_iter().find(|member| member.who == who)
    }
}
