//! People's texts, which are there in the end: drafts that the server has promised to keep, answers, and messages to a group.

use std::collections::{BTreeMap, BTreeSet};

use protocol::control::{ClientMessage, Draft, ServerMessage, StageView};

use crate::database::Database;
use crate::tab::{ITEM, words};

/// The stage of a session, by its token: a person who opens two tabs before the server knows them has two sessions.
type Desks<T> = BTreeMap<(String, u16), T>;

/// The drafts of one session for one stage.
#[derive(Debug, Default)]
struct Desk {
    /// The person.
    person: usize,
    /// All that were sent, in order, with their tab and number.
    sent: Vec<(usize, u32, Draft)>,
    /// The place of the last one that the server has promised to keep.
    kept: Option<usize>,
}

/// The promises of the server about what people type.
#[derive(Debug, Default)]
pub(super) struct Typing {
    /// The session of each tab that was let in.
    sessions: BTreeMap<usize, String>,
    desks: Desks<Desk>,
    /// The stages that sessions are done with, each with whether the server has taken it.
    done: Desks<bool>,
    /// The messages that pages were shown.
    heard: BTreeSet<String>,
}

impl Typing {
    /// A page sends a message.
    pub(super) fn record_sent(&mut self, person: usize, tab: usize, message: &ClientMessage) {
        let Some(session) = self.sessions.get(&tab).cloned() else {
            return;
        };
        match message {
            ClientMessage::Draft {
                number,
                stage,
                draft,
            } => {
                let desk = self.desks.entry((session, *stage)).or_default();
                desk.person = person;
                let mut sent = desk.sent.iter();
                if !sent.any(|(of, known, _)| (*of, *known) == (tab, *number)) {
                    desk.sent.push((tab, *number, draft.clone()));
                }
            }
            ClientMessage::StageDone { stage, .. } => {
                self.done.entry((session, *stage)).or_default();
            }
            _ => {}
        }
    }

    /// Checks a message to a page.
    ///
    /// # Errors
    /// The server has lost a draft that it promised to keep.
    pub(super) fn record_told(
        &mut self,
        tab: usize,
        message: &ServerMessage,
    ) -> Result<(), String> {
        match message {
            ServerMessage::Welcome { session, .. } => {
                self.sessions.insert(tab, session.clone());
            }
            ServerMessage::DraftKept { number } => self.kept(tab, *number),
            ServerMessage::ChatMessage { message, .. } => {
                self.heard.insert(message.text.clone());
            }
            ServerMessage::Chat(chat) => {
                let messages = chat.messages.iter();
                self.heard
                    .extend(messages.map(|message| message.text.clone()));
            }
            ServerMessage::Stage {
                index, view, draft, ..
            } => return self.shown(tab, *index, view, draft.as_ref()),
            _ => {}
        }
        Ok(())
    }

    fn kept(&mut self, tab: usize, number: u32) {
        for desk in self.desks.values_mut() {
            let mut sent = desk.sent.iter();
            let place = sent.position(|(of, known, _)| (*of, *known) == (tab, number));
            desk.kept = desk.kept.max(place);
        }
    }

    fn shown(
        &mut self,
        tab: usize,
        index: u16,
        view: &StageView,
        draft: Option<&Draft>,
    ) -> Result<(), String> {
        let Some(session) = self.sessions.get(&tab).cloned() else {
            return Ok(());
        };
        let is_cut =
            matches!(view, StageView::End { outcome, .. } if outcome.as_str() != "completed");
        for ((of, stage), is_taken) in &mut self.done {
            *is_taken |= !is_cut && *of == session && *stage < index;
        }
        let has_field = matches!(
            view,
            StageView::Survey { .. } | StageView::Instructions { .. } | StageView::Chat { .. }
        );
        let Some(desk) = self.desks.get(&(session, index)).filter(|_| has_field) else {
            return Ok(());
        };
        let may_be = &desk.sent[desk.kept.unwrap_or(0)..];
        match draft {
            None if desk.kept.is_none() => Ok(()),
            Some(draft) if may_be.iter().any(|(.., sent)| sent == draft) => Ok(()),
            _ => Err(format!(
                "draft: page {tab} finds {draft:?} at stage {index}, and is promised one of {may_be:?}"
            )),
        }
    }

    /// Judges the final content of the database.
    ///
    /// # Errors
    /// The text that is missing, duplicated, or not as it was typed.
    pub(super) fn judge(&self, database: &Database) -> Result<(), String> {
        let mut given = BTreeSet::new();
        let mut texts: Vec<&str> = Vec::new();
        for (participant, visit, answers) in database.answers() {
            if !given.insert((participant, visit)) {
                return Err(format!("answers: {participant} gave visit {visit} twice"));
            }
            let own = answers.iter().filter(|answer| answer.name == ITEM);
            texts.extend(own.map(|answer| answer.value.as_str()));
        }
        for (key, desk) in &self.desks {
            let mut sent = desk.sent.iter();
            let is_form = |draft: &Draft| draft.answers.iter().any(|answer| answer.name == ITEM);
            let is_taken = self.done.get(key) == Some(&true);
            if !is_taken || !sent.any(|(.., draft)| is_form(draft)) {
                continue;
            }
            let (person, stage) = (desk.person, key.1);
            let whole = serde_json::Value::from(words(person, stage)).to_string();
            let Some(place) = texts.iter().position(|text| *text == whole) else {
                return Err(format!(
                    "answers: person {person} typed {whole} at stage {stage}, and {texts:?} is there"
                ));
            };
            texts.swap_remove(place);
        }
        self.judge_messages(database)
    }

    fn judge_messages(&self, database: &Database) -> Result<(), String> {
        let mut stored = BTreeSet::new();
        for row in database.messages() {
            if !stored.insert(row.text.as_str()) {
                return Err(format!("messages: {:?} is stored twice", row.text));
            }
        }
        match self
            .heard
            .iter()
            .find(|text| !stored.contains(text.as_str()))
        {
            Some(text) => Err(format!("messages: {text:?} was shown and is not stored")),
            None => Ok(()),
        }
    }
}
