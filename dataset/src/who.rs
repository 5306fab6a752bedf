//! Everything that answers a complaint: the session behind an identifier, with its way through the study.
//!
//! Each look-up is recorded in the audit trail of the database, by pseudonym.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use store::beside::open_beside_server;
use store::{Episode, Identifier, Session, StoreError, StudyStore, data_folder, reason_name};

/// The people behind an identifier.
#[derive(Clone, Debug, Serialize)]
pub struct Who {
    /// The identifier as it was given.
    pub id: String,
    /// The sessions that have it.
    pub people: Vec<FoundPerson>,
    /// The reason why nobody can be found by the recruiter's identifiers: their key is missing. `None` if it is there.
    pub note: Option<String>,
}

/// A participant.
#[derive(Clone, Debug, Serialize)]
pub struct FoundPerson {
    /// Pseudonym of the participant.
    pub participant: String,
    /// Pseudonym of the session.
    pub session: String,
    /// The recruiter, and its identifier for the participant.
    pub recruiter: Option<(String, String)>,
    /// The further parameters of the link from the recruiter, such as the submission.
    pub parameters: BTreeMap<String, String>,
    /// The outcome; `None` while the session is open.
    pub outcome: Option<String>,
    /// The start, ISO 8601, UTC.
    pub started_at: String,
    /// The end, ISO 8601, UTC.
    pub ended_at: Option<String>,
    /// When the recorded data were erased, ISO 8601, UTC; `None` if they were not.
    pub erased_at: Option<String>,
    /// The payment: amount in the smallest unit, currency, state, reference number.
    pub payment: Option<FoundPayment>,
    /// The stages with answers, and when the first arrived.
    pub answered: Vec<(String, String)>,
    /// The episodes.
    pub episodes: Vec<FoundEpisode>,
}

/// A payment of a participant.
#[derive(Clone, Debug, Serialize)]
pub struct FoundPayment {
    /// In the smallest unit of the currency.
    pub total: u64,
    /// The currency.
    pub currency: Option<String>,
    /// `due`, `paid` or `skipped`.
    pub state: &'static str,
    /// The reference number that the person was shown.
    pub receipt: String,
}

/// An episode of a participant.
#[derive(Clone, Debug, Serialize)]
pub struct FoundEpisode {
    /// Id.
    pub episode: String,
    /// The group.
    pub group: String,
    /// The stage.
    pub stage: String,
    /// The start, ISO 8601, UTC.
    pub started_at: String,
    /// Its end; `None` while it runs.
    pub ended_on: Option<&'static str>,
    /// The score at the end.
    pub score: Option<i64>,
    /// Pseudonyms of the others.
    pub partners: Vec<String>,
}

/// Finds the people behind an identifier: a pseudonym, a session, a reference number, or a recruiter's identifier.
///
/// # Errors
/// There is no data folder or database, or it fails.
pub async fn find_people(data: &Path, id: &str) -> anyhow::Result<Who> {
    let is_there = data_folder::is_there(data) && store::has_database(data)?;
    anyhow::ensure!(
        is_there,
        "{} has no database of a server; name another folder with --data",
        data.display()
    );
    let store = open_beside_server(data).await?;
    let found = read(&store, id.trim()).await;
    store.close().await;
    found
}

