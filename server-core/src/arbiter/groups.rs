//! The groups from their match on, the groups that must be settled, and the people who have met.
//!
//! It must not know of stages, episodes and messages: where people are is in their sessions.

use std::collections::{BTreeMap, BTreeSet};

use protocol::Seat;

use super::group::{DepartureReason, Group, GroupId, Member};
use super::group_chat::GroupChat;
use super::rows::MessageRow;
use super::session::SessionId;
use super::timeouts::{Timeout, Timeouts};

/// The groups of a study.
#[derive(Debug, Default)]
pub(super) struct Groups {
    by_key: BTreeMap<GroupId, Group>,
    /// When each must be settled, or its chat ends, except for those in `stale`.
    timeouts: Timeouts<GroupId>,
    /// Groups whose times may have changed since.
    stale: BTreeSet<GroupId>,
    /// Groups of which somebody has moved.
    changed: BTreeSet<GroupId>,
    /// People who were in a group together, the first of the two before the other.
    met: BTreeSet<(SessionId, SessionId)>,
}

impl Groups {
    pub(super) fn add_group(&mut self, group: Group) -> GroupId {
        let last = self.by_key.last_key_value();
        let key = GroupId(last.map_or(0, |(last, _)| last.0 + 1));
        self.by_key.insert(key, group);
        self.stale.insert(key);
        key
    }

    pub(super) fn get(&self, key: GroupId) -> Option<&Group> {
        self.by_key.get(&key)
    }

    pub(super) fn get_mut(&mut self, key: GroupId) -> Option<&mut Group> {
        self.stale.insert(key);
        self.by_key.get_mut(&key)
    }

