//! The person in front of a tab, between episodes: reads, types, writes to the group, answers the lobby, continues.

use client_core::chat::Chat;
use client_core::drafts::PageTimes;
use client_core::{Page, PageEvent, ShownStage};
use protocol::control::{Answer, Ask, ClientMessage, Draft, StageView};

use crate::native::Native;
use crate::rng::SeededRng;

/// The item of every form.
pub const ITEM: &str = "words";

/// Time for which each page of a text is read at least, microseconds; the study asks for a second.
const READS_US: u64 = 1_000_000;

/// The most messages that somebody writes to the group from one tab.
const MOST: u32 = 4;

/// The text that a person types into the form of a stage, whatever happens to their tabs meanwhile.
pub fn words(person: usize, stage: u16) -> String {
    format!("person {person} at stage {stage}: all of this is there in the end")
}

/// The work of a person at a stage.
enum Work {
    /// None.
    Nothing,
    /// Goes on when it is time.
    Rest,
    /// Reads pages.
    Read(PageTimes, usize),
    /// Types a text into a form.
    Form(PageTimes, String),
}

/// The person.
pub(super) struct Reader {
    person: usize,
    tab: usize,
    rng: SeededRng,
    work: Work,
    works_us: u64,
    /// The text in the field of the chat, the intended text, and the number of messages so far.
    typed: String,
    message: Option<String>,
    said: u32,
    types_us: u64,
    /// The stage that was shown last.
    shown: Option<ShownStage>,
}

impl Reader {
    pub(super) fn new(person: usize, tab: usize, rng: SeededRng) -> Self {
        Self {
            person,
            tab,
            rng,
            work: Work::Nothing,
            works_us: u64::MAX,
            typed: String::new(),
            message: None,
            said: 0,
            types_us: u64::MAX,
            shown: None,
        }
    }

    /// The time at which the person does something next, microseconds of the run.
    pub(super) fn due_us(&self) -> u64 {
        self.works_us.min(self.types_us)
    }

    /// Lets the person see what the page shows.
    ///
    /// # Errors
    /// The page takes away what they typed.
    pub(super) fn handle_page_event(
        &mut self,
        now_us: u64,
        page_us: u64,
        event: PageEvent<Native>,
        page: &mut Page<Native>,
    ) -> Result<(), String> {
        match event {
            PageEvent::StageShown { draft, .. } => self.meet(now_us, page_us, draft, page)?,
            // Whatever it was, they try again.
            PageEvent::NotTaken => self.works_us = now_us + self.rng.draw_between(200_000, 900_000),
            PageEvent::Waiting(waiting) => {
                if matches!(waiting.ask, Ask::Presence { .. } | Ask::Return) {
                    page.send(ClientMessage::Here);
                }
            }
            PageEvent::EpisodeBegan { is_return: false } => {
                self.begin_writing(now_us);
            }
            PageEvent::TypedRestored(text) => {
                self.typed.clone_from(&text);
                self.message = Some(text);
            }
            PageEvent::Judged(_) if self.rng.one_in(2) => {
                self.work = Work::Rest;
                self.works_us = now_us + self.rng.draw_between(100_000, 2_000_000);
            }
            _ => {}
        }
        Ok(())
    }

    fn meet(
        &mut self,
        now_us: u64,
        page_us: u64,
        draft: Option<Draft>,
        page: &mut Page<Native>,
    ) -> Result<(), String> {
        let Some(stage) = page.stage().cloned() else {
            return Ok(());
        };
        use StageView::{Chat, Env, Instructions, Lobby, Regroup, Survey};
        let has_field = matches!(
            stage.view,
            Survey { .. } | Instructions { .. } | Chat { .. }
        );
        if has_field && self.shown.as_ref() == Some(&stage) {
            let (tab, index) = (self.tab, stage.index);
            return Err(format!(
                "draft: page {tab} shows stage {index} anew, and what was typed is gone"
            ));
        }
        self.begin_writing(now_us);
        let first_us = now_us + self.rng.draw_between(50_000, 600_000);
        (self.work, self.works_us) = match &stage.view {
            Env | Regroup | Lobby { .. } | StageView::End { .. } => (Work::Nothing, u64::MAX),
            Instructions { pages, .. } => {
                let times = PageTimes::new(page_us, pages.len(), draft.as_ref());
                (Work::Read(times, pages.len().max(1)), first_us)
            }
            Survey { .. } => {
                let times = PageTimes::new(page_us, 1, draft.as_ref());
                let answers = draft.as_ref().map(|draft| &draft.answers[..]);
                let typed = answers.unwrap_or_default().first();
                let typed = typed.and_then(|answer| serde_json::from_str(&answer.value).ok());
                (Work::Form(times, typed.unwrap_or_default()), first_us)
            }
            Chat { .. } => (
                Work::Rest,
                now_us + self.rng.draw_between(1_000_000, 4_000_000),
            ),
            _ => (Work::Rest, first_us),
        };
        self.shown = Some(stage);
        Ok(())
    }

