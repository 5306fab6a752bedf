//! The recorded transcript that replaces a language model in tests and rehearsals.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Answers that were recorded, or written by hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTranscript {
    /// The answers. Those with `if` come before those without.
    pub answers: Vec<RecordedAnswer>,
}

/// An answer of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedAnswer {
    /// A text that the person's last message must contain, whatever its case. Without it, the answer fits always.
    #[serde(rename = "if", default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// The answer: a text, or an object, which the model would write as JSON. `{{ factor }}` stands for the level of a
    /// factor, as in a prompt.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub answer: Value,
    /// In the place of an answer: how the request fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails: Option<RecordedFailure>,
    /// Time until it comes, milliseconds.
    #[serde(default = "usual_latency_ms")]
    pub latency_ms: u32,
    /// Tokens of the prompt.
    #[serde(default)]
    pub input_tokens: u32,
    /// Tokens of the answer.
    #[serde(default)]
    pub output_tokens: u32,
}

/// The way in which a request of a transcript fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedFailure {
    /// Nothing comes before the time is up.
    Timeout,
    /// The provider has a fault.
    Error,
}

fn usual_latency_ms() -> u32 {
    600
}

impl RecordedAnswer {
    /// The text of the answer.
    pub fn text(&self) -> String {
        match &self.answer {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            object => object.to_string(),
        }
    }
}

impl ModelTranscript {
    /// The answer to the request with this number, after this message of the person: the first whose `if` the message
    /// contains; else those without `if` take turns. `None` if no answer fits.
    pub fn find(&self, number: u32, message: &str) -> Option<&RecordedAnswer> {
        let message = message.to_lowercase();
        let fits = |answer: &&RecordedAnswer| {
            let contains = answer.contains.as_ref();
            contains
                .is_some_and(|text| !message.is_empty() && message.contains(&text.to_lowercase()))
        };
        let open = || {
            let open: Vec<_> = (self.answers.iter())
                .filter(|answer| answer.contains.is_none())
                .collect();
            let at = number as usize % open.len().max(1);
            open.get(at).copied()
        };
        self.answers.iter().find(fits).or_else(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_the_person_decides_and_the_others_take_turns() {
        let transcript: ModelTranscript = serde_json::from_str(
            r#"{"answers": [
                {"answer": "one"},
                {"if": "Plate", "answer": {"do": "fetch_plate"}, "latency_ms": 5},
                {"answer": "two"}
            ]}"#,
        )
        .unwrap();
        let text = |number, message: &str| transcript.find(number, message).unwrap().text();
        assert_eq!(text(0, "a plate, please"), r#"{"do":"fetch_plate"}"#);
        assert_eq!(
            [text(0, ""), text(1, "hm"), text(2, "")],
            ["one", "two", "one"]
        );
        let none: ModelTranscript = serde_json::from_str(r#"{"answers": []}"#).unwrap();
        assert_eq!(none.find(3, "x"), None);
        assert!(
            serde_json::from_str::<ModelTranscript>(r#"{"answers": [{"anser": "a"}]}"#).is_err()
        );
    }
}
