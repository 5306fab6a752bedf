//! Forms: the part of SurveyJS JSON that participants' pages show, checked when the study is loaded;
//! and the check of answers against it.
//!
//! Source: the SurveyJS form library, JSON schema of version 2.

use std::collections::BTreeSet;
use std::path::Path;

use protocol::control::Answer;
use serde::Serialize;
use serde_json::Value;

use crate::page;
use crate::problem::Report;
use crate::progress::Refusal;
use crate::read::{Fields, Place};
use crate::stage::MAX_VIEW;
use crate::yaml::{self, Data};

/// The most items of a form, and the most choices of an item.
const MOST: usize = 200;

/// The longest text that a participant may answer, characters.
pub const MAX_ANSWER: usize = 10_000;

/// A form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Survey {
    /// The SurveyJS document, in the study's language, its HTML sanitised.
    pub surveyjs: Value,
    /// What it asks, in order. Follows from the document.
    #[serde(skip)]
    pub items: Vec<Item>,
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
    },
}

#[derive(Clone, Copy)]
enum Type {
    One,
    Many,
    Rating,
    Boolean,
    Text,
    Comment,
    Html,
    Matrix,
}

const TYPES: [(&str, Type); 9] = [
    ("radiogroup", Type::One),
    ("dropdown", Type::One),
    ("checkbox", Type::Many),
    ("rating", Type::Rating),
    ("boolean", Type::Boolean),
    ("text", Type::Text),
    ("comment", Type::Comment),
    ("html", Type::Html),
    ("matrix", Type::Matrix),
];

/// Reads the fields of a survey stage.
pub(crate) fn read_stage(dir: &Path, language: &str, fields: &mut Fields<'_>) -> Option<Survey> {
    let title = fields.get("title");
    let title = title
        .map(|place| place.text(200))
        .map_or(Some(None), |title| title.map(Some));
    let (inline, file) = (fields.get("surveyjs"), fields.get("surveyjs_file"));
    let survey = match (inline, file) {
        (Some(place), None) => document(language, &place),
        (None, Some(place)) => in_file(dir, language, &place),
        (None, None) => {
            fields.whole.wrong("a survey needs its questions: write `surveyjs:` with `elements`, or `surveyjs_file: post.json`");
            None
        }
        (Some(_), Some(place)) => {
            place.wrong("both `surveyjs` and `surveyjs_file`; keep one of the two");
            None
        }
    };
    let (mut survey, title) = (survey?, title?);
    if let Some(title) = title {
        if survey.surveyjs.get("title").is_some() {
            fields.whole.wrong(
                "the stage and its surveyjs document both have a title; keep one of the two",
            );
            return None;
        }
        survey.surveyjs["title"] = Value::String(title);
    }
    Some(survey)
}

fn in_file(dir: &Path, language: &str, place: &Place<'_>) -> Option<Survey> {
    let file = place.text(200)?;
    let text = page::text(dir, place, &file, MAX_VIEW as u64, "post.json")?;
    let report = Report::new(&file);
    // JSON is read as the YAML that it is, because that reader knows the lines; JSON's own reader goes
    // first, because its rules are the stricter ones.
    let survey = match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
        Ok(_) => yaml::parse(&text, &report)
            .and_then(|node| document(language, &Place::root(&node, &report))),
        Err(error) => {
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            let at = crate::problem::At {
                line: number(error.line()),
                column: number(error.column()),
            };
            report.add(
                at,
                "",
                format!("this is not JSON: {error}; check its commas, quotes and brackets"),
            );
            None
        }
    };
    place.report.absorb(report);
    survey
}

