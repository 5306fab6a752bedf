//! Chat between the people of a group: at a chat stage, and beside their episodes.
//!
//! Messages are numbered for each writer, so that one which is sent again is stored once; each is durable before
//! anybody sees it. Only the latest messages, which a joining page receives, stay in memory; all are stored.

use protocol::control::{ChatMember, ChatMessage, MessageRefusal, ServerMessage};
use protocol::{Era, Seat};
use study::StageKind;
use study::stage::{Chat, Writing};

use super::episode::Phase;
use super::group::GroupId;
use super::group_chat::SentChatMessage;
use super::{Arbiter, Effect, MessageRow, Place, SessionId, Write};

/// Time between messages of one person, microseconds; a few may come together.
const CHAT_MESSAGE_EACH_US: u64 = 1_000_000;

impl Arbiter {
    /// Returns where a session writes now: its group, and the running episode.
    fn writes_in(&self, who: SessionId) -> Option<(GroupId, Option<Era>)> {
        match self.sessions[who].place {
            Place::Chat(key) => Some((key, None)),
            Place::Episode(era, _) => {
                let episode = self.episodes.get(era)?;
                let is_open = matches!(&episode.phase, Phase::Playing(play) if play.open);
                self.stage_kind(episode.stage)
                    .writing()
                    .filter(|_| is_open)?;
                Some((episode.group?, Some(era)))
            }
            Place::Page | Place::Lobby(_) | Place::Aside | Place::Group(_) => None,
        }
    }

    /// The people of a group who write now, with their places.
    fn writers(&self, key: GroupId) -> Vec<(Seat, SessionId)> {
        let Some(group) = self.groups.get(key) else {
            return Vec::new();
        };
        let members = group.members().map(|(place, member)| (place, member.who));
        let writes = |who| self.writes_in(who).is_some_and(|(of, _)| of == key);
        members.filter(|(_, who)| writes(*who)).collect()
    }

    /// The chat at a stage.
    fn chat(&self, stage: u16) -> Option<&Chat> {
        match self.stage_kind(stage) {
            StageKind::Chat(chat) => Some(chat),
            _ => None,
        }
    }

    /// Those of a group who are here begin a chat.
    pub(super) fn begin_chat(&mut self, now_us: u64, key: GroupId, here: &[SessionId]) {
        let Some(&first) = here.first() else {
            return;
        };
        let most_s = self.chat(self.stage_of(first)).map_or(0, |chat| chat.max_s);
        let Some(group_visit) = self
            .group_visit_in(key, first)
            .map(|group_visit| group_visit.number)
        else {
            return;
        };
        if let Some(chat) = self.groups.chat_at(key, group_visit) {
            chat.since_us = Some(now_us);
            chat.until_us = Some(now_us + u64::from(most_s) * 1_000_000);
        }
        self.keep_group(key);
        for &who in here {
            self.sessions[who].place = Place::Chat(key);
        }
        for &who in here {
            self.show_chat(now_us, who);
        }
    }

    /// Somebody joins the running chat of their group.
    pub(super) fn join_chat(&mut self, now_us: u64, key: GroupId, who: SessionId) {
        self.sessions[who].place = Place::Chat(key);
        self.groups.touch_group(key);
        self.show_chat(now_us, who);
    }

    fn show_chat(&mut self, now_us: u64, who: SessionId) {
        let shown = self.stage_message(who, self.stage_of(who), None);
        self.sessions[who].note_shown(now_us);
        self.tell_session(who, shown);
        self.show_chat_messages(now_us, who);
    }

    /// Sends the messages so far to a page that chats, if its person chats now.
    pub(super) fn show_chat_messages(&mut self, now_us: u64, who: SessionId) {
        if let Some(era) = self.writes_to_model(who) {
            return self.show_model_chat(who, era);
        }
        let Some((key, era)) = self.writes_in(who) else {
            return;
        };
        let (Some(place), Some(group_visit)) = (
            self.groups.place_of(key, who),
            self.group_visit_in(key, who),
        ) else {
            return;
        };
        let stage = self.stage_of(who);
        let left_ms = match era {
            Some(_) => None,
            None => self.chat_left_ms(now_us, key, who),
        };
        let Some(writing) = self.stage_kind(stage).writing() else {
            return;
        };
        let (max_length, names) = (writing.max_length, writing.names(&self.study.language));
        let members = self.chat_members(key, group_visit.number);
        let Some(chat) = self.groups.chat_at(key, group_visit.number) else {
            return;
        };
        let chat = protocol::control::ChatView {
            group_visit: group_visit.number,
            place,
            members,
            names,
            max_length,
            left_ms,
            next: chat.turn_of(place),
            messages: chat.messages.iter().cloned().collect(),
        };
        self.tell_session(who, ServerMessage::Chat(chat));
    }

