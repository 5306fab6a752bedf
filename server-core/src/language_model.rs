//! Requests to language models as plain data: their content, how an answer is read, and when a request is repeated.
//!
//! The shell sends them, with its key and its clock. The protocol is that of OpenAI's chat completions.

use serde_json::{Map, Value, json};

/// The longest body of an answer, bytes.
pub const MAX_BODY: usize = 256 << 10;

/// The longest text of an answer, characters.
const MAX_TEXT: usize = 16 << 10;

/// The first pause before a request is repeated, milliseconds; each later one is twice as long.
const PAUSE_MS: u64 = 500;

/// A request to a language model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRequest {
    /// Its number among those of the episode.
    pub number: u32,
    /// The address of the endpoint.
    pub url: String,
    /// The body, JSON.
    pub body: String,
    /// The time in which it must be answered, with all repetitions, milliseconds.
    pub timeout_ms: u32,
    /// The most repetitions.
    pub retries: u8,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReply {
    /// The answer.
    pub result: Result<Completion, ModelFailure>,
    /// The number of repetitions.
    pub retries: u8,
}

/// An answer of a language model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Its text.
    pub text: String,
    /// Tokens of the prompt, if the provider reports them.
    pub input_tokens: Option<u32>,
    /// Tokens of the answer, if the provider reports them.
    pub output_tokens: Option<u32>,
}

/// The reason why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFailure {
    /// Nothing came in time.
    Timeout,
    /// The endpoint cannot be reached.
    Unreachable,
    /// The endpoint is busy, or its limit on requests is reached.
    Busy,
    /// The endpoint answers with this status.
    Status(u16),
    /// The answer is no chat completion.
    Malformed,
    /// The answer is longer than [`MAX_BODY`].
    TooLong,
    /// Nobody asks providers here: it is a rehearsal.
    NotAsked,
}

impl ModelFailure {
    /// Its word in the data.
    pub fn reason_word(self) -> String {
        match self {
            Self::Timeout => "timeout".to_owned(),
            Self::Unreachable => "unreachable".to_owned(),
            Self::Busy => "busy".to_owned(),
            Self::Status(status) => format!("status_{status}"),
            Self::Malformed => "malformed".to_owned(),
            Self::TooLong => "too_long".to_owned(),
            Self::NotAsked => "not_asked".to_owned(),
        }
    }

    /// Returns whether a try that was sent and failed in this way may be billed: the provider may have computed
    /// something, and nobody says how much.
    pub fn may_be_billed(self) -> bool {
        match self {
            Self::Timeout | Self::Unreachable | Self::Malformed | Self::TooLong => true,
            Self::Status(status) => status >= 500,
            Self::Busy | Self::NotAsked => false,
        }
    }

    /// Returns whether a repetition can help.
    fn may_pass(self) -> bool {
        match self {
            Self::Unreachable | Self::Busy | Self::Malformed => true,
            Self::Status(status) => status >= 500,
            Self::Timeout | Self::TooLong | Self::NotAsked => false,
        }
    }
}

/// The body of a request.
pub fn write_body(
    model: &str,
    messages: &Value,
    max_tokens: u32,
    parameters: &Map<String, Value>,
) -> String {
    let mut body = parameters.clone();
    body.insert("model".to_owned(), json!(model));
    body.insert("messages".to_owned(), messages.clone());
    body.insert("max_tokens".to_owned(), json!(max_tokens));
    Value::Object(body).to_string()
}

/// Reads the response of an endpoint.
///
/// # Errors
/// [`ModelFailure`] if it is no answer.
pub fn read_response(status: u16, body: &[u8]) -> Result<Completion, ModelFailure> {
    match status {
        200..=299 => {}
        408 | 425 | 429 => return Err(ModelFailure::Busy),
        status => return Err(ModelFailure::Status(status)),
    }
    if body.len() > MAX_BODY {
        return Err(ModelFailure::TooLong);
    }
    let value: Value = serde_json::from_slice(body).map_err(|_| ModelFailure::Malformed)?;
    let text = value["choices"][0]["message"]["content"].as_str();
    let text: String = text
        .ok_or(ModelFailure::Malformed)?
        .chars()
        .take(MAX_TEXT)
        .collect();
    let tokens = |key: &str| {
        let count = value["usage"][key].as_u64()?;
        Some(u32::try_from(count).unwrap_or(u32::MAX))
    };
    Ok(Completion {
        text,
        input_tokens: tokens("prompt_tokens"),
        output_tokens: tokens("completion_tokens"),
    })
}

/// Returns the pause before a request is repeated, milliseconds; `None` if it is not. `tries` were made so far, the
/// endpoint may have asked for a pause, and this much time is left.
pub fn plan_retry(
    failure: ModelFailure,
    tries: u8,
    retries: u8,
    retry_after_ms: Option<u64>,
    left_ms: u64,
) -> Option<u64> {
    let may = failure.may_pass() && tries <= retries;
    let usual_ms = PAUSE_MS << u32::from(tries.saturating_sub(1)).min(6);
    let pause_ms = retry_after_ms.unwrap_or(usual_ms);
    (may && pause_ms < left_ms).then_some(pause_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_is_read_and_everything_else_has_its_failure() {
        let body = br#"{"choices": [{"message": {"role": "assistant", "content": "Hello"}}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3}}"#;
        let read = read_response(200, body).unwrap();
        assert_eq!(
            (read.text.as_str(), read.input_tokens, read.output_tokens),
            ("Hello", Some(12), Some(3))
        );
        assert_eq!(read_response(429, b""), Err(ModelFailure::Busy));
        assert_eq!(read_response(500, b"{}"), Err(ModelFailure::Status(500)));
        for odd in [
            &b"{"[..],
            b"{}",
            b"[]",
            br#"{"choices": [{"message": {"content": 4}}]}"#,
            b"\xff",
        ] {
            assert_eq!(read_response(200, odd), Err(ModelFailure::Malformed));
        }
        let long = vec![b' '; MAX_BODY + 1];
        assert_eq!(read_response(200, &long), Err(ModelFailure::TooLong));
    }

    #[test]
    fn a_request_is_repeated_as_long_as_that_can_help_and_time_is_left() {
        use ModelFailure::{Busy, Status, Timeout};
        assert_eq!(plan_retry(Busy, 1, 2, None, 9_000), Some(500));
        assert_eq!(plan_retry(Status(503), 2, 2, None, 9_000), Some(1_000));
        assert_eq!(plan_retry(Busy, 3, 2, None, 9_000), None, "often enough");
        assert_eq!(plan_retry(Busy, 1, 2, Some(3_000), 9_000), Some(3_000));
        assert_eq!(
            plan_retry(Busy, 1, 2, Some(30_000), 9_000),
            None,
            "too late"
        );
        assert_eq!(plan_retry(Status(401), 1, 2, None, 9_000), None);
        assert_eq!(plan_retry(Timeout, 1, 2, None, 9_000), None);
    }

    #[test]
    fn the_body_has_the_parameters_of_the_study_beside_its_own_keys() {
        let mut parameters = Map::new();
        parameters.insert("temperature".to_owned(), json!(0.2));
        let body = write_body("m", &json!([]), 50, &parameters);
        assert_eq!(
            body,
            r#"{"max_tokens":50,"messages":[],"model":"m","temperature":0.2}"#
        );
    }
}
