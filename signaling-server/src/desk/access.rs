//! The sender of a request: browsers are known by a cookie that no script can read and no other site can send, programs by a token.

use std::pin::Pin;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use store::desk_keys::{DeskKey, DeskRole, KeyKind, SESSION_S};

use crate::replays::SignIns;

use super::error::DeskError;
use super::state::Desk;

/// The cookie of a session.
const COOKIE: &str = "coplay_desk";

/// The header by which the page shows that a change comes from it: another site cannot send it.
const OWN_PAGE: &str = "x-coplay-desk";

/// The command that the audit trail names for the dashboard.
const COMMAND: &str = "desk";

/// The secret of a request.
enum Secret<'a> {
    Session(&'a str),
    Token(&'a str),
}

fn find_secret(headers: &HeaderMap) -> Option<Secret<'_>> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    // A proxy before the server may have its own password there.
    let token = text(header::AUTHORIZATION).and_then(read_bearer);
    if let Some(token) = token {
        return Some(Secret::Token(token));
    }
    let cookies = headers.get_all(header::COOKIE).into_iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';'));
    let found = pairs.find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    });
    found.map(Secret::Session)
}

/// The token in a header `Authorization`; `None` if it has another scheme.
fn read_bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

impl Desk {
    /// Returns the key of the request, if it is valid.
    pub(super) async fn find_key(&self, headers: &HeaderMap) -> Result<DeskKey, DeskError> {
        let _permit = self.requests.try_acquire().map_err(|_| DeskError::Busy)?;
        let (secret, kind) = match find_secret(headers).ok_or(DeskError::SignedOut)? {
            Secret::Session(secret) => (secret, KeyKind::Session),
            Secret::Token(secret) => (secret, KeyKind::Token),
        };
        let found = self.keys.find(secret, kind, self.now_s()).await?;
        found.ok_or(DeskError::SignedOut)
    }

    /// Returns the key of the request, if it has this role.
    pub(super) async fn require_role(
        &self,
        headers: &HeaderMap,
        needs: DeskRole,
    ) -> Result<DeskKey, DeskError> {
        let key = self.find_key(headers).await?;
        if key.role < needs {
            let has = key.role;
            return Err(DeskError::Role { has, needs });
        }
        Ok(key)
    }

    /// The same, for a request that changes something.
    pub(super) async fn require_change(
        &self,
        headers: &HeaderMap,
        needs: DeskRole,
    ) -> Result<DeskKey, DeskError> {
        let key = self.require_role(headers, needs).await?;
        if key.kind == KeyKind::Session && !headers.contains_key(OWN_PAGE) {
            return Err(DeskError::Foreign);
        }
        Ok(key)
    }

    /// Enters a use of keys into the audit trail.
    pub(super) async fn audit(&self, key: &DeskKey, deed: &str) -> Result<(), DeskError> {
        let entry = format!("{} ({}): {deed}", key.name, key.role.name());
        Ok(self.store.append_audit(COMMAND, &entry).await?)
    }

    fn cookie(&self, secret: &str, seconds: u64) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        format!("{COOKIE}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
    }
}

impl SignIns for Desk {
    fn is_signed_in<'a>(
        &'a self,
        headers: &'a HeaderMap,
    ) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        Box::pin(async { self.find_key(headers).await.is_ok() })
    }
}

/// Returns the body of a request, or its fault.
pub(super) fn read_body<T>(body: Result<Json<T>, JsonRejection>) -> Result<T, DeskError> {
    match body {
        Ok(Json(body)) => Ok(body),
        Err(error) => Err(DeskError::Malformed(format!(
            "the body has to be JSON as `/desk/api/openapi.json` describes it: {}",
            error.body_text()
        ))),
    }
}

/// A request to sign in.
#[derive(Debug, Deserialize)]
pub(super) struct SignIn {
    /// The secret of a link.
    link: String,
    /// The name of the researcher, if the link has none.
    #[serde(default)]
    name: String,
}

/// `POST /desk/api/session`
pub(super) async fn sign_in(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    body: Result<Json<SignIn>, JsonRejection>,
) -> Result<Response, DeskError> {
    if !headers.contains_key(OWN_PAGE) {
        return Err(DeskError::Foreign);
    }
    let asked = read_body(body)?;
    let _permit = desk.requests.try_acquire().map_err(|_| DeskError::Busy)?;
    let signed = desk.keys.sign_in(&asked.link, &asked.name, desk.now_s());
    let (key, secret) = signed.await?;
    desk.audit(&key, &format!("signed in, key {}", key.id))
        .await?;
    let cookie = [(header::SET_COOKIE, desk.cookie(&secret, SESSION_S))];
    Ok((cookie, Json(key)).into_response())
}

/// `DELETE /desk/api/session`
pub(super) async fn sign_out(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
) -> Result<Response, DeskError> {
    let key = desk.require_change(&headers, DeskRole::Look).await?;
    desk.keys.revoke(key.id, desk.now_s()).await?;
    desk.audit(&key, &format!("signed out, key {}", key.id))
        .await?;
    let cookie = [(header::SET_COOKIE, desk.cookie("", 0))];
    Ok((StatusCode::NO_CONTENT, cookie).into_response())
}

/// `GET /desk/api/me`
pub(super) async fn show_me(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
) -> Result<Response, DeskError> {
    let key = desk.find_key(&headers).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(key)).into_response())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn secret_of(sent: &[(header::HeaderName, &'static str)]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.insert(name, HeaderValue::from_static(value));
        }
        find_secret(&headers).map(|secret| match secret {
            Secret::Session(secret) => format!("session {secret}"),
            Secret::Token(secret) => format!("token {secret}"),
        })
    }

    #[test]
    fn a_secret_is_read_from_its_cookie_or_header_alone() {
        let cookie = |value| secret_of(&[(header::COOKIE, value)]);
        assert_eq!(cookie("a=b; coplay_desk=12"), Some("session 12".to_owned()));
        assert_eq!(cookie("coplay_desk"), None);
        assert_eq!(cookie("xcoplay_desk=12"), None);
        let token = |value| secret_of(&[(header::AUTHORIZATION, value)]);
        assert_eq!(token("Bearer 12"), Some("token 12".to_owned()));
        assert_eq!(token("Basic 12"), None);
        // Behind a proxy that asks for a password, the page of the dashboard sends both.
        let both = |value| {
            let cookie = (header::COOKIE, "coplay_desk=12");
            secret_of(&[(header::AUTHORIZATION, value), cookie])
        };
        assert_eq!(both("Basic 34"), Some("session 12".to_owned()));
        assert_eq!(both("Bearer 34"), Some("token 34".to_owned()));
    }
}
