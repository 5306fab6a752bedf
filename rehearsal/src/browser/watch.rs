//! The messages that a real page sends and receives: the same record that a bot keeps of itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use peer::Verdict;
use protocol::Controller;
use protocol::control::{self, ClientMessage, Plan, Refusal, ServerMessage, StageView};
use serde_json::Value;

use super::devtools::DevToolsEvent;
use crate::record::{Given, Phase, Shared, Waited, is_cut_short};

/// A stage as the server sent it to the page.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    pub(super) index: u16,
    pub(super) id: String,
    pub(super) view: StageView,
}

/// The messages of a page so far.
#[derive(Debug)]
pub(super) struct Watch {
    record: Shared,
    /// The last stage that the server sent.
    pub(super) stage: Option<Told>,
    /// The last episode that it set up.
    pub(super) plan: Option<Plan>,
    /// Number of messages with which a participant makes progress.
    pub(super) steps: u64,
    /// Position and answers of a finished stage, until the server shows the next one.
    done: Option<(u16, Given)>,
    lobby_us: Option<u64>,
}

impl Watch {
    pub(super) fn new(record: Shared) -> Self {
        Self {
            record,
            stage: None,
            plan: None,
            steps: 0,
            done: None,
            lobby_us: None,
        }
    }

    /// Handles an event of the page.
    ///
    /// # Errors
    /// A sentence, if it must not happen.
    pub(super) fn event(&mut self, now_us: u64, (name, of): &DevToolsEvent) -> Result<(), String> {
        let frame = || {
            let frame = &of["response"];
            let is_binary = frame["opcode"] == 2;
            let bytes = STANDARD.decode(frame["payloadData"].as_str()?).ok()?;
            is_binary.then_some(bytes)
        };
        match name.as_str() {
            "Network.webSocketFrameSent" => {
                let bytes = frame().ok_or("the page sent a frame that is no message")?;
                let message = control::decode(&bytes);
                self.said(now_us, message.map_err(|error| error.to_string())?);
                Ok(())
            }
            "Network.webSocketFrameReceived" => {
                let bytes = frame().ok_or("the page got a frame that is no message")?;
                let message = control::decode(&bytes);
                self.heard(now_us, message.map_err(|error| error.to_string())?)
            }
            "Runtime.exceptionThrown" => Err(format!("the page failed: {}", exception(of))),
            "Inspector.targetCrashed" => Err("the page crashed".to_owned()),
            _ => Ok(()),
        }
    }

    /// Returns true if the page has reported its stage as done, and the server has not shown the next one.
    pub(super) fn is_done(&self) -> bool {
        self.done.is_some()
    }

    /// Returns true if an event tells a page that another one has taken over.
    pub(super) fn supersedes((name, of): &DevToolsEvent) -> bool {
        let payload = of["response"]["payloadData"].as_str().unwrap_or_default();
        let bytes = STANDARD.decode(payload).unwrap_or_default();
        name == "Network.webSocketFrameReceived"
            && matches!(control::decode(&bytes), Ok(ServerMessage::Superseded))
    }

    /// Begins with a new page of the same session: it is not known which messages of the old one arrived.
    pub(super) fn begin_again(&mut self) {
        self.record.lock().returns += 1;
        (self.stage, self.plan, self.done) = (None, None, None);
    }

    fn said(&mut self, now_us: u64, message: ClientMessage) {
        let mut record = self.record.lock();
        record.trace.note_sent(now_us, &message);
        match message {
            ClientMessage::StageDone { stage, answers, .. } => {
                let Some(told) = self.stage.as_ref().filter(|told| told.index == stage) else {
                    return;
                };
                let given = Given {
                    stage: told.id.clone(),
                    answers,
                    is_acknowledged: false,
                };
                // After a lost connection the page may send it again.
                let is_again = self
                    .done
                    .as_ref()
                    .is_some_and(|(at, before)| *at == stage && before.answers == given.answers);
                if !is_again {
                    record.given.push(given.clone());
                    self.done = Some((stage, given));
                }
            }
            ClientMessage::WriteToGroup { text, .. } => drop(record.wrote.insert(text)),
            ClientMessage::Trouble { message } => {
                record.phase = Phase::Stuck(format!("the page told of trouble: {message}"));
            }
            _ => {}
        }
    }

