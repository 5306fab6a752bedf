//! Forms: the part of SurveyJS JSON that participants' pages show, checked when the study is loaded;
//! and the check of answers against it.
//!
//! Source: the SurveyJS form library, JSON schema of version 2.

pub(crate) mod insets;
pub(crate) mod read;

use std::collections::BTreeMap;

use ::survey::{AnswerProblem as Wrong, Form, Values, key_of};
use protocol::control::Answer;
use serde::Serialize;
use serde_json::Value;

use self::insets::FormInsets;
use crate::assign::Rng;
use crate::media::Media;
use crate::problem::Problem;
use crate::refusal::EventRefusal;

pub use ::survey::MAX_ANSWER;

/// A form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Survey {
    /// The SurveyJS document, its texts in every language that they have, its HTML sanitised.
    pub surveyjs: Value,
    /// The items that show whether people read the questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<Attention>,
    /// The form. It follows from the document.
    #[serde(skip)]
    pub form: Form,
    /// The right answers, by name of the item. Pages do not have them.
    #[serde(skip)]
    correct: BTreeMap<String, Value>,
    /// The pictures that it shows. The document names them by their hash.
    #[serde(skip)]
    pictures: Vec<Media>,
    /// Keys of the document that change nothing here.
    #[serde(skip)]
    unused: Vec<Problem>,
    /// The values that are set into its texts.
    #[serde(skip)]
    pub(crate) insets: FormInsets,
}

/// The items that show whether people read the questions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attention {
    /// Their names.
    pub items: Vec<String>,
    /// The use of the items.
    #[serde(rename = "use")]
    pub purpose: Purpose,
}

/// The use of an attention check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The data show who failed; nothing else happens.
    Flag,
}

/// The mark of an item that has a right answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Name of the item.
    pub item: String,
    /// True if the answer was right; a missing answer is not right.
    pub correct: bool,
    /// True if it shows that the person did not read: it is an item of `attention`, and not right.
    pub flag: bool,
}

/// In which order the choices or rows of an item were shown, that was drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownOrder {
    /// Name of the item.
    pub item: String,
    /// The values of its choices or rows, in that order: a list, JSON.
    pub order: String,
}

/// The keys whose values participants read.
pub(crate) const TEXTS: [&str; 16] = [
    "title",
    "description",
    "text",
    "labelTrue",
    "labelFalse",
    "minRateDescription",
    "maxRateDescription",
    "html",
    "placeholder",
    "requiredErrorText",
    "minErrorText",
    "maxErrorText",
    "noneText",
    "otherText",
    "otherPlaceholder",
    "otherErrorText",
];