async fn read(store: &StudyStore, id: &str) -> anyhow::Result<Who> {
    let (identifiers, note) = match store.list_identifiers().await {
        Ok(identifiers) => (identifiers, None),
        // Everything else is known without it.
        Err(StoreError::Key(error)) => (Vec::new(), Some(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    let payments = store.list_payments().await?;
    let (episodes, responses) = (store.episodes().await?, store.list_responses().await?);
    let mut people = Vec::new();
    for session in store.sessions().await? {
        let payment = payments
            .iter()
            .find(|payment| payment.session == session.id);
        let known = identifiers.iter().find(|known| known.session == session.id);
        let receipt = payment.map(|payment| payment.what.receipt.as_str());
        if !is_named(&session, known, receipt, id) {
            continue;
        }
        let payment = payment.map(|payment| FoundPayment {
            total: payment.what.total,
            currency: payment.what.currency.clone(),
            state: payment.state.name(),
            receipt: payment.what.receipt.clone(),
        });
        let mut answered: Vec<(String, String)> = Vec::new();
        for response in responses
            .iter()
            .filter(|response| response.session == session.id)
        {
            if answered
                .last()
                .is_none_or(|(stage, _)| *stage != response.stage)
            {
                answered.push((response.stage.clone(), response.at.clone()));
            }
        }
        let own = episodes
            .iter()
            .filter(|episode| episode.participants.contains(&session.participant));
        let identity = known.map(|known| &known.identity);
        people.push(FoundPerson {
            episodes: own
                .map(|episode| list_episode(episode, &session.participant))
                .collect(),
            recruiter: identity.map(|of| (of.provider.clone(), of.participant.clone())),
            parameters: identity.map(|of| of.parameters.clone()).unwrap_or_default(),
            outcome: session.outcome,
            started_at: session.created_at,
            ended_at: session.ended_at,
            erased_at: session.erased_at,
            payment,
            answered,
            participant: session.participant,
            session: session.id,
        });
    }
    let names: Vec<&str> = people
        .iter()
        .map(|person| person.participant.as_str())
        .collect();
    let action = match names.is_empty() {
        true => "looked somebody up, who was not found".to_owned(),
        false => format!("looked up {}", names.join(", ")),
    };
    store
        .append_audit("who", &action)
        .await
        .context("the audit trail")?;
    let id = id.to_owned();
    Ok(Who { id, people, note })
}

fn is_named(
    session: &Session,
    known: Option<&Identifier>,
    receipt: Option<&str>,
    id: &str,
) -> bool {
    let is = |name: &str| name.eq_ignore_ascii_case(id);
    let by_recruiter = known.is_some_and(|known| {
        is(&known.identity.participant) || known.identity.parameters.values().any(|value| is(value))
    });
    by_recruiter || is(&session.participant) || is(&session.id) || receipt.is_some_and(is)
}

fn list_episode(episode: &Episode, participant: &str) -> FoundEpisode {
    let others = episode.participants.iter();
    let others = others.filter(|other| !other.is_empty() && *other != participant);
    FoundEpisode {
        episode: episode.id.clone(),
        group: episode.group.clone(),
        stage: episode.stage.clone(),
        started_at: episode.created_at.clone(),
        ended_on: episode.reason.map(reason_name),
        score: episode.ending.map(|ending| ending.score),
        partners: others.cloned().collect(),
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.people.is_empty() {
            write!(f, "nobody has the identifier {}", self.id)?;
        }
        for (at, person) in self.people.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n\n" };
            write!(f, "{line}{person}")?;
        }
        if let Some(note) = &self.note {
            write!(f, "\n\n{note}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FoundPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (session {})", self.participant, self.session)?;
        if let Some((recruiter, name)) = &self.recruiter {
            write!(f, "\nrecruiter: {recruiter}, {name}")?;
        }
        for (name, value) in &self.parameters {
            write!(f, "\n  {name}: {value}")?;
        }
        let outcome = self.outcome.as_deref().unwrap_or("not over");
        let ended = self.ended_at.as_deref().unwrap_or("now");
        write!(
            f,
            "\noutcome: {outcome}, from {} to {ended}",
            self.started_at
        )?;
        if let Some(erased_at) = &self.erased_at {
            write!(f, "\nerased: {erased_at}")?;
        }
        if let Some(payment) = &self.payment {
            let currency = payment.currency.as_deref().unwrap_or_default();
            let total = study::payment::write_money(payment.total, currency);
            let amount = format!("{currency} {total}");
            let FoundPayment { state, receipt, .. } = payment;
            write!(f, "\npay: {}, {state}, reference {receipt}", amount.trim())?;
        }
        for (stage, at) in &self.answered {
            write!(f, "\nanswered {stage} at {at}")?;
        }
        for of in &self.episodes {
            let ended = of.ended_on.unwrap_or("running");
            let score = of
                .score
                .map_or(String::new(), |score| format!(", score {score}"));
            let partners = match of.partners.is_empty() {
                true => String::new(),
                false => format!(", with {}", of.partners.join(", ")),
            };
            write!(
                f,
                "\nplayed {} ({}) at {}: {ended}{score}{partners}",
                of.episode, of.stage, of.started_at
            )?;
        }
        Ok(())
    }
}
