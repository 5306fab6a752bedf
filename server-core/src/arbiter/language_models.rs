//! Language models beside running episodes: when they are asked, what their prompts say, and how their answers enter
//! the chat and the log.
//!
//! The model thinks outside of the world. Its message is stored before it is shown, and its directive is a change of the
//! log at a tick that all pages agree on. This module must not know how a provider is reached.

use std::sync::Arc;

use protocol::change::Change;
use protocol::control::{ChatMessage, ServerMessage};
use protocol::log::Header;
use protocol::{Controller, Era, Seat};
use study::StageKind;
use study::language_model::{LanguageModel, ModelProvider, ModelTranscript, RecordedFailure};
use study::stage::PartnerOrigin;
use study::timeline::fill_names;

use super::directive_buttons::{MAX_DIRECTIVES, find_due_tick};
use super::episode::{EpisodeState, Phase};
use super::model_play::{AskReason, CallStep, MODEL, ModelCall, ModelDeed, ModelPlay, PERSON};
use super::model_words::{ModelAnswer, cut_message, read_answer, write_prompt};
use super::{Arbiter, Description, Directed, Effect, ModelCallRow, RecordWork, Work, Write};
use crate::language_model::{Completion, ModelFailure, ModelReply, ModelRequest, write_body};

impl Arbiter {
    /// The language model of an episode of somebody who plays alone, by the header of its file.
    pub(super) fn open_model_play(&self, stage: u16, header: &Header) -> Option<Box<ModelPlay>> {
        let StageKind::Env(env) = self.stage_kind(stage) else {
            return None;
        };
        let mut controllers = (0..).map(Seat).zip(&header.controllers);
        let person = controllers.find(|(_, controller)| **controller == Controller::Human);
        let (person, _) = person?;
        if let Some(model) = &env.assistant {
            let model = Arc::new(LanguageModel::clone(model));
            return Some(Box::new(ModelPlay::new(model, None, person)));
        }
        let names = header.course.as_ref();
        let names = names.map_or(&[][..], |course| course.names.as_slice());
        let seated = (0..).map(Seat).take(header.controllers.len());
        let mut seated = seated.filter_map(|seat| {
            let origin = PartnerOrigin::of_seat(seat.index(), names)?;
            let is_it = |name: &PartnerOrigin| name.name == origin.name;
            let bot = (env.ai_partners()).find(|bot| bot.origin.as_ref().is_some_and(is_it))?;
            Some((seat, bot.language_model.as_deref()?))
        });
        let (seat, model) = seated.next()?;
        let model = Arc::new(model.clone());
        Some(Box::new(ModelPlay::new(model, Some(seat), seat)))
    }

    /// Does what is due for the language model of a running episode.
    pub(super) fn settle_model(&mut self, now_us: u64, era: Era) {
        while let Some(deed) = self.next_model_deed(now_us, era) {
            match deed {
                ModelDeed::Ask(reason) => self.ask_model(now_us, era, reason),
                ModelDeed::Take(reply) => self.take_reply(now_us, era, reply),
                ModelDeed::GiveUp => {
                    // Nobody knows how often it was tried.
                    if let Some(model) = self.model_mut(era) {
                        let tries = model.model.retries.saturating_add(1);
                        model.call.iter_mut().for_each(|call| call.billed = tries);
                    }
                    let result = Err(ModelFailure::Timeout);
                    self.take_reply(now_us, era, ModelReply { result, retries: 0 });
                }
                ModelDeed::Say(text) => {
                    let through = self.episodes.play_mut(era).map(|play| play.through);
                    let number = self.add_model_line(now_us, era, MODEL, text, (now_us, through));
                    if let Some(call) = self.model_mut(era).and_then(|model| model.call.as_mut()) {
                        call.row.message = number;
                    }
                }
                ModelDeed::Finish(row) => self.store_call(*row),
            }
        }
    }

    fn next_model_deed(&mut self, now_us: u64, era: Era) -> Option<ModelDeed> {
        let episode = self.episodes.get_mut(era)?;
        let (_, who) = episode.people().next()?;
        let is_here = self.sessions[who].conn.is_some();
        let Phase::Playing(play) = &episode.phase else {
            return None;
        };
        let (runs, t0_us) = (play.open && play.closing_us.is_none(), play.t0_us);
        let model = episode.model.as_deref_mut()?;
        // The model is not asked on behalf of somebody who is away.
        let may = runs && (is_here || model.call.is_some());
        may.then(|| model.poll(now_us, t0_us)).flatten()
    }

