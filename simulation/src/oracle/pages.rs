//! People's texts, which are there in the end: drafts that the server has promised to keep, answers, and messages to a group.

use std::collections::{BTreeMap, BTreeSet};

use protocol::control::{ClientMessage, Draft, ServerMessage, StageView};

use crate::database::Database;
use crate::tab::{ITEM, words};

/// The drafts of one person for one stage.
#[derive(Debug, Default)]
struct Desk {
    /// All that were sent, in order, with their tab and number.
    sent: Vec<(usize, u32, Draft)>,
    /// The place of the last one that the server has promised to keep.
    kept: Option<usize>,
}

/// The promises of the server about what people type.
#[derive(Debug, Default)]
pub(super) struct Typing {
    /// By person and stage.
    desks: BTreeMap<(usize, u16), Desk>,
    /// The stages that people are done with, and those of them that the server has taken.
    done: BTreeSet<(usize, u16)>,
    taken: BTreeSet<(usize, u16)>,
    /// The messages that pages were shown.
    heard: BTreeSet<String>,
}

impl Typing {
    /// A page sends a message.
    pub(super) fn sent(&mut self, person: usize, tab: usize, message: &ClientMessage) {
        match message {
            ClientMessage::Draft {
                number,
                stage,
                draft,
            } => {
                let desk = self.desks.entry((person, *stage)).or_default();
                let mut sent = desk.sent.iter();
                if !sent.any(|(of, known, _)| (*of, *known) == (tab, *number)) {
                    desk.sent.push((tab, *number, draft.clone()));
                }
            }
            ClientMessage::StageDone { stage, .. } => {
                self.done.insert((person, *stage));
            }
            _ => {}
        }
    }

    /// A page is told something.
    ///
    /// # Errors
    /// The server has lost a draft that it promised to keep.
    pub(super) fn told(
        &mut self,
        person: usize,
        tab: usize,
        message: &ServerMessage,
    ) -> Result<(), String> {
        match message {
            ServerMessage::DraftKept { number } => self.kept(person, tab, *number),
            ServerMessage::Said { line, .. } => {
                self.heard.insert(line.text.clone());
            }
            ServerMessage::Talk(talk) => {
                let lines = talk.lines.iter();
                self.heard.extend(lines.map(|line| line.text.clone()));
            }
            ServerMessage::Stage {
                index, view, draft, ..
            } => return self.shown(person, *index, view, draft.as_ref()),
            _ => {}
        }
        Ok(())
    }

    fn kept(&mut self, person: usize, tab: usize, number: u32) {
        let desks = self.desks.iter_mut();
        for (_, desk) in desks.filter(|((of, _), _)| *of == person) {
            let mut sent = desk.sent.iter();
            let place = sent.position(|(of, known, _)| (*of, *known) == (tab, number));
            desk.kept = desk.kept.max(place);
        }
    }

    fn shown(
        &mut self,
        person: usize,
        index: u16,
        view: &StageView,
        draft: Option<&Draft>,
    ) -> Result<(), String> {
        let is_cut =
            matches!(view, StageView::End { outcome, .. } if outcome.as_str() != "completed");
        if !is_cut {
            let done = self.done.iter().copied();
            let taken = done.filter(|(of, stage)| *of == person && *stage < index);
            self.taken.extend(taken);
        }
        let has_field = matches!(
            view,
            StageView::Survey { .. } | StageView::Instructions { .. } | StageView::Chat { .. }
        );
        let Some(desk) = self.desks.get(&(person, index)).filter(|_| has_field) else {
            return Ok(());
        };
        let may_be = &desk.sent[desk.kept.unwrap_or(0)..];
        match draft {
            None if desk.kept.is_none() => Ok(()),
            Some(draft) if may_be.iter().any(|(.., sent)| sent == draft) => Ok(()),
            _ => Err(format!(
                "draft: person {person} finds {draft:?} at stage {index}, and is promised one of {may_be:?}"
            )),
        }
    }

    /// Judges what the database has in the end.
    ///
    /// # Errors
    /// The text that is missing, there twice, or not as it was typed.
    pub(super) fn judge(&self, database: &Database) -> Result<(), String> {
        let mut texts = BTreeSet::new();
        for (participant, visit, answers) in database.answers() {
            for answer in answers.iter().filter(|answer| answer.name == ITEM) {
                if !texts.insert(&answer.value) {
                    let value = &answer.value;
                    return Err(format!("answers: {value} is there twice"));
                }
            }
            let same = database.answers().iter();
            let same = same.filter(|(of, at, _)| (of, at) == (participant, visit));
            if same.count() > 1 {
                return Err(format!("answers: {participant} gave visit {visit} twice"));
            }
        }
        let known = self.desks.iter().filter(|(_, desk)| {
            let mut sent = desk.sent.iter();
            let is_form = |draft: &Draft| draft.answers.iter().any(|answer| answer.name == ITEM);
            sent.any(|(.., draft)| is_form(draft))
        });
        for (&(person, stage), _) in known.filter(|(key, _)| self.taken.contains(key)) {
            let whole = serde_json::Value::from(words(person, stage)).to_string();
            if !texts.remove(&whole) {
                return Err(format!(
                    "answers: person {person} typed {whole} at stage {stage}, and {texts:?} is there"
                ));
            }
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
