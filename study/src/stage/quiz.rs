//! Questions that have right answers: a participant who gives them may continue.

use std::collections::{BTreeMap, BTreeSet};

use ::survey::key_of;
use protocol::control::Answer;
use serde::Serialize;
use serde_json::{Value, json};

use crate::folder::Source;
use crate::inset::{self, Braces, InsetScope};
use crate::limits::{MAX_QUIZ_ITEMS, MIN_QUIZ_CHOICES};
use crate::outcome::{self, Outcome};
use crate::read::{Cursor, Fields};
use crate::refusal::EventRefusal;
use crate::survey::Survey;
use crate::survey::insets::FormInsets;
use crate::text::{self, Text};

/// Questions that have right answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quiz {
    /// The questions; at least one.
    pub items: Vec<QuizQuestion>,
    /// The number of attempts.
    pub attempts: u8,
    /// The stage before, from which another attempt begins; `None` for the quiz itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_from: Option<String>,
    /// The outcome of those who have no attempt left.
    #[serde(rename = "else")]
    pub or_else: Outcome,
    /// The values that are set into its texts.
    #[serde(skip)]
    pub(crate) insets: FormInsets,
}

/// A question of a quiz.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuizQuestion {
    /// Its name in the data.
    pub name: String,
    /// The question.
    pub ask: Text,
    /// The choices.
    pub choices: Vec<QuizChoice>,
    /// The value of the right choice.
    pub answer: Value,
}

/// A choice of a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuizChoice {
    /// The recorded value.
    pub value: Value,
    /// The text that participants read.
    pub text: Text,
}

const DOC: &str = "Questions with right answers. All must be right in one attempt. The server checks them; the \
                   right answers are never sent to participants' pages.";

pub(super) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Quiz> {
    fields.about(DOC);
    let items = fields.key("items", "The questions.");
    let mut braces = Vec::new();
    let items = items.require_key(
        "[{name: soup, ask: …, choices: [1, 2], answer: 2}]",
        |place| questions(source, &place, &mut braces),
    );
    let mut insets = FormInsets::default();
    insets.extend(braces);
    let doc = "The number of attempts.";
    let attempts =
        (fields.key("attempts", doc)).or(1, |place| place.read_whole(1..=20, "attempts"));
    let doc = "The id of an earlier stage. After wrong answers, participants return to it before the next attempt. \
               Without this key, the quiz is shown again at once.";
    let retry_from = fields.key("retry_from", doc).maybe(|place| place.id());
    let doc = "The outcome of participants who use up their attempts.";
    let or_else = fields.key("else", doc);
    let or_else = or_else.or(Outcome::FailedQuiz, |place| outcome::read(&place));
    let (attempts, retry_from) = (attempts?, retry_from?);
    if attempts == 1 && retry_from.is_some() {
        let message =
            "never used, as there is one attempt; write `attempts: 2` or more, or remove it";
        fields.whole.wrong_at("retry_from", message);
        return None;
    }
    Some(Quiz {
        items: items?,
        attempts,
        retry_from,
        or_else: or_else?,
        insets,
    })
}

/// Reads the questions; adds the content of the braces in their texts.
fn questions(
    source: Source<'_>,
    place: &Cursor<'_>,
    braces: &mut Vec<Braces>,
) -> Option<Vec<QuizQuestion>> {
    let places = place.list("questions", MAX_QUIZ_ITEMS)?;
    let mut names = BTreeSet::new();
    let read: Vec<Option<QuizQuestion>> = (places.iter())
        .map(|place| question(source, place, &mut names, braces))
        .collect();
    read.into_iter().collect()
}

fn question(
    source: Source<'_>,
    place: &Cursor<'_>,
    names: &mut BTreeSet<String>,
    braces: &mut Vec<Braces>,
) -> Option<QuizQuestion> {
    let mut fields = place.fields("a question")?;
    let name = fields.key("name", "The name of the question in the data.");
    let name = name.require_key("soup", |place| {
        let name = place.id()?;
        let is_new = names.insert(name.clone());
        if !is_new {
            place.report_problem(format!("`{name}` is already the name of another question; names are the columns of the data"));
        }
        is_new.then_some(name)
    });
    let ask = fields.key("ask", "The question.");
    let ask = ask.require_key("\"How many onions make a soup?\"", |place| {
        text::read_with_values(&place, source.languages, 1_000, braces)
    });
    let doc = "The choices: words or numbers, or `{value: …, text: …}` with a text by language.";
    let choices = fields.key("choices", doc);
    let choices = choices.require_key("[1, 2, 3]", |place| choices_of(source, &place, braces));
    let answer = fields.key(
        "answer",
        "The right choice: its word or number, or its `value`.",
    );
    let answer = answer.require_key("3", |place| value(&place).map(|value| (value, place)));
    fields.done();
    let (choices, (answer, place)) = (choices?, answer?);
    if !choices.iter().any(|choice| choice.value == answer) {
        let known: Vec<String> = choices
            .iter()
            .map(|choice| choice.value.to_string())
            .collect();
        place.report_problem(format!(
            "{answer} is not one of the choices; write one of them: {}",
            known.join(", ")
        ));
        return None;
    }
    Some(QuizQuestion {
        name: name?,
        ask: ask?,
        choices,
        answer,
    })
}

