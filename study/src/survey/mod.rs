//! Forms: the part of SurveyJS JSON that participants' pages show, checked when the study is loaded;
//! and the check of answers against it.
//!
//! Source: the SurveyJS form library, JSON schema of version 2.

mod read;

use std::collections::BTreeSet;

use protocol::control::Answer;
use serde::Serialize;
use serde_json::Value;

use crate::progress::Refusal;

pub(crate) use read::read_stage;

/// The most items of a form, and the most choices of an item.
const MOST: usize = 200;

/// The longest text that a participant may answer, characters.
pub const MAX_ANSWER: usize = 10_000;

/// A form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Survey {
    /// The SurveyJS document, its texts in every language that they have, its HTML sanitised.
    pub surveyjs: Value,
    /// The items that show whether people read what they answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<Attention>,
    /// What it asks, in order. Follows from the document.
    #[serde(skip)]
    pub items: Vec<Item>,
}

/// The items that show whether people read what they answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attention {
    /// Their names.
    pub items: Vec<String>,
    /// What is made of them.
    #[serde(rename = "use")]
    pub purpose: Purpose,
}

/// What is made of an item that shows attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The data say who failed; nothing else happens.
    Flag,
}

/// What became of an item that has a right answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Name of the item.
    pub item: String,
    /// Whether it was answered right; what was left out was not.
    pub correct: bool,
    /// Whether it says that the person did not read: it is an item of `attention`, and not right.
    pub flag: bool,
}

/// What a form asks for under one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Name of the value.
    pub name: String,
    /// Whether it must be answered.
    pub required: bool,
    /// Which values it takes.
    pub takes: Takes,
    /// The right one, if there is one. Pages do not have it.
    pub correct: Option<Value>,
}

/// The values that an item takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Takes {
    /// One of these.
    One(Vec<Value>),
    /// A list of some of these, none twice.
    Many(Vec<Value>),
    /// `true` or `false`.
    Flag,
    /// A number.
    Number,
    /// Text.
    Text,
    /// An object: for a row one of the columns.
    Rows {
        /// Names of the rows.
        rows: Vec<String>,
        /// The columns.
        columns: Vec<Value>,
        /// Whether a row may not be left out.
        all: bool,
    },
}

/// A row as the name of a member of the answer.
pub(crate) fn row_name(row: &Value) -> String {
    row.as_str().map_or_else(|| row.to_string(), str::to_owned)
}

/// Takes the text of one language where there are several, and leaves right answers out.
fn settle(value: &mut Value, language: &str) {
    const TEXTS: [&str; 8] = [
        "title",
        "description",
        "text",
        "labelTrue",
        "labelFalse",
        "minRateDescription",
        "maxRateDescription",
        "html",
    ];
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| settle(item, language)),
        Value::Object(map) => {
            map.remove("correctAnswer");
            for (key, value) in map.iter_mut() {
                if !TEXTS.contains(&key.as_str()) {
                    settle(value, language);
                    continue;
                }
                if let Value::Object(texts) = value {
                    let chosen = [language, "default", "en"]
                        .iter()
                        .find_map(|tag| texts.get(*tag))
                        .or(texts.values().next());
                    *value = chosen.cloned().unwrap_or_default();
                }
                // What reads as a number is text here.
                if !value.is_string() {
                    *value = Value::String(value.to_string());
                }
            }
        }
        _ => {}
    }
}

/// Checks that answers, which need not be complete nor right, are to items that are there, each once.
pub(crate) fn check_names(items: &[Item], answers: &[Answer]) -> Result<(), Refusal> {
    let mut given = BTreeSet::new();
    for answer in answers {
        let name = || answer.name.chars().take(60).collect();
        if !items.iter().any(|item| item.name == answer.name) {
            return Err(Refusal::UnknownItem { name: name() });
        }
        if serde_json::from_str::<serde::de::IgnoredAny>(&answer.value).is_err() {
            return Err(Refusal::BadAnswer { name: name() });
        }
        if !given.insert(&answer.name) {
            return Err(Refusal::Twice { name: name() });
        }
    }
    Ok(())
}

