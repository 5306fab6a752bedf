//! Recruiters' identifiers for participants: the parameters of a link, and the session that belongs to them.
//!
//! An identifier goes into the table of identifiers and nowhere else: not into a log, a name, or an export.

use std::collections::BTreeMap;

use protocol::control::{Onward, Refusal, ServerMessage};
use study::recruitment::{Provider, RecruiterAction, is_mturk_entity, is_prolific_id};

use crate::token::is_signature;

use super::recruiter_identity::{Identity, Proof, completion_url};
use super::{Arbiter, ConnId, Effect, SessionId, Write};

/// The most parameters of a link, and the most bytes of a name and of a value.
const MOST: usize = 20;
const LONGEST_NAME: usize = 100;
const LONGEST_VALUE: usize = 500;

/// The kind of a link with parameters.
enum Sent {
    /// That of somebody.
    By(Identity),
    /// One whose identifier no recruiter has given.
    Unfit,
    /// One without an identifier.
    Plain,
    /// That of a person who only previews the work.
    Preview,
}

/// The hosts of Mechanical Turk.
const MTURK_HOSTS: [&str; 2] = ["https://www.mturk.com", "https://workersandbox.mturk.com"];

impl Arbiter {
    /// A page comes by a link with these parameters.
    pub(super) fn handle_sent(
        &mut self,
        conn: ConnId,
        parameters: Vec<(String, String)>,
    ) -> Result<Option<(SessionId, String)>, Refusal> {
        let too_long = |(name, value): &(String, String)| {
            name.len() > LONGEST_NAME || value.len() > LONGEST_VALUE
        };
        if parameters.len() > MOST || parameters.iter().any(too_long) {
            return Err(Refusal::Malformed);
        }
        let known: BTreeMap<String, String> = parameters
            .into_iter()
            .map(|(name, value)| (name, value.trim().to_owned()))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        match self.sent(&known) {
            Sent::Plain => self.walk_in(conn).map(Some),
            Sent::By(identity) => self.welcome_back(conn, identity).map(Some),
            Sent::Unfit => Err(Refusal::Incomplete),
            Sent::Preview => {
                let title = self.study.title.usual_text().to_owned();
                self.send_message(conn, ServerMessage::Preview { title });
                self.effects.push_back(Effect::Close(conn));
                Ok(None)
            }
        }
    }

    /// A page comes without a link.
    pub(super) fn walk_in(&mut self, conn: ConnId) -> Result<(SessionId, String), Refusal> {
        match self.study.recruitment.provider {
            Provider::Kiosk => self.admit_session(conn, None, None),
            _ if self.open => self.admit_session(conn, None, None),
            Provider::None => Err(Refusal::UnknownLink),
            Provider::Prolific | Provider::Mturk | Provider::Parameters => Err(Refusal::Incomplete),
        }
    }

    fn sent(&self, known: &BTreeMap<String, String>) -> Sent {
        let recruitment = &self.study.recruitment;
        let by = |provider: &str, participant: &str, others: &[&str]| {
            let told = others.iter();
            let told =
                told.filter_map(|name| Some(((*name).to_owned(), known.get(*name)?.clone())));
            let parameters: BTreeMap<String, String> = told.collect();
            let Some(participant) = known.get(participant) else {
                return Sent::Plain;
            };
            match recruitment.read_identifier(participant) {
                Some(participant)
                    if self.is_signed(&participant, known)
                        && are_fit(recruitment.provider, &parameters) =>
                {
                    Sent::By(Identity {
                        provider: provider.to_owned(),
                        participant,
                        parameters,
                    })
                }
                _ => Sent::Unfit,
            }
        };
        match recruitment.provider {
            Provider::Prolific => by("prolific", "PROLIFIC_PID", &["STUDY_ID", "SESSION_ID"]),
            Provider::Mturk => match known.get("assignmentId").map(String::as_str) {
                Some("ASSIGNMENT_ID_NOT_AVAILABLE") => Sent::Preview,
                _ => by(
                    "mturk",
                    "workerId",
                    &["assignmentId", "hitId", "turkSubmitTo"],
                ),
            },
            Provider::Parameters => {
                let names: Vec<&str> = (recruitment.parameters.iter())
                    .filter(|(meaning, _)| *meaning != "participant")
                    .map(|(_, name)| name.as_str())
                    .collect();
                let participant = recruitment.parameters.get("participant");
                by("parameters", participant.map_or("", String::as_str), &names)
            }
            Provider::None if self.open => by("label", "label", &[]),
            Provider::None | Provider::Kiosk => Sent::Plain,
        }
    }