fn choices_of(
    source: Source<'_>,
    place: &Cursor<'_>,
    braces: &mut Vec<Braces>,
) -> Option<Vec<QuizChoice>> {
    if place.item_count() == Some(1) {
        place.report_problem("one choice only, so nobody can be wrong; write at least two");
        return None;
    }
    let places = place.list_of("choices", MIN_QUIZ_CHOICES..=MAX_QUIZ_ITEMS)?;
    if place.may(false) {
        choice(source, &places[0], braces);
        return None;
    }
    let mut choices: Vec<QuizChoice> = Vec::new();
    for place in &places {
        let choice = choice(source, place, braces)?;
        if choices.iter().any(|other| other.value == choice.value) {
            place.report_problem(format!("{} is already another choice", choice.value));
            return None;
        }
        choices.push(choice);
    }
    Some(choices)
}

/// A word or number, or its `value` beside a `text`.
fn choice(source: Source<'_>, place: &Cursor<'_>, braces: &mut Vec<Braces>) -> Option<QuizChoice> {
    let block = place.may(place.is_block()).then(|| {
        let mut fields = place.fields("a choice")?;
        let value = fields
            .key("value", "The value in the data.")
            .require_key("ours", |place| value(&place));
        let text = fields.key("text", "The text that participants read.");
        let text = text.require_key("{en: ours, de: unsere}", |place| {
            text::read_with_values(&place, source.languages, 400, braces)
        });
        fields.done();
        Some(QuizChoice {
            value: value?,
            text: text?,
        })
    });
    let plain = place.may(!place.is_block()).then(|| {
        let value = value(place)?;
        let text = key_of(&value);
        // The value is data as it stands; a text beside it can change.
        inset::refuse_braces(place, &text);
        let text = Text::from(text.as_str());
        Some(QuizChoice { value, text })
    });
    plain.or(block).flatten()
}

/// A word or a number.
fn value(place: &Cursor<'_>) -> Option<Value> {
    place.text(400)?;
    Some(place.json()).filter(|value| !value.is_null())
}

impl Quiz {
    /// The quiz as a form: what pages show, in a language, without the right answers.
    pub fn form(&self, language: &str) -> Survey {
        let element = |question: &QuizQuestion| {
            let choice = |choice: &QuizChoice| json!({ "value": choice.value, "text": choice.text.in_language(language) });
            json!({
                "type": "radiogroup",
                "name": question.name,
                "title": question.ask.in_language(language),
                "choices": question.choices.iter().map(choice).collect::<Vec<_>>(),
                "isRequired": true,
            })
        };
        let right = |question: &QuizQuestion| (question.name.clone(), question.answer.clone());
        let elements: Vec<Value> = self.items.iter().map(element).collect();
        let surveyjs = json!({ "elements": elements });
        Survey::of(surveyjs, self.items.iter().map(right).collect())
    }

    /// The document that pages show, in a language, with the values of a participant.
    pub(crate) fn filled_form(&self, language: &str, scope: &InsetScope<'_>) -> Value {
        let mut document = self.form(language).surveyjs;
        self.insets.fill_in(&mut document, scope);
        document
    }

    /// Names of the questions that are answered wrong.
    ///
    /// # Errors
    /// A [`EventRefusal`] if these are not answers to all questions.
    pub fn list_wrong(&self, answers: &[Answer]) -> Result<Vec<&str>, EventRefusal> {
        self.form("").check(answers)?;
        let given: BTreeMap<&str, &str> = (answers.iter())
            .map(|answer| (answer.name.as_str(), answer.value.as_str()))
            .collect();
        let is_right = |question: &QuizQuestion| {
            let value = given.get(question.name.as_str());
            value
                .and_then(|value| serde_json::from_str::<Value>(value).ok())
                .as_ref()
                == Some(&question.answer)
        };
        let wrong = self.items.iter().filter(|question| !is_right(question));
        Ok(wrong.map(|question| question.name.as_str()).collect())
    }
}