    /// Begins a request: the archive describes the world first.
    fn ask_model(&mut self, now_us: u64, era: Era, reason: AskReason) {
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        let Some((_, who)) = episode.people().next() else {
            return;
        };
        let Some(model) = episode.model.as_deref_mut() else {
            return;
        };
        let number = model.take_number();
        let asked = model.asked;
        model.asked += 1;
        let of = &model.model;
        let row = ModelCallRow {
            episode: episode.header.episode.clone(),
            number,
            participant: self.sessions[who].participant.clone(),
            stage: episode.stage,
            visit: self.sessions[who].progress.visit(),
            partner: of.name.clone(),
            seat: model.seat,
            provider: match of.provider {
                ModelProvider::OpenAi { .. } => "openai".to_owned(),
                ModelProvider::Mock { .. } => "mock".to_owned(),
            },
            model: of.model.clone(),
            parameters:
                serde_json::json!({"max_tokens": of.max_tokens, "parameters": of.parameters})
                    .to_string(),
            asked_for: reason.word().to_owned(),
            asked_us: now_us,
            ..ModelCallRow::default()
        };
        let is_over = asked >= u32::from(of.limits.requests);
        let (view, seat) = (model.view, model.seat);
        model.call = Some(ModelCall {
            row,
            step: CallStep::Describing,
            say: None,
            is_directing: false,
            may_direct: false,
            most_micro: 0,
            billed: 0,
        });
        if is_over {
            return self.fall_back(now_us, era, "request_limit");
        }
        let work = Work::Describe { number, view, seat };
        self.effects.push_back(Effect::Archive(era, work));
    }

    /// The world is described: the model is asked, if that stays within its limits.
    pub(super) fn handle_described(
        &mut self,
        now_us: u64,
        era: Era,
        number: u32,
        described: Option<Box<Description>>,
    ) {
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        let Some(model) = episode.model.as_deref_mut() else {
            return;
        };
        let is_step = |step: &CallStep| matches!(step, CallStep::Describing);
        if model.call_at(number, is_step).is_none() {
            return;
        }
        let Some(described) = described else {
            return self.fall_back(now_us, era, "no_description");
        };
        let of = Arc::clone(&model.model);
        // The request itself is counted.
        let asked = model.asked.saturating_sub(1);
        let lines: Vec<&ChatMessage> = model.chat.messages.iter().collect();
        let system = fill_names(&of.prompt, &episode.bindings);
        let prompt = write_prompt(&system, &described, &lines, MODEL, &model.last_directive);
        let last = lines.iter().rfind(|line| line.place == PERSON);
        let last = last.map(|line| line.text.clone()).unwrap_or_default();
        let text = prompt.to_string();
        let one = of.most_cost_micro(text.len());
        let tries = match of.provider {
            ModelProvider::OpenAi { .. } => u64::from(of.retries) + 1,
            ModelProvider::Mock { .. } => 1,
        };
        // Each repetition may be billed like the first try.
        let most = one.saturating_mul(tries);
        let given_up_us = model.given_up_us(now_us);
        let Some(call) = model.call.as_mut() else {
            return;
        };
        if !self.spending.may_spend(&of, &call.row.participant, most) {
            return self.fall_back(now_us, era, "cost_limit");
        }
        self.spending
            .correct_spending(&of.name, &call.row.participant, 0, most);
        call.may_direct = !described.directives.is_empty();
        call.row.asked_us = now_us;
        call.row.tick_asked = Some(described.tick);
        (call.row.prompt, call.row.cost_micro) = (text, most);
        call.most_micro = one;
        match &of.provider {
            ModelProvider::OpenAi { url } => {
                call.step = CallStep::Asked(given_up_us);
                let request = ModelRequest {
                    number,
                    url: url.clone(),
                    body: write_body(&of.model, &prompt, of.max_tokens, &of.parameters),
                    timeout_ms: u32::from(of.timeout_s) * 1_000,
                    retries: of.retries,
                };
                let row = Box::new(call.row.clone());
                self.effects.push_back(Effect::Store(Write::ModelCall(row)));
                self.effects.push_back(Effect::Ask(era, Box::new(request)));
            }
            ModelProvider::Mock { transcript } => {
                let (latency_us, mut reply) = recorded(transcript, asked, &last, of.timeout_s);
                if let Ok(completion) = &mut reply.result {
                    completion.text = fill_names(&completion.text, &episode.bindings);
                }
                call.billed = reply
                    .result
                    .as_ref()
                    .err()
                    .map_or(0, |why| why.may_be_billed().into());
                call.step = CallStep::Recorded(now_us + latency_us, reply);
                let row = Box::new(call.row.clone());
                self.effects.push_back(Effect::Store(Write::ModelCall(row)));
            }
        }
    }

