//! The answers to replays: what a page may send, and whether it is complete.

use protocol::control::Answer;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MarkTask, Watch};
use crate::limits::MAX_MARK_LENGTH;
use crate::refusal::EventRefusal;

/// The samples of a rating, as a page sends them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatingSamples {
    /// The tick of the first sample.
    pub first: u32,
    /// Ticks from sample to sample.
    pub every_ticks: u32,
    /// From 0 to 100; `None` before the first touch.
    pub values: Vec<Option<u8>>,
}

/// A span of a replay, as a page sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkedSpan {
    /// The first tick.
    pub first: u32,
    /// The last tick.
    pub end: u32,
    /// The value of its label; empty for none.
    #[serde(default)]
    pub label: String,
    /// The person's words.
    pub text: String,
}

/// The names of the answers.
const RATING: &str = "rating";
const MARKS: &str = "marks";
const CHOICE: &str = "choice";
const LEFT: &str = "left";
const MISSING: &str = "missing";

/// The choice of those who see no difference.
const SAME: &str = "same";

impl Watch {
    /// Checks the answers of a participant: all that is asked, or that a replay cannot be shown.
    ///
    /// # Errors
    /// A [`EventRefusal`] with the name of the answer.
    pub fn check(&self, answers: &[Answer]) -> Result<(), EventRefusal> {
        self.check_names(answers)?;
        if let [only] = answers
            && only.name == MISSING
        {
            return match parse(only)? {
                true => Ok(()),
                false => Err(bad(only)),
            };
        }
        let needs = [
            (RATING, self.rate.is_some()),
            (MARKS, self.mark.as_ref().is_some_and(|mark| mark.least > 0)),
            (CHOICE, self.choose.is_some()),
            (LEFT, self.choose.is_some()),
        ];
        let has = |name: &str| answers.iter().any(|answer| answer.name == name);
        if let Some((name, _)) = needs.iter().find(|(name, needed)| *needed && !has(name)) {
            let name = (*name).to_owned();
            return Err(EventRefusal::Missing { name });
        }
        answers
            .iter()
            .try_for_each(|answer| self.check_value(answer))
    }

    /// Checks a draft: only names, because a span may have no words yet.
    pub(crate) fn check_draft(&self, answers: &[Answer]) -> Result<(), EventRefusal> {
        self.check_names(answers)
    }

    fn check_names(&self, answers: &[Answer]) -> Result<(), EventRefusal> {
        for (at, answer) in answers.iter().enumerate() {
            let asked = match answer.name.as_str() {
                RATING => self.rate.is_some(),
                MARKS => self.mark.is_some(),
                CHOICE | LEFT => self.choose.is_some(),
                MISSING => answers.len() == 1,
                _ => false,
            };
            let name = answer.name.chars().take(60).collect();
            if !asked {
                return Err(EventRefusal::UnknownItem { name });
            }
            if answers[..at]
                .iter()
                .any(|before| before.name == answer.name)
            {
                return Err(EventRefusal::Twice { name });
            }
        }
        Ok(())
    }

    fn check_value(&self, answer: &Answer) -> Result<(), EventRefusal> {
        let count = self.clips.len() as u64;
        let is_right = match answer.name.as_str() {
            RATING => {
                let samples: RatingSamples = parse(answer)?;
                let fit = samples.values.iter().flatten().all(|value| *value <= 100);
                fit && samples.every_ticks > 0 && !samples.values.is_empty()
            }
            MARKS => {
                let spans: Vec<MarkedSpan> = parse(answer)?;
                let mark = self.mark.as_ref();
                mark.is_some_and(|mark| mark.takes(&spans))
            }
            LEFT => (1..=count).contains(&parse(answer)?),
            _ => match parse(answer)? {
                Value::String(word) => {
                    word == SAME && self.choose.as_ref().is_some_and(|choose| choose.tie)
                }
                Value::Number(number) => number
                    .as_u64()
                    .is_some_and(|number| (1..=count).contains(&number)),
                _ => false,
            },
        };
        match is_right {
            true => Ok(()),
            false => Err(bad(answer)),
        }
    }
}

impl MarkTask {
    /// Returns whether the spans are as many as asked for, each with words and a label of the study.
    fn takes(&self, spans: &[MarkedSpan]) -> bool {
        let fits = |span: &MarkedSpan| {
            let label = match self.labels.is_empty() {
                true => span.label.is_empty(),
                false => self.labels.iter().any(|label| label.value == span.label),
            };
            let length = span.text.chars().count();
            label && span.first <= span.end && (1..=MAX_MARK_LENGTH).contains(&length)
        };
        let count = usize::from(self.least)..=usize::from(self.most);
        count.contains(&spans.len()) && spans.iter().all(fits)
    }
}

fn parse<T: serde::de::DeserializeOwned>(answer: &Answer) -> Result<T, EventRefusal> {
    serde_json::from_str(&answer.value).map_err(|_| bad(answer))
}

fn bad(answer: &Answer) -> EventRefusal {
    let name = answer.name.clone();
    EventRefusal::BadAnswer { name }
}