    /// Milliseconds until somebody can continue from a chat, and until everybody does.
    fn chat_left_ms(&self, now_us: u64, key: GroupId, who: SessionId) -> Option<(u32, u32)> {
        let chat = self.chat(self.stage_of(who))?;
        let since_us = self.groups.get(key)?.chat.as_ref()?.since_us?;
        let left = |seconds: u32| {
            let until_us = since_us + u64::from(seconds) * 1_000_000;
            let left_us = until_us.saturating_sub(now_us);
            u32::try_from(left_us.div_ceil(1_000)).unwrap_or(u32::MAX)
        };
        Some((left(chat.min_s), left(chat.max_s)))
    }

    /// True if a page says too early that its person leaves a chat. People who have nobody to write to can leave
    /// immediately.
    pub(super) fn chats_too_short(&self, now_us: u64, who: SessionId) -> bool {
        let Place::Chat(key) = self.sessions[who].place else {
            return false;
        };
        let group_visit = self
            .group_visit_in(key, who)
            .map_or(0, |group_visit| group_visit.number);
        let members = (0..).map(Seat).zip(self.chat_members(key, group_visit));
        let own = self.groups.place_of(key, who);
        let mut others = members.filter(|(place, _)| Some(*place) != own);
        let left = self.chat_left_ms(now_us, key, who);
        left.is_some_and(|(may_ms, _)| may_ms > 0)
            && others.any(|(_, member_state)| {
                matches!(member_state, ChatMember::Here | ChatMember::Away)
            })
    }

    /// Returns the state of each place of a group at a visit at which it writes.
    fn chat_members(&self, key: GroupId, group_visit: u16) -> Vec<ChatMember> {
        let Some(group) = self.groups.get(key) else {
            return Vec::new();
        };
        let member_state = |place: &Option<super::group::Member>| {
            let Some(member) = place else {
                return ChatMember::Ai;
            };
            let who = member.who;
            let writes = self.writes_in(who).is_some_and(|(of, _)| of == key);
            let at = self.group_visit_in(key, who);
            match self.sessions[who].conn {
                _ if member.gone.is_some() => ChatMember::Left,
                Some(_) if writes => ChatMember::Here,
                None if writes => ChatMember::Away,
                _ if at.is_some_and(|at| at.is_here && at.number == group_visit) => {
                    ChatMember::Away
                }
                _ => ChatMember::Left,
            }
        };
        group.places.iter().map(member_state).collect()
    }

    /// Informs the people of a group who write if others have come or gone.
    pub(super) fn tell_chat_members(&mut self, key: GroupId) {
        let chat = self.groups.get(key).and_then(|group| group.chat.as_ref());
        let Some(group_visit) = chat.map(|chat| chat.group_visit) else {
            return;
        };
        let writers = self.writers(key);
        if writers.is_empty() {
            return;
        }
        let members = self.chat_members(key, group_visit);
        let Some(chat) = self.groups.chat_at(key, group_visit) else {
            return;
        };
        if std::mem::replace(&mut chat.told, members.clone()) == members {
            return;
        }
        for (_, who) in writers {
            let members = members.clone();
            self.tell_session(
                who,
                ServerMessage::ChatMembers {
                    group_visit,
                    members,
                },
            );
        }
    }

    /// Takes a message of a person: it becomes durable, and then everybody who is there sees it.
    pub(super) fn handle_chat_message(
        &mut self,
        now_us: u64,
        who: SessionId,
        sent: SentChatMessage,
    ) {
        let (group_visit, number) = (sent.group_visit, sent.number);
        let result = match self.writes_to_model(who) {
            Some(era) => self.say_to_model(now_us, who, era, &sent),
            None => self.say(now_us, who, sent),
        };
        match result {
            Ok(()) => self.note_sign(now_us, who),
            Err(None) => self.show_chat_messages(now_us, who),
            Err(Some(why)) => self.tell_session(
                who,
                ServerMessage::ChatRefused {
                    group_visit,
                    number,
                    why,
                },
            ),
        }
    }