    fn heard(&mut self, now_us: u64, message: ServerMessage) -> Result<(), String> {
        self.record.lock().trace.note_received(now_us, &message);
        match message {
            ServerMessage::Welcome { session, .. } => {
                let mut record = self.record.lock();
                record.token = Some(session);
                record.began_us.get_or_insert(now_us);
            }
            ServerMessage::Stage {
                index, id, view, ..
            } => self.told(now_us, Told { index, id, view })?,
            ServerMessage::Chat(chat) => {
                let all = chat.messages.into_iter().map(|message| message.text);
                self.record.lock().heard.extend(all);
            }
            ServerMessage::ChatMessage { message, .. } => {
                self.record.lock().heard.insert(message.text);
            }
            ServerMessage::Superseded => {
                return Err("this page is superseded by none of ours".to_owned());
            }
            ServerMessage::Refused { why } if why != Refusal::Stopping => {
                return Err(format!("refused: {why:?}"));
            }
            ServerMessage::Match(plan) => {
                self.plan = Some(plan);
                self.steps += 1;
            }
            ServerMessage::Start { .. } | ServerMessage::Return(_) => self.begins(now_us)?,
            ServerMessage::Ended {
                era,
                reason,
                ticks,
                score,
                digest,
            } => {
                self.steps += 1;
                let plan = self.plan.as_ref().filter(|plan| plan.era == era);
                if let Some(plan) = plan {
                    let verdict = Verdict {
                        reason,
                        ticks,
                        score,
                        digest,
                    };
                    let episode = plan.episode.clone();
                    self.record.lock().verdicts.insert(episode, verdict);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn told(&mut self, now_us: u64, told: Told) -> Result<(), String> {
        use StageView::{End, Env, Lobby, Regroup, Rest};
        let mut record = self.record.lock();
        let is_same = self.stage.as_ref() == Some(&told);
        if let Some((at, _)) = self.done.take_if(|_| !is_same) {
            let is_again = told.index == at
                && (self.stage.as_ref()).is_some_and(|before| before.view == told.view);
            if let Some(given) = record.given.last_mut() {
                given.is_acknowledged = !is_again && !is_cut_short(&told.view);
            }
        }
        if !matches!(told.view, Env | Regroup | Rest { .. } | End { .. }) {
            record.stand_at(told.index, told.id.clone())?;
        }
        if !matches!(told.view, Lobby { .. } | Env | Regroup)
            && let Some(since_us) = self.lobby_us.take()
        {
            record.waits.push((now_us - since_us, Waited::Left));
        }
        match &told.view {
            Lobby { .. } => drop(self.lobby_us.get_or_insert(now_us)),
            End {
                outcome, farewell, ..
            } => {
                record.outcome = Some(outcome.clone());
                record.farewell = farewell.clone();
                record.ended_us.get_or_insert(now_us);
            }
            _ => {}
        }
        drop(record);
        self.steps += u64::from(!is_same);
        self.stage = Some(told);
        Ok(())
    }

    /// Begins the episode, or continues it on this page.
    fn begins(&mut self, now_us: u64) -> Result<(), String> {
        self.steps += 1;
        let Some(plan) = &self.plan else {
            return Ok(());
        };
        let people = plan.controllers.iter();
        let people = people.filter(|by| **by == Controller::Human).count();
        let mut record = self.record.lock();
        if let Some(since_us) = self.lobby_us.take() {
            let how = match people {
                0 | 1 => Waited::Bot,
                _ => Waited::Matched,
            };
            record.waits.push((now_us - since_us, how));
        }
        match &self.stage {
            Some(stage) => record.stand_at(stage.index, format!("{} {}", plan.env, plan.params)),
            None => Ok(()),
        }
    }
}

/// The message of an exception on the page.
fn exception(of: &Value) -> String {
    let details = &of["exceptionDetails"];
    let of = details["exception"]["description"].as_str();
    let of = of.or(details["text"].as_str());
    of.unwrap_or("without a word").to_owned()
}
