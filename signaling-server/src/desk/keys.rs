//! Keys for others: links for researchers, tokens for programs, and the list in which each can be revoked.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path as Part, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use store::desk_keys::{DeskRole, KeyKind};

use super::access::read_body;
use super::error::DeskError;
use super::state::{Desk, link_path};

/// A key that is wanted.
#[derive(Debug, Deserialize)]
pub(super) struct WantedKey {
    kind: KeyKind,
    name: String,
    role: DeskRole,
}

/// `GET /desk/api/keys`
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
) -> Result<Response, DeskError> {
    desk.require_role(&headers, DeskRole::Administer).await?;
    let keys = desk.keys.list(desk.now_s()).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(keys)).into_response())
}

/// `POST /desk/api/keys`
pub(super) async fn issue(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    body: Result<Json<WantedKey>, JsonRejection>,
) -> Result<Response, DeskError> {
    let own = desk.require_change(&headers, DeskRole::Administer).await?;
    let wanted = read_body(body)?;
    if wanted.kind == KeyKind::Session {
        let told = "a session begins when somebody opens a link; make a `link` or a `token`";
        return Err(DeskError::Malformed(told.to_owned()));
    }
    let made = (desk.keys).issue(wanted.kind, &wanted.name, wanted.role, desk.now_s());
    let (key, secret) = made.await?;
    let deed = format!(
        "made a {} for {} ({}), key {}",
        key.kind.name(),
        key.name,
        key.role.name(),
        key.id
    );
    desk.audit(&own, &deed).await?;
    let answer = match key.kind {
        KeyKind::Link => json!({ "key": key, "path": link_path(&secret) }),
        KeyKind::Session | KeyKind::Token => json!({ "key": key, "token": secret }),
    };
    let never = [(header::CACHE_CONTROL, "no-store")];
    Ok((StatusCode::CREATED, never, Json(answer)).into_response())
}

/// `DELETE /desk/api/keys/{id}`
pub(super) async fn revoke(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(id): Part<i64>,
) -> Result<Response, DeskError> {
    let own = desk.require_change(&headers, DeskRole::Administer).await?;
    if !desk.keys.revoke(id, desk.now_s()).await? {
        return Err(DeskError::UnknownKey(id));
    }
    desk.audit(&own, &format!("revoked key {id}")).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
