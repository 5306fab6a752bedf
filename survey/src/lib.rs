//! Forms: the part of SurveyJS JSON that a study can ask, what of it is shown by the answers so far, and what is wrong
//! with an answer. FormPage and server ask the same code, so that nobody is let on by one and held by the other.
//!
//! A form is judged in the order of its document: a hidden item counts as not answered, and is not recorded. Values
//! have the same shapes as in SurveyJS, so that data are the same whoever rendered the form.
//!
//! This crate must not know how a form is drawn, nor where it comes from: it takes any JSON, and unknown parts become a
//! line of text. `study::survey` refuses such documents before anybody sees them.
//!
//! Source: the SurveyJS form library, JSON schema of version 2.

#![forbid(unsafe_code)]

mod check;
mod condition;
mod fill;
mod read;

use std::collections::BTreeMap;

use serde_json::Value;

pub use check::{AnswerProblem, Check, Pattern, Rule};
pub use condition::{Condition, ConditionFault, MAX_LENGTH as MAX_CONDITION};
pub use fill::{AnswerWords, names_in_braces};

/// The most columns, rows or choices of an item; further ones are cut.
pub const MOST: usize = 200;

/// The longest text that a participant may answer, characters.
pub const MAX_ANSWER: usize = 10_000;

/// The value of the choice that asks for a text.
pub const OTHER: &str = "other";

/// The value of the choice that excludes all others.
pub const NONE: &str = "none";

/// The key of a document for its time limit, seconds.
pub const TIME_LIMIT: &str = "timeLimit";

/// Answers by the name of their item.
pub type Values = BTreeMap<String, Value>;

/// One choice: the value recorded and the text shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemChoice {
    /// The recorded value.
    pub value: Value,
    /// The text that is shown; empty for the usual words for [`OTHER`] and [`NONE`].
    pub text: String,
    /// The picture that is shown with the text, or instead of it.
    pub picture: Option<Picture>,
}

/// A picture to choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Where it is.
    pub address: String,
    /// True if the text is below it; otherwise the text is for people who do not see it.
    pub labelled: bool,
}

/// The kind of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// One of several, shown one below the other.
    One(Vec<ItemChoice>),
    /// One of several, shown as a list that opens.
    List(Vec<ItemChoice>),
    /// Any of several.
    Many {
        /// The choices.
        choices: Vec<ItemChoice>,
        /// True if the choice [`NONE`] is among them, which goes with no other.
        none: bool,
    },
    /// A point on a scale.
    Rating {
        /// The points.
        points: Vec<ItemChoice>,
        /// The label of the first point.
        low: String,
        /// The label of the last point.
        high: String,
    },
    /// Yes or no.
    Boolean {
        /// The text for yes; empty for the usual one.
        yes: String,
        /// The text for no; empty for the usual one.
        no: String,
    },
    /// A line of text of an HTML input type.
    Line {
        /// `text`, `number`, `email`, `date` and so on; a `range` is a [`ItemKind::Slider`].
        input: String,
    },
    /// Several lines of text.
    Lines,
    /// One choice of the same columns for each row.
    Matrix {
        /// The columns.
        columns: Vec<ItemChoice>,
        /// The rows; the value is the name of the row.
        rows: Vec<ItemChoice>,
    },
    /// A number on a line, or two of which the second is not below the first.
    Slider {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
        /// From number to number; above 0.
        step: f64,
        /// True if it is two.
        range: bool,
    },
    /// All of several, in the person's order.
    Ranking(Vec<ItemChoice>),
    /// Several questions under one; the value has a member for each that is answered.
    Parts(Vec<FormItem>),
    /// Sanitised HTML; asks nothing.
    Html(String),
    /// The title of a part of the page; asks nothing.
    Heading,
}

/// One item of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct FormItem {
    /// Name of its value.
    pub name: String,
    /// The question; empty for the usual words if [`OTHER`] asks for a free text.
    pub title: String,
    /// A smaller text below the question.
    pub description: String,
    /// The hint in an empty field.
    pub placeholder: String,
    /// The kind of the item.
    pub kind: ItemKind,
    /// True if it must be answered.
    pub required: bool,
    /// When it must be answered, too.
    pub required_if: Option<Condition>,
    /// The message if it is not answered; empty for the usual sentence.
    pub required_text: String,
    /// All of these must hold for it to be shown: its own, and those of the elements around it.
    pub visible_if: Vec<Condition>,
    /// When it can be answered; otherwise it is shown, and cannot be changed.
    pub enable_if: Option<Condition>,
    /// The rules for its answer.
    pub checks: Vec<Check>,
    /// The answer that is there before the person gives one.
    pub default: Option<Value>,
}

