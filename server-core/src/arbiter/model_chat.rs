//! The chat between a language model and somebody who plays alone. It must not know when the model is asked.

use protocol::control::{Line, ServerMessage, Talk, Talker, Unsaid};
use protocol::{Era, Seat, Tick};
use study::StageKind;
use study::stage::Env;

use super::episode::{EpisodeState, Phase};
use super::model_play::{MODEL, ModelPlay, PERSON};
use super::talk::Saying;
use super::{Arbiter, Effect, MessageRow, Place, SessionId, Write};

/// Time from message to message of one person, microseconds; a few may come at once.
const SAY_EACH_US: u64 = 1_000_000;

impl Arbiter {
    /// The episode in which a session writes to a language model now.
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
    pub(super) fn tell_model_talk(&mut self, who: SessionId, era: Era) {
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
        let talk = Talk {
            round: 0,
            place: PERSON,
            company: vec![Talker::Here, Talker::Here],
            names: vec![own.unwrap_or_default(), model.model.shown_as.clone()],
            max_length: writing.max_length,
            left_ms: None,
            next: model.talk.turn(PERSON),
            lines: model.talk.lines.iter().cloned().collect(),
        };
        self.tell_session(who, ServerMessage::Talk(talk));
    }

    /// A person writes to a language model. The error is the reason; `None` if the page has another number than the server.
    pub(super) fn say_to_model(
        &mut self,
        now_us: u64,
        who: SessionId,
        era: Era,
        saying: &Saying,
    ) -> Result<(), Option<Unsaid>> {
        let limit = self.limits.sayings;
        let episode = self.episodes.get(era).ok_or(Unsaid::Closed)?;
        let env = self.env_of(episode).ok_or(Unsaid::Closed)?;
        let writing = env.screen.chat.as_ref().ok_or(Unsaid::Closed)?;
        let model = episode.model.as_ref().ok_or(Unsaid::Closed)?;
        if saying.round != 0 {
            return Err(Some(Unsaid::Closed));
        }
        if saying.number != model.talk.turn(PERSON) {
            return Err(None);
        }
        let text = writing.cleaned(&saying.text).ok_or(Unsaid::NotTaken)?;
        if saying.number >= limit {
            return Err(Some(Unsaid::NotTaken));
        }
        if !self.sessions[who].says.take_token(now_us, SAY_EACH_US) {
            return Err(Some(Unsaid::TooFast));
        }
        self.add_model_line(now_us, era, PERSON, text, (saying.sent_us, saying.tick));
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
        let line = Line {
            place,
            number: model.talk.turn(place),
            at_us: now_us,
            text,
        };
        let number = model.said;
        model.said += 1;
        model.talk.push_line(line.clone());
        let is_model = place == MODEL;
        let row = MessageRow {
            group: episode.header.group.clone(),
            number,
            participant: self.sessions[who].participant.clone(),
            place,
            stage: episode.stage,
            visit: self.sessions[who].progress.visit(),
            round: 0,
            turn: line.number,
            episode: Some(episode.header.episode.clone()),
            tick,
            sent_us,
            at_us: now_us,
            text: line.text.clone(),
            partner: if is_model {
                model.model.name.clone()
            } else {
                String::new()
            },
        };
        self.effects.push_back(Effect::Store(Write::Message(row)));
        self.tell_session(who, ServerMessage::Said { round: 0, line });
        Some(number)
    }
}
