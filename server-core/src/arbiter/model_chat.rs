//! The chat between a language model and somebody who plays alone. It must not know when the model is asked.

use protocol::control::{ChatMember, ChatMessage, ChatView, MessageRefusal, ServerMessage};
use protocol::{Era, Seat, Tick};
use study::StageKind;
use study::stage::Env;

use super::episode::{EpisodeState, Phase};
use super::group_chat::SentChatMessage;
use super::model_play::{MODEL, ModelPlay, PERSON};
use super::{Arbiter, Effect, MessageRow, Place, SessionId, Write};

/// Time between messages of one person, microseconds; a few may come together.
const CHAT_MESSAGE_EACH_US: u64 = 1_000_000;

impl Arbiter {
    /// Returns the episode in which a session writes to a language model now.
    pub(super) fn writes_to_model(&self, who: SessionId) -> Option<Era> {
        let Place::Episode(era, _) = self.sessions[who].place else {
            return None;
        };
        let episode = self.episodes.get(era)?;
        let is_open = matches!(&episode.phase, Phase::Playing(play) if play.open);
        let env = self.env_of(episode)?;
        let can = is_open && episode.model.is_some() && env.screen.chat.is_some();
        can.then_some(era)
    }

    pub(super) fn env_of(&self, episode: &EpisodeState) -> Option<&Env> {
        match self.stage_kind(episode.stage) {
            StageKind::Env(env) => Some(env),
            _ => None,
        }
    }

    /// Sends a page the messages so far between its person and a language model.
    pub(super) fn show_model_chat(&mut self, who: SessionId, era: Era) {
        let Some(episode) = self.episodes.get(era) else {
            return;
        };
        let writing = self
            .env_of(episode)
            .and_then(|env| env.screen.chat.as_ref());
        let (Some(writing), Some(model)) = (writing, &episode.model) else {
            return;
        };
        let own = writing.names(&self.study.language).into_iter().next();
        let chat = ChatView {
            group_visit: 0,
            place: PERSON,
            members: vec![ChatMember::Here, ChatMember::Here],
            names: vec![own.unwrap_or_default(), model.model.shown_as.clone()],
            max_length: writing.max_length,
            left_ms: None,
            next: model.chat.turn_of(PERSON),
            messages: model.chat.messages.iter().cloned().collect(),
        };
        self.tell_session(who, ServerMessage::Chat(chat));
    }

    /// A person writes to a language model. The error is the reason; `None` if the page has another number than the server.
    pub(super) fn say_to_model(
        &mut self,
        now_us: u64,
        who: SessionId,
        era: Era,
        sent: &SentChatMessage,
    ) -> Result<(), Option<MessageRefusal>> {
        let limit = self.limits.chat_messages;
        let episode = self.episodes.get(era).ok_or(MessageRefusal::Closed)?;
        let env = self.env_of(episode).ok_or(MessageRefusal::Closed)?;
        let writing = env.screen.chat.as_ref().ok_or(MessageRefusal::Closed)?;
        let model = episode.model.as_ref().ok_or(MessageRefusal::Closed)?;
        if sent.group_visit != 0 {
            return Err(Some(MessageRefusal::Closed));
        }
        if sent.number != model.chat.turn_of(PERSON) {
            return Err(None);
        }
        let text = writing
            .clean_message(&sent.text)
            .ok_or(MessageRefusal::NotTaken)?;
        if sent.number >= limit {
            return Err(Some(MessageRefusal::NotTaken));
        }
        if !self.sessions[who]
            .says
            .take_token(now_us, CHAT_MESSAGE_EACH_US)
        {
            return Err(Some(MessageRefusal::TooFast));
        }
        self.add_model_line(now_us, era, PERSON, text, (sent.sent_us, sent.tick));
        if let Some(model) = self.model_mut(era) {
            model.note_message();
        }
        self.episodes.touch_episode(era);
        Ok(())
    }

    pub(super) fn model_mut(&mut self, era: Era) -> Option<&mut ModelPlay> {
        self.episodes.get_mut(era)?.model.as_deref_mut()
    }

    /// Stores a message of the chat with a language model, and shows it. Gives its number.
    pub(super) fn add_model_line(
        &mut self,
        now_us: u64,
        era: Era,
        place: Seat,
        text: String,
        (sent_us, tick): (u64, Option<Tick>),
    ) -> Option<u32> {
        let episode = self.episodes.get_mut(era)?;
        let (_, who) = episode.people().next()?;
        let model = episode.model.as_deref_mut()?;
        let message = ChatMessage {
            place,
            number: model.chat.turn_of(place),
            at_us: now_us,
            text,
        };
        let number = model.said;
        model.said += 1;
        model.chat.push_message(message.clone());
        let is_model = place == MODEL;
        let row = MessageRow {
            group: episode.header.group.clone(),
            number,
            participant: self.sessions[who].participant.clone(),
            place,
            stage: episode.stage,
            visit: self.sessions[who].progress.visit(),
            group_visit: 0,
            turn: message.number,
            episode: Some(episode.header.episode.clone()),
            tick,
            sent_us,
            at_us: now_us,
            text: message.text.clone(),
            partner: if is_model {
                model.model.name.clone()
            } else {
                String::new()
            },
        };
        self.effects.push_back(Effect::Store(Write::Message(row)));
        self.tell_session(
            who,
            ServerMessage::ChatMessage {
                group_visit: 0,
                message,
            },
        );
        Some(number)
    }
}