    /// Tries of a request gave no answer, and may be billed all the same.
    pub(super) fn note_billed(&mut self, era: Era, number: u32, tries: u8) {
        let is_step = |step: &CallStep| matches!(step, CallStep::Asked(_));
        let model = self.model_mut(era);
        if let Some(call) = model.and_then(|model| model.call_at(number, is_step)) {
            call.billed = call.billed.saturating_add(tries);
        }
    }

    /// A provider has answered, or has not.
    pub(super) fn handle_answered(
        &mut self,
        now_us: u64,
        era: Era,
        number: u32,
        reply: ModelReply,
    ) {
        let is_step = |step: &CallStep| matches!(step, CallStep::Asked(_));
        let model = self.model_mut(era);
        // One that came too late counts for nothing.
        if model
            .and_then(|model| model.call_at(number, is_step))
            .is_some()
        {
            self.take_reply(now_us, era, reply);
        }
    }

    /// Carries a reply out, or the fallback.
    fn take_reply(&mut self, now_us: u64, era: Era, reply: ModelReply) {
        let Some(model) = self.model_mut(era) else {
            return;
        };
        let of = Arc::clone(&model.model);
        let Some(call) = model.call.as_mut() else {
            return;
        };
        let row = &mut call.row;
        row.latency_us = Some(now_us.saturating_sub(row.asked_us));
        row.retries = reply.retries;
        let before = row.cost_micro;
        let answered = reply.result.as_ref().ok();
        let answered = answered.map_or(0, |completion| cost_of(&of, completion, call.most_micro));
        let billed = call.billed.min(of.retries.saturating_add(1));
        let failed = call.most_micro.saturating_mul(billed.into());
        row.cost_micro = answered.saturating_add(failed);
        let (participant, after) = (row.participant.clone(), row.cost_micro);
        let may_direct = call.may_direct;
        let outcome = match reply.result {
            Ok(completion) => {
                row.input_tokens = completion.input_tokens;
                row.output_tokens = completion.output_tokens;
                let said = read_answer(&completion.text, may_direct);
                row.answer = completion.text;
                said.ok_or_else(|| "malformed_answer".to_owned())
            }
            Err(failure) => Err(failure.reason_word()),
        };
        self.spending
            .correct_spending(&of.name, &participant, before, after);
        match outcome {
            Ok(said) => self.deliver(now_us, era, said, "answered"),
            Err(why) => self.fall_back(now_us, era, &why),
        }
    }

    /// Does what the study says if no answer can be used.
    fn fall_back(&mut self, now_us: u64, era: Era, why: &str) {
        let Some(model) = self.model_mut(era) else {
            return;
        };
        let fallback = &model.model.fallback;
        let said = ModelAnswer {
            say: fallback.say.clone(),
            directive: fallback.directive.clone(),
        };
        self.deliver(now_us, era, said, why);
    }

    /// Has a message shown after its typing delay, and a directive followed.
    fn deliver(&mut self, now_us: u64, era: Era, said: ModelAnswer, outcome: &str) {
        let episode = self.episodes.get(era);
        let env = episode.and_then(|episode| self.env_of(episode));
        let can_write = env.is_some_and(|env| env.screen.chat.is_some());
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        let Phase::Playing(play) = &episode.phase else {
            return;
        };
        let due = find_due_tick(play);
        let is_full = play.seats.changes.len() >= MAX_DIRECTIVES;
        let Some(model) = episode.model.as_deref_mut() else {
            return;
        };
        let (of, seat) = (Arc::clone(&model.model), model.seat);
        let Some(call) = model.call.as_mut() else {
            return;
        };
        call.step = CallStep::Delivering;
        call.row.outcome = outcome.to_owned();
        if let Some(text) = said.say.filter(|_| can_write) {
            let shown = cut_message(&text, of.style.max_length);
            if shown != text && outcome == "answered" {
                call.row.outcome = "shortened".to_owned();
            }
            call.say = Some((now_us + of.typing_us(&shown), shown));
        }
        let Some(directive) = said.directive else {
            return;
        };
        call.row.directive = directive.chars().take(60).collect();
        let refusal = match seat {
            None => "it has no seat",
            Some(_) if is_full => "there were too many directives in this episode",
            Some(seat) => {
                call.is_directing = true;
                let directive = call.row.directive.clone();
                episode.buttons.note_model_directive();
                let work = RecordWork::Direct {
                    seat,
                    directive,
                    due,
                };
                self.effects.push_back(Effect::Archive(era, work.into()));
                return;
            }
        };
        call.row.refusal = refusal.to_owned();
    }