/// Reads a document. Its JSON is given on with texts in the study's language and HTML sanitised.
fn document(language: &str, place: &Place<'_>) -> Option<Survey> {
    let mut fields = place.fields("a SurveyJS document")?;
    for key in ["title", "description"] {
        fields.get(key).map(|place| localised(&place));
    }
    let items = match fields.get("pages") {
        Some(pages) => {
            if let Some(elements) = fields.get("elements") {
                elements.wrong("both `pages` and `elements`; put the elements into a page");
            }
            pages
                .list("pages", 50)?
                .iter()
                .map(form_page)
                .collect::<Vec<_>>()
        }
        None => vec![
            fields
                .need("elements", "[{type: comment, name: thoughts, title: …}]")
                .and_then(|place| elements(&place)),
        ],
    };
    fields.done();
    let items: Vec<(Item, Place<'_>)> = items
        .into_iter()
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect();
    let mut names = BTreeSet::new();
    for (item, place) in &items {
        if !names.insert(&item.name) {
            place.wrong(format!(
                "`{}` is already the name of another element; names are the columns of the data",
                item.name
            ));
        }
    }
    let items = items.into_iter().map(|(item, _)| item).collect();
    let mut surveyjs = place.json();
    settle(&mut surveyjs, language);
    Some(Survey { surveyjs, items })
}

/// Items with the place of their name.
type Named<'a> = Vec<(Item, Place<'a>)>;

fn form_page<'a>(place: &Place<'a>) -> Option<Named<'a>> {
    let mut fields = place.fields("a page of the form")?;
    fields.get("name");
    for key in ["title", "description"] {
        fields.get(key).map(|place| localised(&place));
    }
    let items = fields
        .need("elements", "[{type: comment, name: thoughts}]")
        .and_then(|place| elements(&place));
    fields.done();
    items
}

fn elements<'a>(place: &Place<'a>) -> Option<Named<'a>> {
    let places = place.list("elements", MOST)?;
    let read: Vec<_> = places.iter().map(element).collect();
    Some(
        read.into_iter()
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect(),
    )
}

/// Reads an element; inside is none if it asks nothing.
fn element<'a>(place: &Place<'a>) -> Option<Option<(Item, Place<'a>)>> {
    let mut fields = place.fields("an element")?;
    let kind = fields
        .need("type", "radiogroup")
        .and_then(|place| place.word("element type", &TYPES));
    let named = fields.need("name", "thoughts");
    let name = named.as_ref().and_then(|place| place.text(60));
    let kind = kind?;
    for key in ["title", "description"] {
        fields.get(key).map(|place| localised(&place));
    }
    let required = fields.or("isRequired", false, |place| place.flag());
    let takes = match kind {
        Type::One => choices(&mut fields, "choices").map(Takes::One),
        Type::Many => choices(&mut fields, "choices").map(Takes::Many),
        Type::Rating => rating(&mut fields).map(Takes::One),
        Type::Boolean => {
            for key in ["labelTrue", "labelFalse"] {
                fields.get(key).map(|place| localised(&place));
            }
            Some(Takes::Flag)
        }
        Type::Text => input(&mut fields),
        Type::Comment => Some(Takes::Text),
        Type::Html => {
            fields
                .need("html", "\"<p>Nearly done.</p>\"")
                .map(|place| localised(&place));
            fields.done();
            return Some(None);
        }
        Type::Matrix => matrix(&mut fields),
    };
    fields.done();
    Some(Some((
        Item {
            name: name?,
            required: required?,
            takes: takes?,
        },
        named?,
    )))
}

/// Text, or text by language.
fn localised(place: &Place<'_>) -> Option<()> {
    if matches!(place.node.data, Data::Map(_)) {
        for (_, text) in place.entries("text by language")? {
            text.text(MAX_ANSWER)?;
        }
        return Some(());
    }
    place.text(MAX_ANSWER).map(|_| ())
}

fn choices(fields: &mut Fields<'_>, key: &'static str) -> Option<Vec<Value>> {
    let places = fields
        .need(key, "[{value: a, text: First}, {value: b, text: Second}]")?
        .list("choices", MOST)?;
    let mut values = Vec::new();
    for place in &places {
        let value = choice(place)?;
        if values.contains(&value) {
            place.wrong(format!(
                "the value {value} is already that of another choice"
            ));
            return None;
        }
        values.push(value);
    }
    Some(values)
}

