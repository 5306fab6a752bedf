//! The stages between the episodes: shown as the server sends them, kept while they are half done, and left.

use client_core::ShownStage;
use protocol::control::{Absent, Draft, StageView, Waiting};
use survey::Form;
use web_sys::HtmlElement;

use super::App;
use crate::messages;
use crate::pages::end::Last;
use crate::pages::form::Questions;
use crate::pages::instructions::Instructions;
use crate::pages::lobby::Lobby;
use crate::pages::regroup::Regroup;
use crate::pages::rest::Rest;
use crate::pages::screening::Screening;
use crate::pages::watch::{FilmRequest, Watch};
use crate::pages::{chat, consent, debrief, external};
use crate::shell::{dom, layout};

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
    Watch(Watch),
    /// It shows what the group writes, too: [`App::show_chat`] does.
    Chat(chat::Card),
}

impl Card {
    /// Shows that time passes.
    pub(super) fn tick(&mut self, now_us: u64) {
        let now_ms = now_us as f64 / 1_000.0;
        match self {
            Self::Plain | Self::Chat(_) | Self::Watch(_) => {}
            Self::Questions(questions) => questions.tick(now_us),
            Self::Lobby(lobby) => lobby.tick(now_ms),
            Self::Regroup(regroup) => regroup.tick(now_ms),
            Self::Rest(rest) => rest.tick(now_ms),
            Self::Last(last) => last.tick(now_ms),
            Self::Instructions(instructions) => instructions.tick(now_us),
            Self::Screening(screening) => screening.tick(),
        }
    }

    /// The part that is done by now of a stage that one can come back to.
    pub(super) fn make_draft(&self, now_us: u64) -> Option<Draft> {
        match self {
            Self::Instructions(instructions) => Some(instructions.draft(now_us)),
            Self::Questions(questions) => Some(questions.draft()),
            Self::Watch(watch) => Some(watch.draft()),
            _ => None,
        }
    }

    /// Takes the state of a wait from the server.
    pub(super) fn handle_waiting(&mut self, now_ms: f64, waiting: Waiting) {
        match self {
            Self::Lobby(lobby) => lobby.handle_waiting(now_ms, waiting),
            Self::Rest(rest) => rest.show_waiting(),
            _ => {}
        }
    }

    /// Takes the people of the group who have not come yet, from the server.
    pub(super) fn handle_missing(&mut self, now_ms: f64, absent: &[Absent], of: u8, left_ms: u32) {
        if let Self::Regroup(regroup) = self {
            regroup.handle_missing(now_ms, absent, of, left_ms);
        }
    }

    /// The server answered a question for its time.
    pub(super) fn handle_clock(&self, sent_us: u64, now_us: u64) {
        if let Self::Screening(screening) = self {
            screening.handle_clock(sent_us, now_us);
        }
    }
}

/// The name of a kind of stage, for tests.
pub(super) fn kind_of(view: &StageView) -> &'static str {
    match view {
        StageView::Consent { .. } => "consent",
        StageView::Instructions { .. } => "instructions",
        StageView::Quiz { .. } => "quiz",
        StageView::External { .. } => "external",
        StageView::Watch { .. } => "watch",
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

impl App {
    /// Shows the stage of the page, with the part that was done of it before.
    pub(super) fn show_stage(&mut self, now_us: u64, draft: Option<&Draft>, again: bool) {
        let Some(stage) = self.page.stage().cloned() else {
            return;
        };
        let notice = again.then_some(messages::current_words().quiz_again);
        self.layout.show_notice(notice);
        self.layout.show_progress(stage.index, stage.count);
        let Some(page) = self.make_page(now_us, &stage, draft) else {
            return;
        };
        self.layout.turn_to(&page);
        let is_end = matches!(stage.view, StageView::End { .. });
        self.layout.may_leave(!is_end);
        if !self.is_marked {
            self.is_marked = true;
            dom::set_mark("coplay-ready");
        }
    }

    /// Makes the page of a stage, and keeps what changes on it with time; `None` if the page cannot show it.
    fn make_page(
        &mut self,
        now_us: u64,
        stage: &ShownStage,
        draft: Option<&Draft>,
    ) -> Option<HtmlElement> {
        let now_ms = now_us as f64 / 1_000.0;
        let found = match std::mem::replace(&mut self.card, Card::Plain) {
            Card::Screening(screening) => screening.measurements(),
            _ => None,
        };
        let page = match &stage.view {
            StageView::Consent { page, sha256 } => {
                consent::make_page(&self.inbox, self.layout.study_title(), page, sha256)
            }
            StageView::Instructions { pages, min_s } => {
                let (title, pages) = (self.layout.study_title(), pages.clone());
                let card = Instructions::new(&self.inbox, title, pages, *min_s, draft);
                let page = card.page.clone();
                self.card = Card::Instructions(card);
                page
            }
            StageView::External { .. } => external::make_page(&self.inbox, &stage.view),
            StageView::Debrief {
                page,
                allow_withdraw,
            } => debrief::make_page(
                &self.inbox,
                self.layout.study_title(),
                page,
                *allow_withdraw,
            ),
            StageView::Lobby { .. } => {
                let lobby = Lobby::new(&self.inbox);
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
                let rest = Rest::new(&self.inbox, self.layout.study_title(), page, *round, *score);
                let rest = rest.with_times(now_ms, *min_ms, *max_ms);
                let page = rest.page.clone();
                self.card = Card::Rest(rest);
                page
            }
            StageView::Watch { page, task } => {
                let request = FilmRequest {
                    session: self.page.credentials().session.as_deref(),
                    stage: &stage.id,
                    page,
                    task,
                };
                let title = self.layout.study_title();
                let card = Watch::new(&self.inbox, title, &request, draft);
                let page = card.page.clone();
                self.card = Card::Watch(card);
                page
            }
            StageView::Chat { page } => {
                let card = chat::Card::new(&self.inbox, page);
                let page = card.page.clone();
                self.card = Card::Chat(card);
                page
            }
            StageView::Env => layout::make_message_page(
                messages::current_words().get_ready,
                messages::current_words().preparing,
            ),
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
                        self.report_broken(&format!("the form of stage {}: {error}", stage.id));
                        return None;
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
                let last = Last::new(now_ms, self.layout.study_title(), outcome, page, farewell);
                let page = last.page.clone();
                self.card = Card::Last(last);
                page
            }
        };
        Some(page)
    }
}

/// The number of a view's attempt at a quiz, in words, if there is more than one.
fn attempt(view: &StageView) -> Option<String> {
    match view {
        StageView::Quiz {
            attempt, attempts, ..
        } if *attempts > 1 => Some(messages::say_attempt(*attempt, *attempts)),
        _ => None,
    }
}