    /// Takes a message. The error is the reason; `None` if the page has another number than the server.
    fn say(
        &mut self,
        now_us: u64,
        who: SessionId,
        sent: SentChatMessage,
    ) -> Result<(), Option<MessageRefusal>> {
        let (key, era) = self.writes_in(who).ok_or(MessageRefusal::Closed)?;
        let place = self
            .groups
            .place_of(key, who)
            .ok_or(MessageRefusal::Closed)?;
        let here = self
            .group_visit_in(key, who)
            .ok_or(MessageRefusal::Closed)?;
        if here.number != sent.group_visit {
            return Err(Some(MessageRefusal::Closed));
        }
        let chat = self
            .groups
            .chat_at(key, sent.group_visit)
            .ok_or(MessageRefusal::Closed)?;
        if sent.number != chat.turn_of(place) {
            return Err(None);
        }
        let writing: &Writing =
            (self.stage_kind(self.stage_of(who)).writing()).ok_or(MessageRefusal::Closed)?;
        let text = writing
            .clean_message(&sent.text)
            .ok_or(MessageRefusal::NotTaken)?;
        if sent.number >= self.limits.chat_messages {
            return Err(Some(MessageRefusal::NotTaken));
        }
        if !self.sessions[who]
            .says
            .take_token(now_us, CHAT_MESSAGE_EACH_US)
        {
            return Err(Some(MessageRefusal::TooFast));
        }
        let message = ChatMessage {
            place,
            number: sent.number,
            at_us: now_us,
            text,
        };
        self.store_chat_message(key, who, era, &sent, &message);
        if let Some(chat) = self.groups.chat_at(key, sent.group_visit) {
            chat.push_message(message.clone());
        }
        let group_visit = sent.group_visit;
        for (_, who) in self.writers(key) {
            let message = message.clone();
            self.tell_session(
                who,
                ServerMessage::ChatMessage {
                    group_visit,
                    message,
                },
            );
        }
        Ok(())
    }

    fn store_chat_message(
        &mut self,
        key: GroupId,
        who: SessionId,
        era: Option<Era>,
        sent: &SentChatMessage,
        message: &ChatMessage,
    ) {
        let Some(group) = self.groups.get_mut(key) else {
            return;
        };
        let number = group.said;
        group.said += 1;
        let id = group.id.clone();
        let episode = era.and_then(|era| self.episodes.get(era));
        let episode = episode.map(|episode| episode.header.episode.clone());
        let session = &self.sessions[who];
        let row = MessageRow {
            group: id,
            number,
            participant: session.participant.clone(),
            place: message.place,
            stage: self.stage_of(who),
            visit: session.progress.visit(),
            group_visit: sent.group_visit,
            turn: message.number,
            tick: sent.tick.filter(|_| episode.is_some()),
            episode,
            sent_us: sent.sent_us,
            at_us: message.at_us,
            text: message.text.clone(),
            partner: String::new(),
        };
        self.effects.push_back(Effect::Store(Write::Message(row)));
    }

    /// Ends the chats whose time is up: everybody continues, including people who are away.
    pub(super) fn settle_chats(&mut self, now_us: u64) {
        for key in self.groups.ended_chats(now_us) {
            self.end_chat(now_us, key);
        }
    }

    fn end_chat(&mut self, now_us: u64, key: GroupId) {
        let Some(group) = self.groups.get_mut(key) else {
            return;
        };
        let Some(chat) = group.chat.as_mut() else {
            return;
        };
        chat.until_us = None;
        let group_visit = chat.group_visit;
        let people: Vec<SessionId> = (group.members())
            .filter(|(_, member)| member.gone.is_none())
            .map(|(_, member)| member.who)
            .collect();
        for who in people {
            let here = self.group_visit_in(key, who);
            if here.is_some_and(|here| here.is_here && here.number == group_visit) {
                let at = self.sessions[who].progress.position();
                self.advance_session(who, study::ProgressEvent::StageDone { at, answers: &[] });
                self.show_stage(now_us, who);
            }
        }
    }

    /// Resumes the chat at which a group was, if somebody is still there.
    pub(super) fn restore_chat(&mut self, key: GroupId, chat: Option<(u16, u64)>) {
        let Some((group_visit, since_us)) = chat else {
            return;
        };
        let people = self.groups.get(key).map(|group| group.members());
        let people: Vec<SessionId> = people
            .into_iter()
            .flatten()
            .map(|(_, member)| member.who)
            .collect();
        let mut stays = people.into_iter().filter(|who| {
            let here = self.group_visit_in(key, *who);
            here.is_some_and(|here| here.is_here && here.number == group_visit)
        });
        let stage = stays.next().map(|who| self.stage_of(who));
        let chat = stage.and_then(|stage| self.chat(stage));
        let until_us = chat.map(|chat| since_us + u64::from(chat.max_s) * 1_000_000);
        if let Some(chat) = self.groups.chat_at(key, group_visit) {
            (chat.since_us, chat.until_us) = (Some(since_us), until_us);
        }
    }
}
