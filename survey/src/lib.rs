//! Forms: the part of SurveyJS JSON that a study can ask, what of it is shown by the answers so far, and what is wrong
//! with an answer. Page and server ask the same code, so that nobody is let on by one and held by the other.
//!
//! A form is judged in the order of its document: what is not shown counts as not answered, and is not recorded.
//! Values have the shapes that SurveyJS gives, so that data read the same whoever rendered the form.
//!
//! This crate must not know how a form is drawn, nor where it comes from: it takes whatever JSON there is, and what it
//! does not know becomes a line of text. `study::survey` refuses such documents before anybody sees them.
//!
//! Source: the SurveyJS form library, JSON schema of version 2.

#![forbid(unsafe_code)]

mod check;
mod condition;
mod read;

use std::collections::BTreeMap;

use serde_json::Value;

pub use check::{Check, Pattern, Problem, Rule};
pub use condition::{Condition, Fault, MAX_LENGTH as MAX_CONDITION};

/// The most columns, rows or choices of an item; what is beyond is cut.
pub const MOST: usize = 200;

/// The longest text that a participant may answer, characters.
pub const MAX_ANSWER: usize = 10_000;

/// What the value of a choice is under which a text of one's own is asked for.
pub const OTHER: &str = "other";

/// What the value of a choice is that no other one goes with.
pub const NONE: &str = "none";

/// Answers by the name of their item.
pub type Values = BTreeMap<String, Value>;

/// One choice: the value recorded and the text shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// What is recorded.
    pub value: Value,
    /// What is shown; empty for the usual words for [`OTHER`] and [`NONE`].
    pub text: String,
    /// The picture that is shown with the text, or instead of it.
    pub picture: Option<Picture>,
}

/// A picture to choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Where it is.
    pub address: String,
    /// Whether the text stands below it; otherwise the text is for those who do not see it.
    pub labelled: bool,
}

/// What an item asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// One of several, shown one below the other.
    One(Vec<Choice>),
    /// One of several, shown as a list that opens.
    List(Vec<Choice>),
    /// Any of several.
    Many {
        /// The choices.
        choices: Vec<Choice>,
        /// Whether the choice [`NONE`] is among them, which goes with no other.
        none: bool,
    },
    /// A point on a scale.
    Rating {
        /// The points.
        points: Vec<Choice>,
        /// What the first point means.
        low: String,
        /// What the last point means.
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
        /// `text`, `number`, `email`, `date` and so on; a `range` is a [`Kind::Slider`].
        input: String,
    },
    /// Several lines of text.
    Lines,
    /// One choice of the same columns for each row.
    Matrix {
        /// The columns.
        columns: Vec<Choice>,
        /// The rows; the value is the name of the row.
        rows: Vec<Choice>,
    },
    /// A number on a line, or two of which the second is not below the first.
    Slider {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
        /// From number to number; above 0.
        step: f64,
        /// Whether it is two.
        range: bool,
    },
    /// All of several, in the person's order.
    Ranking(Vec<Choice>),
    /// Several questions under one; the value has a member for each that is answered.
    Parts(Vec<Item>),
    /// Sanitised HTML; asks nothing.
    Html(String),
    /// The title of a part of the page; asks nothing.
    Heading,
}

/// One item of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Name of its value.
    pub name: String,
    /// The question; empty for the usual words where [`OTHER`] asks for a text of one's own.
    pub title: String,
    /// A smaller text below the question.
    pub description: String,
    /// What stands in an empty field.
    pub placeholder: String,
    /// What it asks for.
    pub kind: Kind,
    /// Whether it must be answered.
    pub required: bool,
    /// When it must be answered, too.
    pub required_if: Option<Condition>,
    /// What is said if it is not answered; empty for the usual sentence.
    pub required_text: String,
    /// All of these must hold for it to be shown: its own, and those of what it stands in.
    pub visible_if: Vec<Condition>,
    /// When it can be answered; otherwise it is shown, and cannot be changed.
    pub enable_if: Option<Condition>,
    /// What its answer must fulfil beside being one.
    pub checks: Vec<Check>,
    /// The answer that is there before the person gives one.
    pub default: Option<Value>,
}

/// One page of a form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Title of the page; may be empty.
    pub title: String,
    /// The items.
    pub items: Vec<Item>,
}

/// A form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// Title of the form; may be empty.
    pub title: String,
    /// Text below it; may be empty.
    pub description: String,
    /// At least one page.
    pub pages: Vec<Page>,
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
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.pages.iter().flat_map(|page| &page.items)
    }

    /// The item of a name that asks for something.
    pub fn item(&self, name: &str) -> Option<&Item> {
        self.items().find(|item| item.asks() && item.name == name)
    }

    /// The answers that are there before the person gives any.
    pub fn defaults(&self) -> Values {
        let default = |item: &Item| Some((item.name.clone(), item.default.clone()?));
        self.items().filter_map(default).collect()
    }

    /// Which items of each page are shown, and the values of those that are.
    pub fn shown(&self, values: &Values) -> (Vec<Vec<bool>>, Values) {
        let mut kept = Values::new();
        let mut pages = Vec::new();
        for page in &self.pages {
            let mut shown = Vec::new();
            for item in &page.items {
                let is_shown = item.visible_if.iter().all(|when| when.holds(&kept));
                let value = values.get(&item.name).filter(|_| is_shown && item.asks());
                kept.extend(value.map(|value| (item.name.clone(), value.clone())));
                shown.push(is_shown);
            }
            pages.push(shown);
        }
        (pages, kept)
    }

    /// What is wrong on each page: the index of an item, and what.
    pub fn problems(&self, values: &Values) -> Vec<Vec<(usize, Problem)>> {
        let (shown, kept) = self.shown(values);
        let page = |(page, shown): (&Page, &Vec<bool>)| {
            let items = page.items.iter().zip(shown).enumerate();
            let shown = items.filter(|(_, (_, is_shown))| **is_shown);
            shown
                .filter_map(|(index, (item, _))| Some((index, item.problem(&kept)?)))
                .collect()
        };
        self.pages.iter().zip(&shown).map(page).collect()
    }
}

impl Item {
    /// Whether it asks for something.
    pub fn asks(&self) -> bool {
        !matches!(self.kind, Kind::Html(_) | Kind::Heading)
    }

    /// Whether it can be answered, by these values.
    pub fn is_enabled(&self, values: &Values) -> bool {
        self.enable_if
            .as_ref()
            .is_none_or(|when| when.holds(values))
    }

    /// The value that a text typed into the item means; none if it is empty.
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

    /// Whether its value is a number that is typed.
    pub fn is_number(&self) -> bool {
        matches!(&self.kind, Kind::Line { input } if input == "number")
    }
}

/// A value as the name of a member: matrix answers are objects keyed by row.
pub fn key_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