impl Survey {
    /// The document that pages show, in a language.
    pub fn in_language(&self, language: &str) -> Value {
        let mut document = self.surveyjs.clone();
        settle(&mut document, language);
        document
    }

    /// What became of the items that have a right answer: those that are answered, and those of `attention`.
    pub fn marks(&self, answers: &[Answer]) -> Vec<Mark> {
        let attention = self.attention.as_ref().map(|attention| &attention.items);
        let mark = |item: &Item| {
            let right = item.correct.as_ref()?;
            let given = answers.iter().find(|answer| answer.name == item.name);
            let counts = attention.is_some_and(|items| items.contains(&item.name));
            let value = given.and_then(|answer| serde_json::from_str::<Value>(&answer.value).ok());
            let correct = value.as_ref() == Some(right);
            (given.is_some() || counts).then(|| Mark {
                item: item.name.clone(),
                correct,
                flag: counts && !correct,
            })
        };
        self.items.iter().filter_map(mark).collect()
    }

    /// Checks answers against the form: names, values, and that nothing required is missing.
    ///
    /// # Errors
    /// A [`Refusal`] with the name of the item.
    pub fn check(&self, answers: &[Answer]) -> Result<(), Refusal> {
        let mut given = BTreeSet::new();
        for answer in answers {
            let item = self.items.iter().find(|item| item.name == answer.name);
            let item = item.ok_or_else(|| Refusal::UnknownItem {
                name: answer.name.chars().take(60).collect(),
            })?;
            let value = serde_json::from_str(&answer.value)
                .ok()
                .filter(|value| item.takes(value));
            let Some(value) = value else {
                return Err(Refusal::BadAnswer {
                    name: item.name.clone(),
                });
            };
            if !given.insert(item.name.as_str()) {
                return Err(Refusal::Twice {
                    name: item.name.clone(),
                });
            }
            if item.incomplete(&value) {
                return Err(Refusal::Missing {
                    name: item.name.clone(),
                });
            }
        }
        match self
            .items
            .iter()
            .find(|item| item.must_be_there() && !given.contains(item.name.as_str()))
        {
            Some(item) => Err(Refusal::Missing {
                name: item.name.clone(),
            }),
            None => Ok(()),
        }
    }
}

impl Item {
    fn takes(&self, value: &Value) -> bool {
        match (&self.takes, value) {
            (Takes::One(known), value) => known.contains(value),
            (Takes::Many(known), Value::Array(chosen)) => chosen
                .iter()
                .enumerate()
                .all(|(i, value)| known.contains(value) && !chosen[..i].contains(value)),
            (Takes::Flag, value) => value.is_boolean(),
            (Takes::Number, value) => value.is_number(),
            (Takes::Text, Value::String(text)) => text.chars().count() <= MAX_ANSWER,
            (Takes::Rows { rows, columns, .. }, Value::Object(map)) => map
                .iter()
                .all(|(row, value)| rows.contains(row) && columns.contains(value)),
            _ => false,
        }
    }

    /// Whether no answer at all is refused.
    fn must_be_there(&self) -> bool {
        self.required || matches!(self.takes, Takes::Rows { all: true, .. })
    }

    /// Whether a value leaves something unanswered that must be answered.
    fn incomplete(&self, value: &Value) -> bool {
        match (&self.takes, value) {
            (Takes::Many(_), Value::Array(chosen)) => self.required && chosen.is_empty(),
            (Takes::Text, Value::String(text)) => self.required && text.trim().is_empty(),
            (Takes::Rows { rows, all, .. }, Value::Object(map)) => {
                (self.required || *all) && rows.iter().any(|row| !map.contains_key(row))
            }
            _ => false,
        }
    }
}
