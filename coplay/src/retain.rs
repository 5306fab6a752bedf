//! Data past their retention period: counts them in a data folder, and erases them without waiting for the server.
//!
//! The arbiter erases ([`server_core::arbiter`]): a running server does it by itself, and this starts one that nobody
//! reaches.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::Context as _;
use catalog::StartError;
use catalog::read_study;
use clock::Clock;
use serde::Serialize;
use signaling_server::server::{Server, ServerOptions};
use store::{PayState, StudyStore};
use store::{data_folder, servers};
use study::plural::count;
use tokio::net::TcpListener;

const DAY_US: u64 = 24 * 3_600 * 1_000_000;

/// The data that are past their retention period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Due {
    /// Days for which the study keeps recorded data.
    pub retention_days: u16,
    /// Sessions of which somebody was there last before that.
    pub sessions: usize,
    /// The number of them whose payment is still due: their recruiter's identifier is erased too.
    pub unpaid: usize,
    /// Episodes whose people are all among those sessions, or were erased before.
    pub episodes: usize,
    /// True if all of it was erased now.
    pub erased: bool,
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = count(usize::from(self.retention_days), "day");
        let sessions = count(self.sessions, "session");
        let episodes = count(self.episodes, "episode");
        let verb = if self.erased {
            "erased"
        } else {
            "to be erased"
        };
        write!(
            f,
            "{verb}, because they were inactive for {days}: {sessions}, {episodes}"
        )?;
        match self.unpaid {
            0 => Ok(()),
            unpaid if self.erased => write!(f, "\n{unpaid} of them still have a payment due"),
            unpaid => write!(
                f,
                "\n{unpaid} of them still have a payment due; pay it first: see `coplay pay`"
            ),
        }
    }
}

/// Lists the data in a data folder that the study keeps no longer, and erases them unless this is a `dry_run`.
///
/// # Errors
/// [`StartError`]: the study has faults or sets no retention, a server runs, or the disk or the database fails.
pub async fn delete_old_data(
    options: ServerOptions,
    clock: Clock,
    dry_run: bool,
) -> Result<Due, StartError> {
    let (study, _) = read_study(&options.study).map_err(StartError::Study)?;
    let days = study.keeping.retention_days.with_context(|| {
        format!(
            "the study `{}` has no `retention_days`, so nothing is erased; write for example `retention_days: 3650` in its block `study`",
            study.id
        )
    })?;
    let dir = options.data.clone();
    let now_us = clock.now_us();
    let mut due = due(&dir, days, now_us).await?;
    if dry_run {
        return Ok(due);
    }
    servers::ensure_free(&dir).await?;
    let server = Server::start_by(options, clock).await?;
    // It stops before it lets anybody in; expired data are erased by then.
    let nobody = TcpListener::bind("127.0.0.1:0").await;
    let nobody = nobody.context("no free port on this machine")?;
    server.serve(nobody, std::future::ready(())).await?;
    due.erased = self::due(&dir, days, now_us).await?.sessions == 0;
    if !due.erased {
        let left = anyhow::anyhow!(
            "not everything could be erased; the log says what, and the next run tries again"
        );
        return Err(left.into());
    }
    Ok(due)
}

async fn due(data: &Path, days: u16, now_us: u64) -> anyhow::Result<Due> {
    anyhow::ensure!(
        data_folder::is_there(data),
        "{} is no data folder of a server: it has neither episodes nor a database; name one with --data",
        data.display()
    );
    let mut due = Due {
        retention_days: days,
        ..Due::default()
    };
    if !store::has_database(data)? {
        return Ok(due);
    }
    let store = StudyStore::read(data).await?;
    let (sessions, payments) = (store.sessions().await?, store.list_payments().await?);
    let (groups, episodes) = (store.list_groups().await?, store.episodes().await?);
    store.close().await;
    let is_old = |seen_us: u64| seen_us + u64::from(days) * DAY_US <= now_us;
    let mut gone = BTreeSet::new();
    for session in &sessions {
        let is_due = session.erased_at.is_none() && is_old(session.seen_us);
        if is_due || session.erased_at.is_some() {
            gone.insert(session.participant.as_str());
        }
        if is_due {
            due.sessions += 1;
            let mut payments = payments.iter();
            let is_due = |state| state == PayState::Due;
            let is_unpaid = payments.any(|pay| pay.session == session.id && is_due(pay.state));
            due.unpaid += usize::from(is_unpaid);
        }
    }
    let is_gone = |id: &str| {
        let group = groups.iter().find(|group| group.id == id);
        group.is_some_and(|group| {
            let mut members = group.members.iter();
            members.all(|member| gone.contains(member.participant.as_str()))
        })
    };
    due.episodes = (episodes.iter())
        .filter(|episode| is_gone(&episode.group))
        .count();
    Ok(due)
}
