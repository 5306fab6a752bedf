//! The language model of a running episode as a state machine: why it is asked, which request is under way, and which
//! parts of its answer are still open. It must not know of sessions, connections and logs.

use std::sync::Arc;

use protocol::{Seat, Tick};
use study::language_model::LanguageModel;

use super::group_chat::GroupChat;
use super::rows::{MessageRow, ModelCallRow};
use crate::language_model::ModelReply;

/// The place of the person in the chat with a language model.
pub(super) const PERSON: Seat = Seat(0);

/// The place of the language model.
pub(super) const MODEL: Seat = Seat(1);

/// A request whose answer is later than its own time by this is abandoned, microseconds.
const LATE_US: u64 = 1_000_000;

/// The reason why a language model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskReason {
    /// The episode has begun.
    Start,
    /// The person has written.
    Message,
    /// It is time.
    Time,
}

impl AskReason {
    /// Its word in the data.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Message => "message",
            Self::Time => "time",
        }
    }
}

/// Something that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ModelDeed {
    /// To ask.
    Ask(AskReason),
    /// To take a reply.
    Take(ModelReply),
    /// To give up waiting for one.
    GiveUp,
    /// To show a message.
    Say(String),
    /// To store a request that is over.
    Finish(Box<ModelCallRow>),
}

/// A request that is not over.
#[derive(Clone, Debug)]
pub(super) struct ModelCall {
    /// Its row so far.
    pub row: ModelCallRow,
    /// Its step.
    pub step: CallStep,
    /// A message, and when it is shown.
    pub say: Option<(u64, String)>,
    /// True while the archive has its directive.
    pub is_directing: bool,
    /// True if directives were offered to it.
    pub may_direct: bool,
    /// The most that one try can cost, millionths of the unit of the currency.
    pub most_micro: u64,
    /// The number of tries that gave no answer, and may still be billed.
    pub billed: u8,
}

/// The step of a request.
#[derive(Clone, Debug)]
pub(super) enum CallStep {
    /// The archive describes the world.
    Describing,
    /// The provider has until then, microseconds.
    Asked(u64),
    /// A recorded reply comes then, microseconds.
    Recorded(u64, ModelReply),
    /// Its answer is carried out.
    Delivering,
}

/// The language model of an episode.
#[derive(Debug)]
pub(super) struct ModelPlay {
    /// The model.
    pub model: Arc<LanguageModel>,
    /// The seat that it can tell what to do.
    pub seat: Option<Seat>,
    /// The seat whose view it gets.
    pub view: Seat,
    /// The chat with the person.
    pub chat: GroupChat,
    /// Messages of the chat, of both.
    pub said: u32,
    /// The number of the next request; presses of buttons count, too.
    pub next: u32,
    /// The number of requests so far.
    pub asked: u32,
    /// The request that is not over.
    pub call: Option<ModelCall>,
    /// The result of the last directive, in words.
    pub last_directive: String,
    /// The reason to ask it, as soon as that is possible.
    wanted: Option<AskReason>,
    /// The time at which it is asked by the clock, microseconds.
    due_us: Option<u64>,
}

impl ModelPlay {
    /// One that was not asked yet; tick 0 is due then.
    pub(super) fn new(model: Arc<LanguageModel>, seat: Option<Seat>, view: Seat) -> Self {
        let schedule = &model.schedule;
        let wanted = schedule.at_start.then_some(AskReason::Start);
        Self {
            model,
            seat,
            view,
            chat: GroupChat::new(0),
            said: 0,
            next: 0,
            asked: 0,
            call: None,
            last_directive: String::new(),
            wanted,
            due_us: None,
        }
    }

    /// It continues after a restart of the server, with its messages: it is not asked for the start again. A message of the
    /// person that came after the last request was never asked about, and is now.
    pub(super) fn resume(&mut self, last_asked_us: Option<u64>) {
        self.wanted = None;
        let mut lines = self.chat.messages.iter();
        let written = lines.rfind(|line| line.place == PERSON);
        if written.is_some_and(|line| last_asked_us.is_none_or(|asked_us| asked_us < line.at_us)) {
            self.note_message();
        }
    }