/// The value of a choice: itself, or its `value` beside a `text`.
fn choice(place: &Place<'_>) -> Option<Value> {
    let value = match &place.node.data {
        Data::Map(_) => {
            let mut fields = place.fields("a choice")?;
            let value = fields.need("value", "a");
            fields.get("text").map(|place| localised(&place));
            fields.done();
            value?
        }
        _ => place.clone(),
    };
    if value.node.is_null() || matches!(value.node.data, Data::List(_) | Data::Map(_)) {
        value.wrong(format!(
            "expected a word or a number as the value of a choice, found {}",
            value.node.what()
        ));
        return None;
    }
    Some(value.json())
}

fn rating(fields: &mut Fields<'_>) -> Option<Vec<Value>> {
    for key in ["minRateDescription", "maxRateDescription"] {
        fields.get(key).map(|place| localised(&place));
    }
    let named = fields
        .get("rateValues")
        .is_some()
        .then(|| choices(fields, "rateValues"));
    let whole = |place: Place<'_>| place.whole(-1000..=1000, "");
    let min = fields.or("rateMin", 1i64, whole);
    let step = fields.or("rateStep", 1i64, |place| place.whole(1..=1000, ""));
    let count = fields.or("rateCount", 5i64, |place| place.whole(2..=100, ""));
    let top = fields.get("rateMax");
    let end = match &top {
        Some(place) => whole(place.clone()),
        None => min.zip(count).map(|(min, count)| min + count - 1),
    };
    if let Some(named) = named {
        return named;
    }
    let (min, end, step) = (min?, end?, step?);
    let points: Vec<Value> = (min..=end)
        .step_by(usize::try_from(step).unwrap_or(1))
        .map(Value::from)
        .collect();
    if points.len() < 2 || points.len() > 100 {
        let place = top.as_ref().unwrap_or(&fields.whole);
        place.wrong(format!(
            "a scale from {min} to {end} has {} points; there must be 2 to 100",
            points.len()
        ));
        return None;
    }
    Some(points)
}

fn input(fields: &mut Fields<'_>) -> Option<Takes> {
    let known = [
        ("text", false),
        ("number", true),
        ("email", false),
        ("tel", false),
        ("date", false),
        ("time", false),
    ];
    let number = fields.or("inputType", false, |place| place.word("input type", &known))?;
    Some(if number { Takes::Number } else { Takes::Text })
}

fn matrix(fields: &mut Fields<'_>) -> Option<Takes> {
    let (columns, rows) = (choices(fields, "columns"), choices(fields, "rows"));
    let (columns, rows) = (columns?, rows?);
    Some(Takes::Rows {
        rows: rows.iter().map(row_name).collect(),
        columns,
    })
}

/// A row as the name of a member of the answer.
fn row_name(row: &Value) -> String {
    row.as_str().map_or_else(|| row.to_string(), str::to_owned)
}

/// Takes the text of one language where there are several, and sanitises HTML.
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
                if let (true, Some(html)) = (key == "html", value.as_str()) {
                    *value = Value::String(page::sanitised(html));
                }
            }
        }
        _ => {}
    }
}

impl Survey {
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
            if item.required && item.incomplete(&value) {
                return Err(Refusal::Missing {
                    name: item.name.clone(),
                });
            }
        }
        match self
            .items
            .iter()
            .find(|item| item.required && !given.contains(item.name.as_str()))
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
            (Takes::Rows { rows, columns }, Value::Object(map)) => map
                .iter()
                .all(|(row, value)| rows.contains(row) && columns.contains(value)),
            _ => false,
        }
    }

    /// Whether a value of a required item leaves it unanswered.
    fn incomplete(&self, value: &Value) -> bool {
        match (&self.takes, value) {
            (Takes::Many(_), Value::Array(chosen)) => chosen.is_empty(),
            (Takes::Text, Value::String(text)) => text.trim().is_empty(),
            (Takes::Rows { rows, .. }, Value::Object(map)) => {
                rows.iter().any(|row| !map.contains_key(row))
            }
            _ => false,
        }
    }
}
