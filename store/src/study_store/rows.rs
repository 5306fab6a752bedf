//! From rows of the tables to values.

use std::collections::BTreeMap;

use protocol::log::Ending;
use protocol::{Era, Tick};
use server_core::arbiter::Identity;
use study::Outcome;
use study::recruitment::RecruiterAction;

use super::super::{
    Episode, Identifier, PageTime, PayState, Payment, REASONS, Response, Session, Wait,
};
use crate::database::value::Row;

/// An identifier of a database that is older than their encryption.
pub(super) fn plain_identifier(row: &Row) -> Result<Identifier, sqlx::Error> {
    let parameters: &str = row.try_get("parameters")?;
    let damaged = |error: serde_json::Error| sqlx::Error::Decode(error.into());
    Ok(Identifier {
        session: row.try_get("session")?,
        pseudonym: row.try_get("pseudonym")?,
        identity: Identity {
            provider: row.try_get("provider")?,
            participant: row.try_get("participant")?,
            parameters: serde_json::from_str(parameters).map_err(damaged)?,
        },
    })
}

/// Reads a stored count; never negative, whatever the file contains.
pub(super) fn count(row: &Row, column: &str) -> Result<u64, sqlx::Error> {
    let stored: i64 = row.try_get(column)?;
    Ok(stored.max(0).cast_unsigned())
}

pub(super) fn read_payment(row: &Row) -> Result<Payment, sqlx::Error> {
    fn known<T: Copy>(
        row: &Row,
        column: &str,
        all: impl IntoIterator<Item = (T, &'static str)>,
    ) -> Result<T, sqlx::Error> {
        let name: &str = row.try_get(column)?;
        let found = all.into_iter().find(|(_, known)| *known == name);
        let unknown = || sqlx::Error::Decode(format!("unknown {column} `{name}`").into());
        found.map(|(value, _)| value).ok_or_else(unknown)
    }
    let outcomes = Outcome::ALL.map(|(name, outcome)| (outcome, name));
    Ok(Payment {
        session: row.try_get("session")?,
        participant: row.try_get("participant")?,
        what: study::Payment {
            outcome: known(row, "outcome", outcomes)?,
            deed: known(
                row,
                "deed",
                RecruiterAction::ALL.map(|(name, deed)| (deed, name)),
            )?,
            code: row.try_get("code")?,
            receipt: row.try_get("receipt")?,
            currency: row.try_get("currency")?,
            time_ms: count(row, "time_ms")?,
            base: count(row, "base")?,
            bonus: count(row, "bonus")?,
            time: count(row, "time")?,
            total: count(row, "total")?,
            extra: count(row, "extra")?,
            note: row.try_get("note")?,
        },
        state: known(row, "state", PayState::ALL)?,
        at: row.try_get("at")?,
        paid_at: row.try_get("paid_at")?,
    })
}

pub(super) fn session(row: &Row) -> Result<Session, sqlx::Error> {
    let number: i64 = row.try_get("row")?;
    Ok(Session {
        number: usize::try_from(number - 1).unwrap_or(0),
        id: row.try_get("id")?,
        participant: row.try_get("participant")?,
        token_hash: row.try_get("token_hash")?,
        link_hash: row.try_get("link_hash")?,
        study: row.try_get("study")?,
        study_version: row.try_get("study_version")?,
        study_hash: row.try_get("study_hash")?,
        position: row.try_get("position")?,
        spent_us: count(row, "spent_us")?,
        seen_us: count(row, "seen_us")?,
        // A folder that is only read may be older than the column.
        acted_us: count(row, "acted_us").or_else(|_| count(row, "seen_us"))?,
        outcome: row.try_get("outcome")?,
        created_at: row.try_get("created_at")?,
        ended_at: row.try_get("ended_at")?,
        // A folder that is only read may be older than the column.
        erased_at: row.try_get("erased_at").unwrap_or_default(),
    })
}

pub(super) fn episode(row: &Row) -> Result<Episode, sqlx::Error> {
    let reason: Option<&str> = row.try_get("reason")?;
    let reason = reason
        .and_then(|name| REASONS.iter().find(|(_, known)| *known == name))
        .map(|(reason, _)| *reason);
    let ticks: Option<u32> = row.try_get("ticks")?;
    let ending = match (reason, ticks) {
        (Some(reason), Some(ticks)) => {
            let digest: i64 = row.try_get("digest")?;
            let (score, digest) = (row.try_get("score")?, digest.cast_unsigned());
            Some(Ending {
                ticks: Tick(ticks),
                reason,
                score,
                digest,
            })
        }
        _ => None,
    };
    Ok(Episode {
        visits: by_seat(row.try_get("visits")?)?,
        participants: by_seat(row.try_get("participants")?)?,
        id: row.try_get("id")?,
        era: Era(row.try_get("era")?),
        group: row.try_get("group_id")?,
        stage: row.try_get("stage")?,
        path: row.try_get("path")?,
        study: row
            .try_get::<Option<_>, _>("study")?
            .zip(row.try_get("study_version")?),
        bindings: row.try_get("bindings")?,
        created_at: row.try_get("created_at")?,
        ended_at: row.try_get("ended_at")?,
        draw: row.try_get("draw")?,
        reason,
        ending,
    })
}

/// The values of seats, from an object by seat.
fn by_seat<T: Clone + Default + serde::de::DeserializeOwned>(
    text: &str,
) -> Result<Vec<T>, sqlx::Error> {
    let values: BTreeMap<u8, T> = json(text)?;
    let last = values.last_key_value().map(|(seat, _)| *seat);
    let seats = last.into_iter().flat_map(|last| 0..=last);
    let values = seats.map(|seat| values.get(&seat).cloned().unwrap_or_default());
    Ok(values.collect())
}

pub(super) fn read_wait(row: &Row) -> Result<Wait, sqlx::Error> {
    let (joined_us, left_us): (i64, Option<i64>) =
        (row.try_get("joined_us")?, row.try_get("left_us")?);
    Ok(Wait {
        participant: row.try_get("participant")?,
        stage: row.try_get("stage")?,
        visit: row.try_get("visit")?,
        joined_us: joined_us.cast_unsigned(),
        left_us: left_us.map(i64::cast_unsigned),
        why: row.try_get("why")?,
        group: row.try_get("group_id")?,
        rtt_us: row.try_get("rtt_us")?,
        loss_permille: row.try_get("loss_permille")?,
    })
}

pub(super) fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, sqlx::Error> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

pub(super) fn read_response(row: &Row) -> Result<Response, sqlx::Error> {
    Ok(Response {
        study: row.try_get("study")?,
        study_version: row.try_get("study_version")?,
        participant: row.try_get("participant")?,
        session: row.try_get("session")?,
        stage: row.try_get("stage")?,
        stage_index: row.try_get("stage_index")?,
        visit: row.try_get("visit")?,
        item: row.try_get("item")?,
        value: row.try_get("value")?,
        correct: row.try_get("correct")?,
        flag: row.try_get("flag")?,
        shown: row.try_get("shown")?,
        elapsed_ms: row.try_get("elapsed_ms")?,
        at: row.try_get("at")?,
    })
}

pub(super) fn page_time(row: &Row) -> Result<PageTime, sqlx::Error> {
    Ok(PageTime {
        study: row.try_get("study")?,
        study_version: row.try_get("study_version")?,
        participant: row.try_get("participant")?,
        session: row.try_get("session")?,
        stage: row.try_get("stage")?,
        stage_index: row.try_get("stage_index")?,
        visit: row.try_get("visit")?,
        page: row.try_get("page")?,
        ms: row.try_get("ms")?,
    })
}