    /// A message that was stored before a restart.
    pub(super) fn restore_message(&mut self, row: MessageRow) {
        self.said = self.said.max(row.number + 1);
        self.chat.push_message(protocol::control::ChatMessage {
            place: row.place,
            number: row.turn,
            at_us: row.at_us,
            text: row.text,
        });
    }

    /// The number of a request, or of a press, that comes next.
    pub(super) fn take_number(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// The person has written.
    pub(super) fn note_message(&mut self) {
        if self.model.schedule.on_message {
            self.wanted = Some(AskReason::Message);
        }
    }

    /// The next that is due, if the episode runs.
    pub(super) fn poll(&mut self, now_us: u64, t0_us: u64) -> Option<ModelDeed> {
        if now_us < t0_us {
            return None;
        }
        if self.call.is_some() {
            return self.poll_call(now_us);
        }
        let every_us = self.every_us();
        if let Some(every_us) = every_us {
            let due_us = *self.due_us.get_or_insert(now_us + every_us);
            if due_us <= now_us {
                self.wanted = self.wanted.or(Some(AskReason::Time));
            }
        }
        let reason = self.wanted.take()?;
        self.due_us = every_us.map(|every_us| now_us + every_us);
        Some(ModelDeed::Ask(reason))
    }

    fn poll_call(&mut self, now_us: u64) -> Option<ModelDeed> {
        let call = self.call.as_mut()?;
        match &call.step {
            CallStep::Describing => None,
            CallStep::Asked(until_us) => (*until_us <= now_us).then_some(ModelDeed::GiveUp),
            CallStep::Recorded(at_us, reply) => {
                (*at_us <= now_us).then(|| ModelDeed::Take(reply.clone()))
            }
            CallStep::Delivering => {
                let is_due = |(at_us, _): &mut (u64, String)| *at_us <= now_us;
                if let Some((_, text)) = call.say.take_if(is_due) {
                    return Some(ModelDeed::Say(text));
                }
                if call.say.is_some() || call.is_directing {
                    return None;
                }
                let call = self.call.take()?;
                Some(ModelDeed::Finish(Box::new(call.row)))
            }
        }
    }

    fn every_us(&self) -> Option<u64> {
        let every_s = self.model.schedule.every_s?;
        Some(u64::from(every_s) * 1_000_000)
    }

    /// The time at which something is due by the clock, microseconds, and the reason.
    pub(super) fn poll_timeout(&self, t0_us: u64) -> Option<(u64, &'static str)> {
        let at = match &self.call {
            None if self.wanted.is_some() => Some((t0_us, "a question to a language model")),
            None => self.every_us().map(|every_us| {
                let due_us = self.due_us.unwrap_or(t0_us + every_us);
                (due_us, "a question to a language model")
            }),
            Some(call) => match &call.step {
                CallStep::Describing => None,
                CallStep::Asked(until_us) => Some((*until_us, "a late answer")),
                CallStep::Recorded(at_us, _) => Some((*at_us, "a recorded answer")),
                CallStep::Delivering => {
                    let say = call.say.as_ref();
                    say.map(|(at_us, _)| (*at_us, "a message of a language model"))
                }
            },
        };
        at.map(|(at_us, why)| (at_us.max(t0_us), why))
    }

    /// The request with a number, if it is at a step.
    pub(super) fn call_at(
        &mut self,
        number: u32,
        is_step: impl Fn(&CallStep) -> bool,
    ) -> Option<&mut ModelCall> {
        let call = self.call.as_mut()?;
        (call.row.number == number && is_step(&call.step)).then_some(call)
    }

    /// The time at which a request that is made now is abandoned, microseconds.
    pub(super) fn given_up_us(&self, now_us: u64) -> u64 {
        now_us + u64::from(self.model.timeout_s) * 1_000_000 + LATE_US
    }

    /// Keeps the result of a directive, in words for the next prompt.
    pub(super) fn note_directive(&mut self, word: &str, what: Result<Tick, &str>) {
        self.last_directive = match what {
            Ok(tick) => format!("`{word}`, followed from step {} on.", tick.0),
            Err(why) => format!("`{word}` was not followed: {why}."),
        };
    }
}
