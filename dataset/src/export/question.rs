//! Questions and choices in the words that people read, from the studies that are stored with their answers.

use std::collections::BTreeMap;

use anyhow::Context as _;
use protocol::hash::sha256_hex;
use serde_json::Value;
use store::Response;
use study::Progress;
use survey::{AnswerWords, Form, FormItem, ItemKind, Values, key_of};

use super::known::KnownData;

/// The words for answers that have no text of the study.
const WORDS: AnswerWords<'static> = AnswerWords {
    yes: "yes",
    no: "no",
    none: "none",
    other: "other",
    decimal: ".",
};

/// The keys of a SurveyJS document whose values are texts.
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

/// A question as it was asked.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) question: String,
    /// Text as it is, everything else as JSON; `None` for nothing.
    pub(super) value: Option<String>,
    pub(super) value_text: String,
    pub(super) page: Option<u16>,
    item: Option<FormItem>,
}

/// The words of a part of an answer.
#[derive(Default)]
pub(super) struct PartWords {
    pub(super) question: String,
    pub(super) value_text: String,
}

/// The forms of the stages of a study, in one language.
type Forms = BTreeMap<String, Form>;

/// The questions of the studies of a data folder.
#[derive(Default)]
pub(super) struct Questions {
    /// By the hash of the study and the language.
    forms: BTreeMap<(String, String), Forms>,
    /// The study and the language of each session.
    sessions: BTreeMap<String, (String, String)>,
}

impl Questions {
    pub(super) fn new(studies: &[String], known: &KnownData) -> anyhow::Result<Self> {
        let mut questions = Self::default();
        let mut parsed: BTreeMap<String, Value> = BTreeMap::new();
        for canonical in studies {
            let study = serde_json::from_str(canonical).context("a stored study is damaged")?;
            parsed.insert(sha256_hex(canonical.as_bytes()), study);
        }
        for session in &known.sessions {
            let Some(study) = parsed.get(&session.study_hash) else {
                continue;
            };
            let progress: Progress = serde_json::from_str(&session.position).unwrap_or_default();
            let usual = study["study"]["language"].as_str().unwrap_or("en");
            let language = progress.chosen_language().unwrap_or(usual).to_owned();
            let key = (session.study_hash.clone(), language);
            if !questions.forms.contains_key(&key) {
                let forms = read_forms(study, &key.1);
                questions.forms.insert(key.clone(), forms);
            }
            questions.sessions.insert(session.id.clone(), key);
        }
        Ok(questions)
    }

    /// The question of an answer, and the answer in words.
    pub(super) fn find(&self, response: &Response) -> Asked {
        let value: Option<Value> = serde_json::from_str(&response.value).ok();
        let plain = match &value {
            Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            _ => Some(response.value.clone()),
        };
        let asked = Asked {
            value: plain,
            ..Asked::default()
        };
        let forms = self.sessions.get(&response.session);
        let forms = forms.and_then(|key| self.forms.get(key));
        let Some(form) = forms.and_then(|forms| forms.get(&response.stage)) else {
            return asked;
        };
        let mut pages = (0_u16..).zip(&form.pages);
        let found = pages.find_map(|(page, of)| {
            let item = of
                .items
                .iter()
                .find(|item| item.is_asked() && item.name == response.item)?;
            Some((page, item))
        });
        let Some((page, item)) = found else {
            return asked;
        };
        let is_nested = matches!(value, Some(Value::Object(_) | Value::Null) | None);
        let values = Values::from([(item.name.clone(), value.unwrap_or_default())]);
        let value_text = form.write_answer(&item.name, &values, WORDS);
        Asked {
            question: item.title.clone(),
            value_text: value_text.filter(|_| !is_nested).unwrap_or_default(),
            page: Some(page),
            item: Some(item.clone()),
            ..asked
        }
    }
}

impl Asked {
    /// The words of a part of a nested answer.
    pub(super) fn describe_part(&self, path: &str, value: &Value) -> PartWords {
        let words = self
            .item
            .as_ref()
            .and_then(|item| describe(item, path, value));
        words.unwrap_or_default()
    }
}

fn describe(item: &FormItem, path: &str, value: &Value) -> Option<PartWords> {
    let choices = match &item.kind {
        ItemKind::Matrix { columns, rows } => {
            let row = rows.iter().find(|row| key_of(&row.value) == path)?;
            let value_text = text_of(columns, value);
            let question = row.text.clone();
            return Some(PartWords {
                question,
                value_text,
            });
        }
        ItemKind::Parts(parts) => {
            let (name, left) = path.split_once('.').unwrap_or((path, ""));
            let part = parts.iter().find(|part| part.name == name)?;
            let words = match left {
                "" => text_of(choices_of(part), value),
                left => return describe(part, left, value),
            };
            return Some(PartWords {
                question: part.title.clone(),
                value_text: words,
            });
        }
        _ => choices_of(item),
    };
    Some(PartWords {
        question: String::new(),
        value_text: text_of(choices, value),
    })
}

fn choices_of(item: &FormItem) -> &[survey::ItemChoice] {
    match &item.kind {
        ItemKind::One(choices)
        | ItemKind::List(choices)
        | ItemKind::Ranking(choices)
        | ItemKind::Many { choices, .. } => choices,
        ItemKind::Rating { points, .. } => points,
        _ => &[],
    }
}

fn text_of(choices: &[survey::ItemChoice], value: &Value) -> String {
    let choice = choices.iter().find(|choice| choice.value == *value);
    let text = choice
        .map(|choice| choice.text.clone())
        .filter(|text| !text.is_empty());
    text.unwrap_or_else(|| key_of(value))
}

/// The forms and quizzes of a study, in a language.
fn read_forms(study: &Value, language: &str) -> Forms {
    let stages = study["timeline"].as_array().into_iter().flatten();
    let form = |stage: &Value| {
        let mut document = match (&stage["surveyjs"], &stage["items"]) {
            (Value::Null, Value::Array(items)) => quiz_document(items),
            (Value::Null, _) => return None,
            (document, _) => document.clone(),
        };
        choose_language(&mut document, language);
        Some((stage["id"].as_str()?.to_owned(), Form::of(&document)))
    };
    stages.filter_map(form).collect()
}

/// A quiz as a form.
fn quiz_document(items: &[Value]) -> Value {
    let element = |item: &Value| {
        serde_json::json!({
            "type": "radiogroup",
            "name": item["name"],
            "title": item["ask"],
            "choices": item["choices"],
        })
    };
    let elements: Vec<Value> = items.iter().map(element).collect();
    serde_json::json!({ "elements": elements })
}

/// Keeps one language of each text of a document, as pages do: texts in several languages are objects by language.
fn choose_language(value: &mut Value, language: &str) {
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| choose_language(item, language)),
        Value::Object(map) => {
            for (key, value) in map.iter_mut().filter(|(key, _)| *key != "defaultValue") {
                let is_text = TEXTS.contains(&key.as_str());
                match value {
                    Value::Object(texts) if is_text => {
                        let main = language.split('-').next().unwrap_or_default();
                        let tags = [language, main, "default", "en"];
                        let chosen = tags.iter().find_map(|tag| texts.get(*tag));
                        *value = chosen
                            .or(texts.values().next())
                            .cloned()
                            .unwrap_or_default();
                    }
                    // A text that is written as a number.
                    Value::Number(number) if is_text => *value = Value::String(number.to_string()),
                    inner => choose_language(inner, language),
                }
            }
        }
        _ => {}
    }
}
