//! The stages between the episodes: shown as the server tells them, kept while they are half done, and left.

use protocol::control::{Answer, ClientMessage, Draft, StageView};
use survey::Form;

use super::App;
use crate::messages;
use crate::pages::end::Last;
use crate::pages::form::Questions;
use crate::pages::instructions::Instructions;
use crate::pages::lobby::Lobby;
use crate::pages::regroup::Regroup;
use crate::pages::rest::Rest;
use crate::pages::screening::Screening;
use crate::pages::{chat, consent, debrief, external};
use crate::shell::{dom, layout};

/// A stage as the server told it.
#[derive(Clone, PartialEq)]
pub(super) struct Stage {
    pub(super) index: u16,
    pub(super) count: u16,
    pub(super) id: String,
    pub(super) view: StageView,
}

/// What was before the server told a stage.
#[derive(Default)]
pub(super) struct Before {
    /// What was done of it.
    pub(super) draft: Option<Draft>,
    /// Whether answers to a quiz were not right.
    pub(super) again: bool,
}

/// The page of a stage that changes with time.
pub(super) enum Card {
    /// One that does not.
    Plain,
    Lobby(Lobby),
    Regroup(Regroup),
    Rest(Rest),
    Last(Last),
    Instructions(Instructions),
    Questions(Questions),
    Screening(Screening),
    /// It shows what the group writes, too: [`App::show_chat`] does.
    Chat(chat::Card),
}

impl Card {
    /// Shows that time passes.
    pub(super) fn tick(&mut self, now_ms: f64) {
        match self {
            Self::Plain | Self::Chat(_) | Self::Questions(_) => {}
            Self::Lobby(lobby) => lobby.tick(now_ms),
            Self::Regroup(regroup) => regroup.tick(now_ms),
            Self::Rest(rest) => rest.tick(now_ms),
            Self::Last(last) => last.tick(now_ms),
            Self::Instructions(instructions) => instructions.tick(now_ms),
            Self::Screening(screening) => screening.tick(),
        }
    }

    /// What is done by now of a stage that one can come back to.
    fn draft(&self, now_ms: f64) -> Option<Draft> {
        match self {
            Self::Instructions(instructions) => Some(instructions.draft(now_ms)),
            Self::Questions(questions) => Some(questions.draft()),
            _ => None,
        }
    }
}

impl Stage {
    pub(super) fn kind(&self) -> &'static str {
        match self.view {
            StageView::Consent { .. } => "consent",
            StageView::Instructions { .. } => "instructions",
            StageView::Quiz { .. } => "quiz",
            StageView::External { .. } => "external",
            StageView::Debrief { .. } => "debrief",
            StageView::Lobby { .. } => "lobby",
            StageView::Env => "env",
            StageView::Regroup => "regroup",
            StageView::Rest { .. } => "rest",
            StageView::Survey { .. } => "survey",
            StageView::Screening { .. } => "screening",
            StageView::End { .. } => "end",
            StageView::Chat { .. } => "chat",
        }
    }
}

impl App {
    pub(super) fn stage(&mut self, stage: Stage, before: Before) {
        // The outcome stays on the page until the person goes on, unless that was done before this came.
        // A rest tells the outcome itself.
        let is_rest = matches!(stage.view, StageView::Rest { .. });
        if self.outcome_ms.is_some() && self.is_judged && !is_rest {
            // What came after the stage before belongs to it.
            self.next_messages.clear();
            self.next = Some((stage, before));
            return;
        }
        let is_again = self.stage.as_ref() == Some(&stage);
        // The same episode goes on, or takes this page in again.
        if is_again && self.play.is_some() && !self.is_judged {
            return;
        }
        // After a lost connection the server tells the stage again: what was typed into it stays.
        if is_again && stage.view != StageView::Env && self.play.is_none() {
            self.told_again();
            return;
        }
        self.leave_play();
        self.show(stage, &before);
    }

    /// The server tells a stage again that the person is done with: either it did not hear so, or it refused.
    fn told_again(&mut self) {
        if !self.is_done_sent {
            self.send_done();
        } else if self.done.take().is_some() {
            self.shell.notice(Some(messages::say().not_taken));
        }
    }

    fn send_done(&mut self) {
        if let Some(done) = self.done.as_ref().filter(|_| self.welcomed) {
            self.socket.send(done);
            self.is_done_sent = true;
        }
    }

