//! The person in front of the page: how long they read, what they answer, when they leave.

use client_core::ShownStage;
use protocol::control::{Answer, Ask, ClientMessage, Device, LobbyChoice, StageView};
use study::StageKind;
use study::screening::Measured;
use study::stage::AGREED;

use super::{Bot, S};
use crate::answers::{answer_in_time, fill};
use crate::fault::Fault;
use crate::quiz::solve_quiz;
use crate::record::Phase;
use crate::watching::answer_watch;

/// The act of a person when it is time.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Finishes the stage.
    Done(Vec<Answer>),
    /// Returns from the page of another site, with the ticket that it was given.
    Return(String),
    /// Leaves the study.
    Leave,
    /// Closes the last page.
    Close,
}

/// Chance, of 100, that a waiting person overlooks the question whether they are there.
const OVERLOOKED: usize = 50;

impl Bot {
    /// Waits in a lobby, and answers its questions.
    pub(super) fn wait_before(&mut self, now_us: u64, ask: Ask) {
        match ask {
            Ask::Nothing => {}
            // Agents are always there, and came for partners.
            Ask::Choice if self.agent.is_some() => {
                self.say(ClientMessage::Choose(LobbyChoice::Wait));
            }
            Ask::Presence { .. } if self.agent.is_some() => self.say(ClientMessage::Here),
            // A person who overlooks the question is asked to come back.
            Ask::Presence { .. } if self.rng.draw_below(100) < OVERLOOKED => {
                self.note(now_us, "overlooks the question whether they are there");
            }
            Ask::Presence { .. } | Ask::Return => self.say(ClientMessage::Here),
            Ask::Choice => {
                let choices = [LobbyChoice::Wait, LobbyChoice::Ai, LobbyChoice::Leave];
                let choice = choices[self.rng.draw_below(choices.len())];
                self.say(ClientMessage::Choose(choice));
            }
        }
    }

    /// Reacts to a stage.
    ///
    /// # Errors
    /// The stage asks for something that bots do not know.
    pub(super) fn meet_stage(&mut self, now_us: u64, stage: &ShownStage) -> Result<(), String> {
        let act = match &stage.view {
            StageView::Consent { sha256, .. } => {
                self.set_doing("reading the consent");
                Some((self.draw_seconds(8, 40), Act::Done(self.consent(sha256))))
            }
            StageView::Instructions { pages, min_s } => {
                self.set_doing("reading");
                let pages = pages.len().max(1) as u64;
                let least_s = u64::from(*min_s) + 1;
                let time = self.draw_seconds(least_s.max(5) * pages, (least_s + 24) * pages);
                Some((time, Act::Done(Vec::new())))
            }
            StageView::Quiz {
                attempt, attempts, ..
            } => {
                self.set_doing("in a quiz");
                let answers = self.quiz(&stage.id, (*attempt, *attempts))?;
                let items = answers.len() as u64;
                Some((self.draw_seconds(3 * items, 10 * items), Act::Done(answers)))
            }
            StageView::Survey { surveyjs } => {
                self.set_doing("in a survey");
                let answers = fill(surveyjs, &mut self.rng);
                let answers = answers.map_err(|why| format!("the survey `{}`: {why}", stage.id))?;
                let items = 1 + answers.len() as u64;
                let time_us = self.draw_seconds(3 * items, 10 * items);
                let in_time = answer_in_time(surveyjs, &answers, time_us / S, &mut self.rng);
                let in_time = in_time.map(|(time_s, answers)| (time_s * S, answers));
                let (time_us, answers) = in_time.unwrap_or((time_us, answers));
                Some((time_us, Act::Done(answers)))
            }
            StageView::Screening { .. } => {
                self.set_doing("having the device checked");
                Some((self.draw_seconds(3, 6), Act::Done(self.screening())))
            }
            StageView::Debrief { .. } => {
                self.set_doing("reading the debrief");
                Some((self.draw_seconds(5, 25), Act::Done(Vec::new())))
            }
            StageView::External { ticket, .. } => {
                self.set_doing("on a page of another site");
                let act = self.external(&stage.id, ticket)?;
                Some((self.draw_seconds(20, 90), act))
            }
            StageView::Watch { task, .. } => {
                self.set_doing("watching a recording");
                let answers = answer_watch(task, &mut self.rng);
                Some((self.draw_seconds(20, 90), Act::Done(answers)))
            }
            StageView::Lobby { timeout_s } => {
                self.set_doing("in a lobby");
                let patience_s = 3 * u64::from(*timeout_s) + 60;
                Some((patience_s * S, Act::Leave))
            }
            StageView::Chat { .. } => {
                self.set_doing("before a chat");
                self.expect(now_us, 60, "for the chat to be told");
                None
            }
            StageView::Env => {
                self.set_doing("before an episode");
                self.expect(now_us, 180, "for an episode to be made");
                None
            }
            StageView::Rest { min_ms, .. } => {
                self.set_doing("resting");
                let most_s = u64::from(*min_ms) / 1_000 + 1;
                Some((self.draw_seconds(most_s, most_s + 6), Act::Done(Vec::new())))
            }
            StageView::Regroup => {
                self.set_doing("waiting for the group");
                let stages = self.info.study.timeline.iter();
                let lobbies = stages.filter_map(|stage| match &stage.kind {
                    StageKind::Lobby(lobby) => Some(u64::from(lobby.regroup_s)),
                    _ => None,
                });
                let longest_s = lobbies.max().unwrap_or(0);
                self.expect(now_us, longest_s + 180, "for the others of the group");
                None
            }
            StageView::End {
                outcome, farewell, ..
            } => {
                self.set_doing("on the last page");
                let mut record = self.record.lock();
                record.outcome = Some(outcome.clone());
                record.farewell = farewell.clone();
                record.ended_us = Some(now_us);
                drop(record);
                Some((S, Act::Close))
            }
        };
        if let Some((after_us, act)) = act {
            if matches!(
                stage.view,
                StageView::Quiz { .. } | StageView::Survey { .. }
            ) {
                self.drafts.begin_draft(now_us, after_us);
            }
            self.expect(
                now_us,
                after_us / S + 60,
                &format!("on the stage `{}`", stage.id),
            );
            self.act = Some((now_us + after_us, act));
        }
        Ok(())
    }