    /// A directive is durable: everybody is informed. Or it was refused, and the model learns why.
    pub(super) fn handle_directed(&mut self, era: Era, seat: Seat, directed: Directed) {
        let applied: Result<Change, String> = match directed {
            Directed::Applied(change) => Ok(*change),
            Directed::Refused(why) => Err(why),
        };
        if let Some(press) = self.take_press(era) {
            let applied = applied.as_ref().map(|change| change.tick);
            self.finish_press(era, press, applied.map_err(String::clone));
        } else if let Some(model) = self.model_mut(era)
            && let Some(call) = model.call.as_mut().filter(|call| call.is_directing)
        {
            call.is_directing = false;
            let word = call.row.directive.clone();
            match &applied {
                Ok(change) => {
                    call.row.tick_applied = Some(change.tick);
                    model.note_directive(&word, Ok(change.tick));
                }
                Err(why) => {
                    call.row.refusal.clone_from(why);
                    model.note_directive(&word, Err(why.as_str()));
                }
            }
        }
        let Ok(change) = applied else { return };
        if let Some(play) = self.episodes.play_mut(era) {
            play.seats.handle_directive(change.clone());
            self.tell_players(era, None, &ServerMessage::Change { era, change });
            self.tell_followed(era, seat);
        }
    }

    fn store_call(&mut self, row: ModelCallRow) {
        let write = Write::ModelCall(Box::new(row));
        self.effects.push_back(Effect::Store(write));
    }

    /// Handles the end of an episode: an unfinished request is stored as it is, without its words if nobody is left to
    /// whom they belong.
    pub(super) fn close_model_call(&mut self, episode: &mut EpisodeState) {
        let is_left = episode.people().next().is_some();
        let call = episode.model.as_mut().and_then(|model| model.call.take());
        let Some(ModelCall { mut row, .. }) = call else {
            return;
        };
        if !is_left {
            for words in [
                &mut row.prompt,
                &mut row.answer,
                &mut row.directive,
                &mut row.refusal,
            ] {
                words.clear();
            }
        }
        if row.outcome.is_empty() {
            row.outcome = "episode_over".to_owned();
        }
        self.store_call(row);
    }
}

/// The cost of an answer, millionths of the unit of the currency; `most` is the most that it can be.
fn cost_of(model: &LanguageModel, completion: &Completion, most: u64) -> u64 {
    let tokens = completion.input_tokens.zip(completion.output_tokens);
    let exact = model.price.zip(tokens);
    exact.map_or(most, |(price, (input, output))| {
        price.cost_micro(input, output)
    })
}

/// The reply of a transcript, and the time until it comes, microseconds.
fn recorded(
    transcript: &ModelTranscript,
    number: u32,
    message: &str,
    timeout_s: u16,
) -> (u64, ModelReply) {
    let timeout_us = u64::from(timeout_s) * 1_000_000;
    let found = transcript.find(number, message);
    let latency_us = found.map_or(0, |found| u64::from(found.latency_ms) * 1_000);
    let result = match found {
        None => Err(ModelFailure::Malformed),
        Some(found) => match found.fails {
            Some(RecordedFailure::Timeout) => Err(ModelFailure::Timeout),
            Some(RecordedFailure::Error) => Err(ModelFailure::Status(500)),
            None if latency_us >= timeout_us => Err(ModelFailure::Timeout),
            None => Ok(Completion {
                text: found.text(),
                input_tokens: Some(found.input_tokens),
                output_tokens: Some(found.output_tokens),
            }),
        },
    };
    let wait_us = match result {
        Err(ModelFailure::Timeout) => timeout_us,
        _ => latency_us,
    };
    (wait_us, ModelReply { result, retries: 0 })
}