    fn show(&mut self, stage: Stage, before: &Before) {
        let notice = before.again.then_some(messages::say().quiz_again);
        self.shell.notice(notice);
        let found = match std::mem::replace(&mut self.card, Card::Plain) {
            Card::Screening(screening) => screening.found(),
            _ => None,
        };
        self.chat = None;
        self.done = None;
        self.drafts.clear();
        self.unsent = before.draft.clone().unwrap_or_default();
        let writes = matches!(stage.view, StageView::Chat { .. } | StageView::Env);
        self.unsent_before = before.draft.clone().filter(|_| writes);
        self.since_ms = dom::page_ms();
        self.shell.progress(stage.index, stage.count);
        let draft = before.draft.as_ref();
        let page = match &stage.view {
            StageView::Consent { page, sha256 } => {
                consent::consent(&self.inbox, self.shell.title(), page, sha256)
            }
            StageView::Instructions { pages, min_s } => {
                let (title, pages) = (self.shell.title(), pages.clone());
                let card = Instructions::new(&self.inbox, title, pages, *min_s, draft);
                let page = card.page.clone();
                self.card = Card::Instructions(card);
                page
            }
            StageView::External { .. } => external::external(&self.inbox, &stage.view),
            StageView::Debrief {
                page,
                allow_withdraw,
            } => debrief::debrief(&self.inbox, self.shell.title(), page, *allow_withdraw),
            StageView::Lobby { .. } => {
                let lobby = Lobby::new(&self.inbox, self.since_ms);
                let page = lobby.page.clone();
                self.card = Card::Lobby(lobby);
                page
            }
            StageView::Regroup => {
                let regroup = Regroup::new();
                let page = regroup.page.clone();
                self.card = Card::Regroup(regroup);
                page
            }
            StageView::Rest {
                page,
                round,
                score,
                min_ms,
                max_ms,
            } => {
                let rest = Rest::new(&self.inbox, self.shell.title(), page, *round, *score);
                let rest = rest.left(self.since_ms, *min_ms, *max_ms);
                let page = rest.page.clone();
                self.card = Card::Rest(rest);
                page
            }
            StageView::Chat { page } => {
                let card = chat::Card::new(&self.inbox, page);
                let page = card.page.clone();
                self.card = Card::Chat(card);
                page
            }
            StageView::Env => layout::message(messages::say().get_ready, messages::say().preparing),
            StageView::Survey { surveyjs } | StageView::Quiz { surveyjs, .. } => {
                match Form::read(surveyjs) {
                    Ok(form) => {
                        let hint = attempt(&stage.view);
                        let card = Questions::new(&self.inbox, form, hint, draft);
                        let page = card.page.clone();
                        self.card = Card::Questions(card);
                        page
                    }
                    Err(error) => {
                        return self.broken(&format!("the form of stage {}: {error}", stage.id));
                    }
                }
            }
            StageView::Screening {
                trials,
                lacks,
                attempts,
            } => {
                let card = Screening::new(&self.inbox, trials, lacks, *attempts, found);
                let page = card.page.clone();
                self.card = Card::Screening(card);
                page
            }
            StageView::End {
                outcome,
                page,
                farewell,
            } => {
                let last = Last::new(self.since_ms, self.shell.title(), outcome, page, farewell);
                let page = last.page.clone();
                self.card = Card::Last(last);
                page
            }
        };
        self.shell.turn_to(&page);
        let is_end = matches!(stage.view, StageView::End { .. });
        self.shell.may_leave(!is_end);
        self.quits &= !is_end;
        self.stage = Some(stage);
        if !self.is_marked {
            self.is_marked = true;
            dom::mark("coplay-ready");
        }
    }

    pub(super) fn stage_done(&mut self, answers: Vec<Answer>, mut pages_ms: Vec<u32>) {
        let Some(stage) = self.stage.as_ref().filter(|_| self.done.is_none()) else {
            return;
        };
        if pages_ms.is_empty() {
            pages_ms.push((dom::page_ms() - self.since_ms) as u32);
        }
        let done = ClientMessage::StageDone {
            stage: stage.index,
            answers,
            pages_ms,
        };
        (self.done, self.is_done_sent) = (Some(done), false);
        self.send_done();
    }

    /// Sends what is done of the stage, when it is time.
    pub(super) fn keep_draft(&mut self, now_ms: f64) {
        if self.welcomed && self.done.is_none() {
            let due = self.drafts.poll(now_ms);
            self.send_draft(due);
        }
    }

    /// Sends what is done of the stage now, and for how long: there may be no later.
    pub(super) fn flush_draft(&mut self) {
        self.keep_unsent();
        let now_ms = dom::page_ms();
        if let Some(draft) = self.card.draft(now_ms) {
            self.drafts.change(now_ms, draft);
        }
        if self.welcomed && self.done.is_none() {
            let due = self.drafts.flush(now_ms);
            self.send_draft(due);
        }
    }

    fn send_draft(&self, due: Option<(u32, Draft)>) {
        if let (Some((number, draft)), Some(stage)) = (due, &self.stage) {
            self.socket.send(&ClientMessage::Draft {
                number,
                stage: stage.index,
                draft,
            });
        }
    }

    /// The person has read the outcome of an episode, or has had the time to.
    pub(super) fn onward(&mut self) {
        self.outcome_ms = None;
        self.with_play(|play, _| play.leave());
        let Some((stage, before)) = self.next.take() else {
            return;
        };
        self.leave_play();
        self.show(stage, &before);
        for message in std::mem::take(&mut self.next_messages) {
            self.message(message);
        }
    }
}

/// Which attempt at a quiz a view is, in words, if there is more than one.
fn attempt(view: &StageView) -> Option<String> {
    match view {
        StageView::Quiz {
            attempt, attempts, ..
        } if *attempts > 1 => Some(messages::attempt(*attempt, *attempts)),
        _ => None,
    }
}