/// One page of a form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FormPage {
    /// Title of the page; may be empty.
    pub title: String,
    /// The items.
    pub items: Vec<FormItem>,
}

/// A form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// Title of the form; may be empty.
    pub title: String,
    /// Text below it; may be empty.
    pub description: String,
    /// At least one page.
    pub pages: Vec<FormPage>,
    /// The time limit for the answers, seconds; `None` for no limit.
    pub time_limit_s: Option<u32>,
}

impl Form {
    /// Reads a form from the text of a document.
    ///
    /// # Errors
    /// The message of the JSON reader.
    pub fn read(json: &str) -> Result<Self, String> {
        let root: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
        Ok(Self::of(&root))
    }

    /// Every item, page by page.
    pub fn items(&self) -> impl Iterator<Item = &FormItem> {
        self.pages.iter().flat_map(|page| &page.items)
    }

    /// The item of a name that asks for something.
    pub fn item(&self, name: &str) -> Option<&FormItem> {
        self.items()
            .find(|item| item.is_asked() && item.name == name)
    }

    /// The answers that are there before the person gives any.
    pub fn defaults(&self) -> Values {
        let default = |item: &FormItem| Some((item.name.clone(), item.default.clone()?));
        self.items().filter_map(default).collect()
    }

    /// Returns which items of each page are shown, and the values of the shown ones.
    pub fn shown_items(&self, values: &Values) -> (Vec<Vec<bool>>, Values) {
        let mut kept = Values::new();
        let mut pages = Vec::new();
        for page in &self.pages {
            let mut shown = Vec::new();
            for item in &page.items {
                let is_shown = item.visible_if.iter().all(|when| when.holds(&kept));
                let value = values
                    .get(&item.name)
                    .filter(|_| is_shown && item.is_asked());
                kept.extend(value.map(|value| (item.name.clone(), value.clone())));
                shown.push(is_shown);
            }
            pages.push(shown);
        }
        (pages, kept)
    }

    /// Returns the values of shown items that are of the right kind, complete or not: they count when the time is up.
    pub fn keep_fitting(&self, values: &Values) -> Values {
        let fits = |(name, value): &(&String, &Value)| {
            self.item(name).is_some_and(|item| item.is_taken(value))
        };
        let fitting = values.iter().filter(fits);
        let fitting = fitting.map(|(name, value)| (name.clone(), value.clone()));
        self.shown_items(&fitting.collect()).1
    }

    /// The problems on each page: the index of an item, and its problem.
    pub fn list_problems(&self, values: &Values) -> Vec<Vec<(usize, AnswerProblem)>> {
        let (shown, kept) = self.shown_items(values);
        let page = |(page, shown): (&FormPage, &Vec<bool>)| {
            let items = page.items.iter().zip(shown).enumerate();
            let shown = items.filter(|(_, (_, is_shown))| **is_shown);
            shown
                .filter_map(|(index, (item, _))| Some((index, item.find_problem(&kept)?)))
                .collect()
        };
        self.pages.iter().zip(&shown).map(page).collect()
    }
}

impl FormItem {
    /// Returns whether it asks for something.
    pub fn is_asked(&self) -> bool {
        !matches!(self.kind, ItemKind::Html(_) | ItemKind::Heading)
    }

    /// Returns whether it can be answered, by these values.
    pub fn is_enabled(&self, values: &Values) -> bool {
        self.enable_if
            .as_ref()
            .is_none_or(|when| when.holds(values))
    }

    /// Returns the meaning of a text that is typed into the item; `None` if it is empty.
    pub fn value_of(&self, typed: &str) -> Option<Value> {
        let typed = typed.trim();
        if typed.is_empty() {
            return None;
        }
        let number = self.is_number();
        let parsed = typed.parse::<f64>().ok().filter(|_| number);
        Some(match (typed.parse::<i64>(), parsed) {
            (Ok(whole), Some(_)) => Value::from(whole),
            (_, Some(float)) => Value::from(float),
            _ => Value::from(typed),
        })
    }

    /// Returns whether its value is a number that is typed.
    pub fn is_number(&self) -> bool {
        matches!(&self.kind, ItemKind::Line { input } if input == "number")
    }
}

/// A value as the name of a member: matrix answers are objects keyed by row.
pub fn key_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
