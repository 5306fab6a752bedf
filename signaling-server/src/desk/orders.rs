//! Orders: from a request to the arbiter, and its answer back.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path as Part, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use server_core::desk::{BonusChange, DeskOrder, RecruitmentState};
use store::PayState;
use store::desk_keys::DeskRole;
use study::Outcome;
use tokio::sync::oneshot;

use super::access::read_body;
use super::call::DeskCall;
use super::error::DeskError;
use super::state::Desk;

/// The time that an order may take to become durable before its sender is asked to look later.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most letters of a reason.
const LONGEST_REASON: usize = 200;

pub(super) type Answer = Result<Json<Value>, DeskError>;

impl Desk {
    /// Lets an order be carried out; returns once its changes are durable.
    pub(super) async fn carry_out(&self, headers: &HeaderMap, order: DeskOrder) -> Answer {
        let key = self.require_change(headers, DeskRole::Act).await?;
        let name = order.name();
        self.send_order(key.name, order).await?;
        self.look_again().await;
        Ok(Json(json!({ "done": name })))
    }

    /// Lets an order of an authorised researcher be carried out; returns once its changes are durable.
    ///
    /// # Errors
    /// A sentence, if it is refused.
    pub async fn give_order(&self, by: &str, order: DeskOrder) -> anyhow::Result<()> {
        let done = self.send_order(by.to_owned(), order).await;
        Ok(done?)
    }

    async fn send_order(&self, by: String, order: DeskOrder) -> Result<(), DeskError> {
        let (answer, answered) = oneshot::channel();
        let call = DeskCall::Order { by, order, answer };
        (self.parts.calls.send(call).await).map_err(|_| DeskError::Away)?;
        let done = tokio::time::timeout(PATIENCE, answered).await;
        done.map_err(|_| DeskError::Away)?
            .map_err(|_| DeskError::Away)??;
        Ok(())
    }

    /// Tells if the payment of somebody is marked as paid.
    async fn is_paid(&self, participant: &str) -> Result<bool, DeskError> {
        let payments = self.store.list_payments().await?;
        let mut own = payments.iter().filter(|it| it.participant == participant);
        Ok(own.any(|payment| payment.state == PayState::Paid))
    }
}

/// `GET /desk/api/interventions`
pub(super) async fn list_interventions(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
) -> Result<Response, DeskError> {
    desk.require_role(&headers, DeskRole::Look).await?;
    let done = desk.store.list_interventions().await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(done)).into_response())
}

/// A state of recruitment that is wanted.
#[derive(Debug, Deserialize)]
pub(super) struct WantedRecruitment {
    state: RecruitmentState,
}

/// `POST /desk/api/recruitment`
pub(super) async fn set_recruitment(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    body: Result<Json<WantedRecruitment>, JsonRejection>,
) -> Answer {
    let order = read_body(body).map(|wanted| DeskOrder::SetRecruitment(wanted.state));
    desk.carry_out(&headers, order?).await
}

/// Places that are wanted.
#[derive(Debug, Deserialize)]
pub(super) struct WantedPlaces {
    /// One number in all, or one for each treatment.
    places: Vec<u32>,
}

/// `POST /desk/api/places`
pub(super) async fn set_places(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    body: Result<Json<WantedPlaces>, JsonRejection>,
) -> Answer {
    let order = read_body(body).map(|wanted| DeskOrder::SetPlaces(wanted.places));
    desk.carry_out(&headers, order?).await
}

/// The wanted course of somebody's wait.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WaitChange {
    Longer,
    Alone,
}

/// A change of somebody's wait.
#[derive(Debug, Deserialize)]
pub(super) struct WantedWait {
    then: WaitChange,
}

/// `POST /desk/api/participants/{participant}/wait`
pub(super) async fn change_wait(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(participant): Part<String>,
    body: Result<Json<WantedWait>, JsonRejection>,
) -> Answer {
    let order = match read_body(body)?.then {
        WaitChange::Longer => DeskOrder::WaitLonger { participant },
        WaitChange::Alone => DeskOrder::ContinueAlone { participant },
    };
    desk.carry_out(&headers, order).await
}

/// Another room of a lobby for somebody.
#[derive(Debug, Deserialize)]
pub(super) struct WantedRoom {
    /// The levels that its people share, with slashes between.
    room: String,
}

/// `POST /desk/api/participants/{participant}/room`
pub(super) async fn move_to_room(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(participant): Part<String>,
    body: Result<Json<WantedRoom>, JsonRejection>,
) -> Answer {
    let room = read_body(body)?.room;
    let order = DeskOrder::MoveToRoom { participant, room };
    desk.carry_out(&headers, order).await
}

/// The wanted end of somebody's session.
#[derive(Debug, Deserialize)]
pub(super) struct WantedEnd {
    outcome: Outcome,
}

/// `POST /desk/api/participants/{participant}/end`
pub(super) async fn end_session(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(participant): Part<String>,
    body: Result<Json<WantedEnd>, JsonRejection>,
) -> Answer {
    let outcome = read_body(body)?.outcome;
    let order = DeskOrder::EndSession {
        participant,
        outcome,
    };
    desk.carry_out(&headers, order).await
}

/// Returns the reason of a change as it is stored, or its fault.
fn read_reason(reason: &str) -> Result<String, DeskError> {
    let reason = reason.trim().to_owned();
    let is_fit = !reason.is_empty()
        && reason.chars().count() <= LONGEST_REASON
        && !reason.contains(char::is_control);
    match is_fit {
        true => Ok(reason),
        false => Err(DeskError::Malformed(format!(
            "`reason` is empty, longer than {LONGEST_REASON} letters, or has control characters; say in one line why the \
             bonus changes"
        ))),
    }
}

/// The wanted end of a session whose seat goes to an AI partner.
#[derive(Debug, Deserialize)]
pub(super) struct WantedGift {
    outcome: Outcome,
    /// In the smallest unit of the currency; `None` for the bonus of the outcome.
    bonus: Option<u64>,
    #[serde(default)]
    reason: String,
}

/// `POST /desk/api/participants/{participant}/seat`
pub(super) async fn give_seat(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(participant): Part<String>,
    body: Result<Json<WantedGift>, JsonRejection>,
) -> Answer {
    let wanted = read_body(body)?;
    let bonus = wanted.bonus.map(|bonus| {
        let reason = read_reason(&wanted.reason)?;
        Ok::<_, DeskError>(BonusChange { bonus, reason })
    });
    let order = DeskOrder::GiveSeat {
        participant,
        outcome: wanted.outcome,
        bonus: bonus.transpose()?,
    };
    desk.carry_out(&headers, order).await
}

/// Another bonus for somebody.
#[derive(Debug, Deserialize)]
pub(super) struct WantedBonus {
    /// In the smallest unit of the currency.
    bonus: u64,
    reason: String,
}

/// `POST /desk/api/participants/{participant}/bonus`
pub(super) async fn correct_bonus(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(participant): Part<String>,
    body: Result<Json<WantedBonus>, JsonRejection>,
) -> Answer {
    desk.require_change(&headers, DeskRole::Act).await?;
    let wanted = read_body(body)?;
    let reason = read_reason(&wanted.reason)?;
    if desk.is_paid(&participant).await? {
        return Err(DeskError::Paid(participant));
    }
    let order = DeskOrder::CorrectBonus {
        participant: participant.clone(),
        bonus: wanted.bonus,
        reason,
    };
    let done = desk.carry_out(&headers, order).await?;
    // It may have been marked between the two.
    match desk.is_paid(&participant).await? {
        true => Err(DeskError::Paid(participant)),
        false => Ok(done),
    }
}