/// Takes the text of one language where there are several, and leaves right answers out.
fn settle(value: &mut Value, language: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| settle(item, language)),
        Value::Object(map) => {
            map.remove("correctAnswer");
            for (key, value) in map.iter_mut() {
                // A value may have rows of any name.
                if key == "defaultValue" {
                    continue;
                }
                if !TEXTS.contains(&key.as_str()) {
                    settle(value, language);
                    continue;
                }
                if let Value::Object(texts) = value {
                    let main = language.split('-').next().unwrap_or_default();
                    let chosen = [language, main, "default", "en"]
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

/// Puts choices and rows into the order that the document wants; random orders are drawn, from a seed for each element.
/// Returns the drawn orders.
fn arrange(value: &mut Value, rng: &mut dyn FnMut() -> Rng) -> Vec<ShownOrder> {
    let mut drawn = Vec::new();
    let elements = match value {
        Value::Array(items) => {
            return items
                .iter_mut()
                .flat_map(|item| arrange(item, rng))
                .collect();
        }
        Value::Object(map) => map,
        _ => return drawn,
    };
    let name = elements.get("name").map(key_of);
    for (order, list) in [("choicesOrder", "choices"), ("rowOrder", "rows")] {
        let order = elements.remove(order);
        let Some(list) = elements.get_mut(list).and_then(Value::as_array_mut) else {
            continue;
        };
        let text = |choice: &Value| {
            let text = choice.get("text").or(choice.get("value")).unwrap_or(choice);
            key_of(text).to_lowercase()
        };
        match order.as_ref().and_then(Value::as_str) {
            Some("random") => {
                rng().shuffle(list);
                let value = |choice: &Value| choice.get("value").unwrap_or(choice).clone();
                drawn.extend(name.clone().map(|item| ShownOrder {
                    item,
                    order: list.iter().map(value).collect::<Value>().to_string(),
                }));
            }
            Some("asc") => list.sort_by_key(text),
            Some("desc") => {
                list.sort_by_key(text);
                list.reverse();
            }
            _ => {}
        }
    }
    for key in ["pages", "elements"] {
        let inner = elements.get_mut(key);
        drawn.extend(inner.into_iter().flat_map(|inner| arrange(inner, rng)));
    }
    drawn
}

/// Checks that answers are to questions of a form, each once; they need not be complete or right. Returns their values.
pub(crate) fn check_names(form: &Form, answers: &[Answer]) -> Result<Values, EventRefusal> {
    let mut values = Values::new();
    for answer in answers {
        let name = || answer.name.chars().take(60).collect();
        if form.item(&answer.name).is_none() {
            return Err(EventRefusal::UnknownItem { name: name() });
        }
        let Ok(value) = serde_json::from_str(&answer.value) else {
            return Err(EventRefusal::BadAnswer { name: name() });
        };
        if values.insert(answer.name.clone(), value).is_some() {
            return Err(EventRefusal::Twice { name: name() });
        }
    }
    Ok(values)
}

impl Survey {
    /// The form of a document that was checked.
    pub(crate) fn of(surveyjs: Value, correct: BTreeMap<String, Value>) -> Self {
        Self {
            form: Form::of(&surveyjs),
            surveyjs,
            attention: None,
            correct,
            pictures: Vec::new(),
            unused: Vec::new(),
            insets: FormInsets::default(),
        }
    }

    /// Names of its questions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let asking = self.form.items().filter(|item| item.is_asked());
        asking.map(|item| item.name.as_str())
    }

    /// The pictures that it shows.
    pub(crate) fn pictures(&self) -> &[Media] {
        &self.pictures
    }

    /// Keys of the document that change nothing here.
    pub(crate) fn unused(&self) -> &[Problem] {
        &self.unused
    }

    /// The document that pages show, in a language.
    pub fn in_language(&self, language: &str) -> Value {
        let mut document = self.surveyjs.clone();
        settle(&mut document, language);
        document
    }

    /// Returns the document in a language, with choices and rows in the order for one participant: `seed` is theirs,
    /// `position` is the position of the visit. The same arguments always give the same order. Also returns the drawn
    /// orders.
    pub fn arrange_form(
        &self,
        language: &str,
        seed: u64,
        position: u16,
    ) -> (Value, Vec<ShownOrder>) {
        let mut document = self.in_language(language);
        let mut number = 0;
        let mut next = || {
            number += 1;
            Rng::of(seed, &[ORDER, u64::from(position), number])
        };
        let drawn = arrange(&mut document, &mut next);
        (document, drawn)
    }

    /// Returns the marks of the items that have a right answer: those that are answered, and shown items of
    /// `attention`.
    pub fn mark_answers(&self, answers: &[Answer]) -> Vec<Mark> {
        let attention = self.attention.as_ref().map(|attention| &attention.items);
        let values = check_names(&self.form, answers).unwrap_or_default();
        let (shown, values) = self.form.shown_items(&values);
        let items = self.form.items().zip(shown.into_iter().flatten());
        let shown = items
            .filter(|(_, is_shown)| *is_shown)
            .map(|(item, _)| item);
        let mark = |item: &::survey::FormItem| {
            let right = self.correct.get(&item.name)?;
            let given = values.get(&item.name);
            let counts = attention.is_some_and(|items| items.contains(&item.name));
            let correct = given == Some(right);
            (given.is_some() || counts).then(|| Mark {
                item: item.name.clone(),
                correct,
                flag: counts && !correct,
            })
        };
        shown.filter_map(mark).collect()
    }

    /// The values of answers, each to a question that is shown.
    fn check_shown(&self, answers: &[Answer]) -> Result<Values, EventRefusal> {
        let values = check_names(&self.form, answers)?;
        let (_, kept) = self.form.shown_items(&values);
        let hidden = answers
            .iter()
            .find(|answer| !kept.contains_key(&answer.name));
        match hidden.map(|answer| answer.name.clone()) {
            Some(name) => Err(EventRefusal::Hidden { name }),
            None => Ok(kept),
        }
    }

    /// Checks the answers that are there when the time is up: names, kinds, and that only shown questions have answers.
    /// They need not be complete, nor follow the rules of the form.
    ///
    /// # Errors
    /// A [`EventRefusal`] with the name of the item.
    pub fn check_unfinished(&self, answers: &[Answer]) -> Result<(), EventRefusal> {
        let kept = self.check_shown(answers)?;
        let fitting = self.form.keep_fitting(&kept);
        match kept.into_keys().find(|name| !fitting.contains_key(name)) {
            Some(name) => Err(EventRefusal::BadAnswer { name }),
            None => Ok(()),
        }
    }

    /// The time limit for the answers, seconds; `None` for no limit.
    pub fn time_limit_s(&self) -> Option<u32> {
        self.form.time_limit_s
    }

    /// Returns the answers that are there before the participant gives any, as a page sends them.
    pub fn default_answers(&self) -> Vec<Answer> {
        let answer = |(name, value): (String, Value)| Answer {
            name,
            value: value.to_string(),
        };
        self.form.defaults().into_iter().map(answer).collect()
    }

    /// Checks answers against the form: names, values, that nothing is answered that was not asked, and that nothing
    /// required is missing. It is the check of the page.
    ///
    /// # Errors
    /// A [`EventRefusal`] with the name of the item.
    pub fn check(&self, answers: &[Answer]) -> Result<(), EventRefusal> {
        let kept = self.check_shown(answers)?;
        let pages = self.form.pages.iter().zip(self.form.list_problems(&kept));
        let problem = pages.into_iter().find_map(|(page, problems)| {
            let (item, problem) = problems.into_iter().next()?;
            Some((page.items.get(item)?.name.clone(), problem))
        });
        match problem {
            None => Ok(()),
            Some((name, Wrong::Unanswered | Wrong::UnansweredRow)) => {
                Err(EventRefusal::Missing { name })
            }
            Some((name, Wrong::Unfit | Wrong::NotANumber)) => Err(EventRefusal::BadAnswer { name }),
            Some((name, problem)) => Err(EventRefusal::Unfit {
                name,
                why: problem.to_string(),
            }),
        }
    }
}

/// Purpose of a generator: the orders of choices.
const ORDER: u64 = u64::from_le_bytes(*b"choices ");