    /// True if a link is signed as the study wants it.
    fn is_signed(&self, participant: &str, known: &BTreeMap<String, String>) -> bool {
        let Some(name) = &self.study.recruitment.signature else {
            return true;
        };
        let signature = known.get(name);
        let key = self.signature_key.as_deref();
        signature
            .zip(key)
            .is_some_and(|(signature, key)| is_signature(key, participant, signature))
    }

    /// Checks the signatures of links with this secret; without it, links that a study wants signed are refused.
    #[must_use]
    pub fn with_signature_key(mut self, key: Option<Vec<u8>>) -> Self {
        self.signature_key = key;
        self
    }

    /// Somebody with an identifier: the first time makes the session, a later one brings it to a newer page.
    fn welcome_back(
        &mut self,
        conn: ConnId,
        identity: Identity,
    ) -> Result<(SessionId, String), Refusal> {
        let Some(who) = self.sessions.find_by_identity(&identity) else {
            return self.admit_session(conn, None, Some(identity));
        };
        if self.sessions[who].identity.as_ref() != Some(&identity) {
            let session = &mut self.sessions[who];
            session.identity = Some(identity.clone());
            let participant = session.participant.clone();
            // Of who withdrew, nothing is stored any more.
            if session.progress.receipt().is_none() {
                let write = Write::Identity {
                    participant,
                    identity,
                };
                self.effects.push_back(Effect::Store(write));
            }
        }
        Ok((who, self.new_token(who, Proof::Identifier)))
    }

    /// Returns the place where a participant goes from the last page.
    pub(super) fn way_onward(&self, who: SessionId) -> Onward {
        let session = &self.sessions[who];
        let Some(payment) = &session.payment else {
            return Onward::Nowhere;
        };
        let code = payment.code.clone().unwrap_or_default();
        let identity = session.identity.as_ref();
        match (self.study.recruitment.provider, identity) {
            (Provider::Prolific, Some(_)) => Onward::To {
                url: completion_url(&code),
                name: "Prolific".to_owned(),
            },
            (Provider::Mturk, Some(identity)) if payment.deed != RecruiterAction::Return => {
                submission(identity, &code, &payment.receipt)
            }
            (Provider::Kiosk, _) if session.is_open_door => Onward::Again,
            _ => Onward::Nowhere,
        }
    }
}

/// True if the other parameters of a link are as a recruiter writes them. Those of Mechanical Turk enter its payment file.
fn are_fit(provider: Provider, parameters: &BTreeMap<String, String>) -> bool {
    let is_fit = |(name, value): (&String, &String)| match (provider, name.as_str()) {
        // All identifiers of Prolific have one form.
        (Provider::Prolific, _) => is_prolific_id(value),
        (_, "assignmentId" | "hitId") => is_mturk_entity(value),
        _ => !value.contains(char::is_control),
    };
    parameters.iter().all(is_fit)
}

/// The form by which work is handed in.
fn submission(identity: &Identity, code: &str, receipt: &str) -> Onward {
    let told = |name: &str| identity.parameters.get(name).cloned();
    let host = told("turkSubmitTo");
    let host = MTURK_HOSTS
        .iter()
        .find(|known| host.as_deref().map(|host| host.trim_end_matches('/')) == Some(**known));
    let (Some(host), Some(assignment)) = (host, told("assignmentId")) else {
        return Onward::Nowhere;
    };
    let fields = [
        ("assignmentId", assignment.as_str()),
        ("code", code),
        ("receipt", receipt),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Onward::Form {
        url: format!("{host}/mturk/externalSubmit"),
        fields: fields.into(),
    }
}
