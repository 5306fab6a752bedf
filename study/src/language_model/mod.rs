//! A language model of the study: an AI partner that writes messages, and may give directives to the policy of its
//! seat. In the file: `language_model` of one of `partners`.
//!
//! The study says where it is, when it is asked, with which words, and what it may cost. Its key is not part of the
//! study.

pub(crate) mod read;
mod transcript;

use serde::Serialize;
use serde_json::{Map, Value};

pub use transcript::{ModelTranscript, RecordedAnswer, RecordedFailure};

/// A language model that takes part in a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LanguageModel {
    /// The name of the partner in the study file.
    pub name: String,
    /// The name that participants read.
    pub shown_as: String,
    /// The source of its answers.
    #[serde(flatten)]
    pub provider: ModelProvider,
    /// The name of the model, as its provider has it.
    pub model: String,
    /// The text that it gets before anything else; may refer to names of the study.
    pub prompt: String,
    /// Further keys of the request, such as `temperature`.
    pub parameters: Map<String, Value>,
    /// The most tokens of an answer.
    pub max_tokens: u32,
    /// The times at which it is asked.
    #[serde(flatten)]
    pub schedule: AskSchedule,
    /// Seconds after which a request has failed, with all that are repeated.
    pub timeout_s: u16,
    /// The most repetitions of a request.
    pub retries: u8,
    /// The way in which its messages are shown.
    #[serde(flatten)]
    pub style: WritingStyle,
    /// The stand-in for an answer that does not come.
    pub fallback: Fallback,
    /// The price of its tokens; without one, its requests cost nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrice>,
    /// Its limits on requests and cost.
    pub limits: SpendingLimits,
}

/// The source of the answers of a language model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "provider", rename_all = "snake_case")]
pub enum ModelProvider {
    /// An endpoint that speaks the protocol of OpenAI's chat completions.
    OpenAi {
        /// Its address, up to `/chat/completions`.
        url: String,
    },
    /// A recorded transcript.
    Mock {
        /// The transcript.
        transcript: ModelTranscript,
    },
}

/// The times at which a language model is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AskSchedule {
    /// True if it is asked when an episode begins.
    pub at_start: bool,
    /// True if it is asked when the person has written something.
    pub on_message: bool,
    /// Seconds from one question to the next, if it is also asked by time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u16>,
}

/// The way in which the messages of a language model are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WritingStyle {
    /// The longest message, characters; a longer one is cut.
    pub max_length: u16,
    /// The delay before a message is shown, milliseconds for each of its characters.
    pub typing_ms: u16,
    /// The longest such delay, seconds.
    pub typing_max_s: u16,
}

/// The stand-in for an answer that does not come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fallback {
    /// A message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// A directive for the policy of its seat.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    pub directive: Option<String>,
}

/// The price of tokens, in units of a currency for a million of them. That is a millionth of the unit for each token.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TokenPrice {
    /// For tokens of a prompt.
    pub input: f64,
    /// For tokens of an answer.
    pub output: f64,
}

/// The limits of a language model on requests and cost, in the currency of its price.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpendingLimits {
    /// The most requests of an episode, repetitions apart.
    pub requests: u16,
    /// The most that a session may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_cost: Option<f64>,
    /// The most that it may cost in the whole study.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub study_cost: Option<f64>,
}

impl TokenPrice {
    /// The cost of tokens, rounded up, millionths of the unit of the currency.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices and counts are bounded"
    )]
    pub fn cost_micro(&self, input_tokens: u32, output_tokens: u32) -> u64 {
        let exact = f64::from(input_tokens) * self.input + f64::from(output_tokens) * self.output;
        let whole = exact as u64;
        whole + u64::from((whole as f64) < exact)
    }
}

impl SpendingLimits {
    /// A limit, millionths of the unit of the currency.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "limits are bounded"
    )]
    pub fn as_micro(limit: Option<f64>) -> Option<u64> {
        limit.map(|limit| (limit * 1_000_000.0) as u64)
    }
}

impl LanguageModel {
    /// The most that a request can cost whose prompt has this many bytes: no token has less than a byte.
    pub fn most_cost_micro(&self, prompt_len: usize) -> u64 {
        let len = u32::try_from(prompt_len).unwrap_or(u32::MAX);
        (self.price).map_or(0, |price| price.cost_micro(len, self.max_tokens))
    }

    /// The delay before a message is shown, microseconds.
    pub fn typing_us(&self, message: &str) -> u64 {
        let style = &self.style;
        let length = message.chars().count() as u64;
        let all_us = length * u64::from(style.typing_ms) * 1_000;
        all_us.min(u64::from(style.typing_max_s) * 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_rounded_up() {
        let price = TokenPrice {
            input: 0.15,
            output: 0.6,
        };
        assert_eq!(price.cost_micro(0, 0), 0);
        assert_eq!(price.cost_micro(1_000_000, 0), 150_000);
        assert_eq!(price.cost_micro(1, 0), 1);
        assert_eq!(price.cost_micro(100, 10), 21);
    }
}