    /// The groups in the order of their creation.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (GroupId, &Group)> {
        self.by_key.iter().map(|(key, group)| (*key, group))
    }

    pub(super) fn find_by_id(&self, id: &str) -> Option<GroupId> {
        let mut groups = self.iter().rev();
        let group = groups.find(|(_, group)| group.id == id);
        group.map(|(key, _)| key)
    }

    /// Returns somebody's seat among the seats of people in a group, and whether they are still there.
    pub(super) fn find_member(&self, key: GroupId, who: SessionId) -> Option<(Seat, Member)> {
        let mut members = self.get(key)?.members();
        members.find(|(_, member)| member.who == who)
    }

    /// Returns somebody's seat among the seats of people in a group.
    pub(super) fn place_of(&self, key: GroupId, who: SessionId) -> Option<Seat> {
        self.find_member(key, who).map(|(place, _)| place)
    }

    /// The last group that one of these lobbies made with somebody.
    pub(super) fn find_earlier(
        &self,
        who: SessionId,
        is_lobby: impl Fn(u16) -> bool,
    ) -> Option<GroupId> {
        let mut own = self.iter().rev().filter(|(_, group)| {
            let is_in = || group.members().any(|(_, member)| member.who == who);
            group.is_kept && is_lobby(group.lobby) && is_in()
        });
        own.next().map(|(key, _)| key)
    }

    /// True if a group is durable, so that it cannot be dissolved any more.
    pub(super) fn is_kept(&self, key: GroupId) -> bool {
        self.get(key).is_some_and(|group| group.is_kept)
    }

    /// Takes note that a group is durable: its people have met.
    pub(super) fn mark_kept(&mut self, key: GroupId) -> Option<&Group> {
        let group = self.by_key.get_mut(&key)?;
        group.is_kept = true;
        self.met.extend(group.member_pairs());
        Some(group)
    }

    /// True if two people were in a group together.
    pub(super) fn have_met(&self, one: SessionId, other: SessionId) -> bool {
        self.met.contains(&(one.min(other), one.max(other)))
    }

    /// Marks somebody as permanently gone; returns true if they were not before.
    pub(super) fn mark_gone(&mut self, key: GroupId, who: SessionId, why: DepartureReason) -> bool {
        let group = self.by_key.get_mut(&key);
        let Some(member) = group.and_then(|group| group.member_mut(who)) else {
            return false;
        };
        let is_new = member.gone.is_none();
        member.gone.get_or_insert(why);
        self.touch_group(key);
        is_new
    }

    /// Notes that an AI partner plays for a missing person; returns true if none did before.
    pub(super) fn mark_ai(&mut self, key: GroupId) -> bool {
        let group = self.by_key.get_mut(&key);
        group.is_some_and(|group| !std::mem::replace(&mut group.has_ai, true))
    }

    /// Removes a group before its first episode; `None` if it had one.
    pub(super) fn dissolve_group(&mut self, key: GroupId) -> Option<Group> {
        let is_open = self.get(key).is_some_and(|group| !group.is_kept);
        self.stale.insert(key);
        is_open.then(|| self.by_key.remove(&key)).flatten()
    }

    /// Returns the chat of a group at this visit; an empty chat replaces that of another visit.
    pub(super) fn chat_at(&mut self, key: GroupId, group_visit: u16) -> Option<&mut GroupChat> {
        let chat = &mut self.get_mut(key)?.chat;
        if chat
            .as_ref()
            .is_none_or(|chat| chat.group_visit != group_visit)
        {
            *chat = Some(GroupChat::new(group_visit));
        }
        chat.as_mut()
    }

    /// True if a group has begun the chat of this visit.
    pub(super) fn is_chatting(&self, key: GroupId, group_visit: u16) -> bool {
        let chat = self.get(key).and_then(|group| group.chat.as_ref());
        chat.is_some_and(|chat| chat.group_visit == group_visit && chat.since_us.is_some())
    }

    /// Restores the messages of the data folder.
    pub(super) fn restore_messages(&mut self, messages: Vec<MessageRow>) {
        let keys: BTreeMap<String, GroupId> = (self.iter())
            .map(|(key, group)| (group.id.clone(), key))
            .collect();
        for row in messages {
            let key = keys.get(&row.group);
            if let Some(group) = key.and_then(|key| self.get_mut(*key)) {
                group.restore_message(row);
            }
        }
    }

    /// Forgets the messages of somebody in all chats, or of all who chatted with them.
    pub(super) fn forget_messages(&mut self, who: SessionId, all: bool) {
        for group in self.by_key.values_mut() {
            let place = group.members().find(|(_, member)| member.who == who);
            if let (Some((place, _)), Some(chat)) = (place, group.chat.as_mut()) {
                chat.forget_messages(|message| all || message.place == place);
            }
        }
    }

    /// The groups whose chat is over by time.
    pub(super) fn ended_chats(&mut self, now_us: u64) -> Vec<GroupId> {
        self.due(now_us, Group::chat_until_us)
    }

    /// Has a group settled.
    pub(super) fn touch_group(&mut self, key: impl Into<Option<GroupId>>) {
        self.changed.extend(key.into());
    }

    /// Has those groups settled whose time has come.
    pub(super) fn touch_due(&mut self, now_us: u64) {
        let due = self.due(now_us, |group| group.wake_us);
        self.changed.extend(due);
    }

    /// The groups one of whose times has come.
    fn due(&mut self, now_us: u64, time: impl Fn(&Group) -> Option<u64>) -> Vec<GroupId> {
        while let Some(key) = self.stale.pop_first() {
            let timeout = self.by_key.get(&key).and_then(next_timeout);
            self.timeouts.set(key, timeout);
        }
        let is_due = |key: &GroupId| {
            let at_us = self.by_key.get(key).and_then(&time);
            at_us.is_some_and(|at_us| at_us <= now_us)
        };
        let mut due = self.timeouts.due_keys(now_us);
        due.retain(is_due);
        due
    }

    /// Takes the next group that must be settled.
    pub(super) fn poll_changed(&mut self) -> Option<GroupId> {
        self.changed.pop_first()
    }

    /// True if no group must be settled.
    pub(super) fn is_settled(&self) -> bool {
        self.changed.is_empty()
    }

    /// The time at which a group must be settled, microseconds, and the reason.
    pub(super) fn poll_timeout(&self) -> Option<Timeout> {
        let stale = self.stale.iter().filter_map(|key| self.by_key.get(key));
        stale
            .filter_map(next_timeout)
            .chain(self.timeouts.next_of(|key| !self.stale.contains(key)))
            .min()
    }
}

/// The next time of a group, and the reason.
fn next_timeout(group: &Group) -> Option<Timeout> {
    let wait = group
        .wake_us
        .map(|at_us| (at_us, "end of the wait for a group"));
    let chat = group.chat_until_us().map(|at_us| (at_us, "end of a chat"));
    wait.into_iter().chain(chat).min()
}
