//! The reasons why the dashboard does not answer a request, and the texts for the user.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use server_core::desk::OrderRefused;
use store::StoreError;
use store::desk_keys::{DeskRole, KeyRefused};

/// The reason why a request is not answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeskError {
    #[error(
        "you are not signed in: open the link that the server printed at its start, or one that `coplay desk link --data \
         DIR` prints; programs send the header `Authorization: Bearer TOKEN`"
    )]
    SignedOut,
    #[error("your role is `{}`, and this needs `{}`; ask somebody who administers the dashboard", .has.name(), .needs.name())]
    Role { has: DeskRole, needs: DeskRole },
    #[error(
        "a browser has to send the header `X-Coplay-Desk: 1` with this request; only the dashboard's own page does"
    )]
    Foreign,
    #[error("{0}")]
    Malformed(String),
    #[error(transparent)]
    Order(#[from] OrderRefused),
    #[error(transparent)]
    Key(#[from] KeyRefused),
    #[error("there is no good key with the number {0}; it may be revoked or expired already")]
    UnknownKey(i64),
    #[error(
        "the payment of {0} is marked as paid, so its bonus stays; pay the difference at your recruiter"
    )]
    Paid(String),
    #[error("the tables could not be written: {0}")]
    Tables(String),
    #[error("too many requests at once; try again in a moment")]
    Busy,
    #[error(
        "the server stops, or its disk takes nothing at the moment; an order that was taken is carried out later"
    )]
    Away,
    #[error("the database failed; the server's log says why")]
    Store(#[from] StoreError),
}

impl DeskError {
    fn status(&self) -> StatusCode {
        match self {
            Self::SignedOut | Self::Key(KeyRefused::Link) => StatusCode::UNAUTHORIZED,
            Self::Role { .. } | Self::Foreign => StatusCode::FORBIDDEN,
            Self::Malformed(_) | Self::Key(KeyRefused::Name) => StatusCode::BAD_REQUEST,
            Self::Order(OrderRefused::UnknownParticipant(_) | OrderRefused::UnknownGroup(_))
            | Self::UnknownKey(_) => StatusCode::NOT_FOUND,
            Self::Order(
                OrderRefused::WrongPlaces { .. }
                | OrderRefused::WrongOutcome(..)
                | OrderRefused::NoSuchRoom { .. }
                | OrderRefused::WrongText
                | OrderRefused::WrongCheck(_),
            ) => StatusCode::BAD_REQUEST,
            Self::Order(_) | Self::Paid(_) => StatusCode::CONFLICT,
            Self::Busy | Self::Away => StatusCode::SERVICE_UNAVAILABLE,
            Self::Tables(_)
            | Self::Store(_)
            | Self::Key(KeyRefused::Store(_) | KeyRefused::Random(_)) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }
}

impl IntoResponse for DeskError {
    fn into_response(self) -> Response {
        if let Self::Store(error) | Self::Key(KeyRefused::Store(error)) = &self {
            tracing::error!(%error, "the dashboard cannot read or write");
        }
        (self.status(), Json(json!({ "error": self.to_string() }))).into_response()
    }
}
