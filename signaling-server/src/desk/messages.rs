//! Messages between researchers and participants: texts, reads, and questions.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path as Part, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use server_core::desk::{Audience, CheckText, DeskMessageText, DeskOrder, clean_desk_text};
use store::DeskMessage;
use store::desk_keys::DeskRole;

use super::access::read_body;
use super::error::DeskError;
use super::orders::Answer;
use super::state::Desk;

/// A message as it is shown.
#[derive(Debug, Serialize)]
struct ShownMessage {
    participant: String,
    number: u32,
    /// The name of the researcher; empty if the participant wrote it.
    by: String,
    audience: String,
    stage: String,
    episode: Option<String>,
    at_us: u64,
    text: String,
    read_us: Option<u64>,
    check: Option<ShownCheck>,
}

/// A question as it is shown.
#[derive(Debug, Serialize)]
struct ShownCheck {
    choices: Vec<String>,
    expected: String,
    within_s: u16,
    answer: Option<String>,
    answered_us: Option<u64>,
    /// True if the answer is the right one; `None` if there is no right one.
    correct: Option<bool>,
}

impl From<DeskMessage> for ShownMessage {
    fn from(message: DeskMessage) -> Self {
        let row = message.row;
        Self {
            participant: row.participant,
            number: row.number,
            by: row.by,
            audience: row.audience,
            stage: message.stage,
            episode: row.episode,
            at_us: row.at_us,
            text: row.text,
            read_us: row.read_us,
            check: row.check.map(|check| {
                let correct = check.is_right();
                let (answer, answered_us) = check.answer.unzip();
                ShownCheck {
                    choices: check.choices,
                    expected: check.expected,
                    within_s: check.within_s,
                    answer,
                    answered_us,
                    correct,
                }
            }),
        }
    }
}

impl Desk {
    async fn show_messages(
        &self,
        headers: &HeaderMap,
        of: Option<&str>,
    ) -> Result<Response, DeskError> {
        self.require_role(headers, DeskRole::Look).await?;
        let found = self.store.desk_messages(of).await?.into_iter();
        let shown: Vec<ShownMessage> = found.map(ShownMessage::from).collect();
        Ok(([(header::CACHE_CONTROL, "no-store")], Json(shown)).into_response())
    }

    async fn write_message(
        &self,
        headers: &HeaderMap,
        to: Audience,
        text: String,
        check: Option<CheckText>,
    ) -> Answer {
        // The arbiter reports the fault of an invisible text.
        let text = clean_desk_text(&text).unwrap_or_default();
        let message = DeskMessageText { text, check };
        self.carry_out(headers, DeskOrder::WriteMessage { to, message })
            .await
    }
}

/// `GET /desk/api/messages`
pub(super) async fn list_all(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
) -> Result<Response, DeskError> {
    desk.show_messages(&headers, None).await
}

/// `GET /desk/api/participants/{participant}/messages`
pub(super) async fn list_of(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(participant): Part<String>,
) -> Result<Response, DeskError> {
    desk.show_messages(&headers, Some(&participant)).await
}

/// A message to write.
#[derive(Debug, Deserialize)]
pub(super) struct WantedMessage {
    text: String,
}

/// `POST /desk/api/messages`
pub(super) async fn write_to_everybody(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    body: Result<Json<WantedMessage>, JsonRejection>,
) -> Answer {
    let text = read_body(body)?.text;
    desk.write_message(&headers, Audience::Everybody, text, None)
        .await
}

/// `POST /desk/api/groups/{group}/messages`
pub(super) async fn write_to_group(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(group): Part<String>,
    body: Result<Json<WantedMessage>, JsonRejection>,
) -> Answer {
    let text = read_body(body)?.text;
    desk.write_message(&headers, Audience::Group(group), text, None)
        .await
}

/// `POST /desk/api/participants/{participant}/messages`
pub(super) async fn write_to_participant(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(participant): Part<String>,
    body: Result<Json<WantedMessage>, JsonRejection>,
) -> Answer {
    let text = read_body(body)?.text;
    desk.write_message(&headers, Audience::Participant(participant), text, None)
        .await
}

/// A question to ask.
#[derive(Debug, Deserialize)]
pub(super) struct WantedCheck {
    text: String,
    #[serde(flatten)]
    check: CheckText,
}

/// `POST /desk/api/participants/{participant}/check`
pub(super) async fn check_attention(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(participant): Part<String>,
    body: Result<Json<WantedCheck>, JsonRejection>,
) -> Answer {
    let WantedCheck { text, check } = read_body(body)?;
    let to = Audience::Participant(participant);
    desk.write_message(&headers, to, text, Some(check)).await
}

/// The messages of a participant that were read.
#[derive(Debug, Deserialize)]
pub(super) struct ReadMessages {
    /// Those before this number.
    before: u32,
}

/// `POST /desk/api/participants/{participant}/messages/read`
pub(super) async fn mark_read(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(participant): Part<String>,
    body: Result<Json<ReadMessages>, JsonRejection>,
) -> Answer {
    let before = read_body(body)?.before;
    let order = DeskOrder::ReadMessages {
        participant,
        before,
    };
    desk.carry_out(&headers, order).await
}