    /// A random time between two numbers of seconds, microseconds.
    pub(super) fn draw_seconds(&mut self, least_s: u64, most_s: u64) -> u64 {
        let span_ms = (most_s - least_s) * 1_000 + 1;
        least_s * S + self.rng.draw_below(span_ms as usize) as u64 * 1_000
    }

    /// Carries out an act; returns the end, if it ends the session.
    pub(super) fn perform_act(&mut self, now_us: u64, act: Act) -> Option<Phase> {
        match act {
            Act::Done(answers) => {
                self.be_done(now_us, answers);
                None
            }
            Act::Return(ticket) => {
                self.return_by(now_us, ticket);
                None
            }
            Act::Leave => {
                self.note(now_us, "has waited long enough, and leaves");
                self.leave(now_us);
                None
            }
            Act::Close => Some(Phase::Over),
        }
    }

    /// Leaves the study; the page says so again if that is lost.
    pub(super) fn leave(&mut self, now_us: u64) {
        (self.act, self.done, self.has_left) = (None, None, true);
        if let Some(tab) = &mut self.tab {
            tab.call_page(now_us, |page, at_us| page.handle_leave(at_us));
        }
        self.expect_after_done(now_us);
    }

    fn consent(&mut self, sha256: &str) -> Vec<Answer> {
        if self.fault == Some(Fault::Refuse) {
            self.record.lock().happened = true;
            return Vec::new();
        }
        vec![Answer {
            name: AGREED.to_owned(),
            value: format!("\"{sha256}\""),
        }]
    }

    /// The measurements of a page: a computer that can do everything, except for the device, which is one that the
    /// study allows.
    fn screening(&self) -> Vec<Answer> {
        let asked = self.info.study.screening();
        let device = asked.and_then(|asked| asked.device.first().copied());
        let measured = Measured {
            device: device.unwrap_or(Device::Desktop),
            webrtc: true,
            fullscreen: true,
            audio: true,
            keyboard: true,
            touch: true,
            width: 10_000,
            height: 10_000,
            rtt_ms: Some(1.0),
            fps: Some(240.0),
            step_ms: Some(0.005),
        };
        measured.answers()
    }

    /// The act with which a person returns from the page of another site, which bots do not open.
    fn external(&self, id: &str, ticket: &str) -> Result<Act, String> {
        let mut stages = self.info.study.timeline.iter();
        let external = stages.find_map(|stage| match &stage.kind {
            StageKind::External(external) if stage.id == id => Some(external),
            _ => None,
        });
        let external = external.ok_or_else(|| format!("the study has no page `{id}`"))?;
        Ok(match &external.code {
            Some(code) => Act::Done(vec![Answer {
                name: "code".to_owned(),
                value: serde_json::Value::from(code.as_str()).to_string(),
            }]),
            None if external.must_return => Act::Return(ticket.to_owned()),
            None => Act::Done(Vec::new()),
        })
    }

    /// Right answers; or one of them wrong.
    fn quiz(&mut self, id: &str, attempt: (u8, u8)) -> Result<Vec<Answer>, String> {
        let fails = self.fault == Some(Fault::FailQuiz);
        self.record.lock().happened |= fails;
        solve_quiz(&self.info.study, id, (fails, attempt), &mut self.rng)
    }
}