    /// There is another field for messages, and it is empty.
    fn begin_writing(&mut self, now_us: u64) {
        self.typed.clear();
        self.message = None;
        self.types_us = now_us + self.rng.draw_between(100_000, 1_500_000);
    }

    /// Lets the person do what is due.
    pub(super) fn handle_timeout(&mut self, now_us: u64, page_us: u64, page: &mut Page<Native>) {
        if self.works_us <= now_us {
            self.works_us = self.work(now_us, page_us, page);
        }
        if self.types_us <= now_us {
            self.types_us = self.write(now_us, page_us, page);
        }
    }

    /// Works at the stage. Returns the time at which the work continues.
    fn work(&mut self, now_us: u64, page_us: u64, page: &mut Page<Native>) -> u64 {
        if page.is_judged() {
            page.handle_outcome_read(page_us);
            return u64::MAX;
        }
        match &mut self.work {
            Work::Nothing => return u64::MAX,
            Work::Rest => {
                // A rest or a chat that is too short is shown again; a person whose answer is not taken tries again.
                page.handle_done(page_us, Vec::new(), Vec::new());
                return u64::MAX;
            }
            Work::Read(times, pages) => {
                let left_us = (READS_US + 50_000).saturating_sub(times.here_us(page_us));
                if left_us > 0 {
                    return now_us + 2 * left_us;
                }
                let pages_ms = times.all_ms(page_us);
                if times.page() + 1 == *pages {
                    page.handle_done(page_us, Vec::new(), pages_ms);
                    return u64::MAX;
                }
                times.turn_page(page_us, 1);
                let draft = Draft {
                    page: times.page() as u16,
                    pages_ms: times.all_ms(page_us),
                    answers: Vec::new(),
                };
                page.handle_draft(page_us, draft);
            }
            Work::Form(times, typed) => {
                let stage = self.shown.as_ref().map_or(0, |stage| stage.index);
                let whole = words(self.person, stage);
                let more = self.rng.draw_between(1, 20) as usize;
                let length = (typed.len() + more).min(whole.len());
                whole[..length].clone_into(typed);
                let answers = vec![Answer {
                    name: ITEM.to_owned(),
                    value: serde_json::Value::from(typed.as_str()).to_string(),
                }];
                let pages_ms = times.all_ms(page_us);
                if length == whole.len() && self.rng.one_in(2) {
                    page.handle_done(page_us, answers, pages_ms);
                    return u64::MAX;
                }
                let draft = Draft {
                    page: 0,
                    pages_ms,
                    answers,
                };
                page.handle_draft(page_us, draft);
            }
        }
        now_us + self.rng.draw_between(50_000, 700_000)
    }

    /// Types a message to the group, and sends it. Returns the time at which the typing continues.
    fn write(&mut self, now_us: u64, page_us: u64, page: &mut Page<Native>) -> u64 {
        let may_write = page.chat().is_some_and(Chat::is_heard) && page.has_chat_field();
        if !may_write || (self.said >= MOST && self.message.is_none()) {
            return now_us + 1_000_000;
        }
        let (tab, said) = (self.tab, self.said);
        let whole = self
            .message
            .get_or_insert_with(|| format!("{tab}.{said}: somebody says this"));
        if self.typed.len() < whole.len() {
            let more = self.rng.draw_between(3, 12) as usize;
            // A half-typed text is sent as it is when a page goes: it must differ from all other messages.
            let head = whole.find(':').unwrap_or(0);
            let length = (self.typed.len() + more).max(head).min(whole.len());
            whole[..length].clone_into(&mut self.typed);
            page.handle_typed(page_us, &self.typed);
            return now_us + self.rng.draw_between(50_000, 500_000);
        }
        if page.handle_write(page_us, whole.clone()) {
            self.said += 1;
            self.typed.clear();
            self.message = None;
        }
        // Now and then somebody writes faster than the server takes it.
        now_us + self.rng.draw_between(100_000, 2_000_000)
    }
}
