//! How bots come in: as participants of the study's recruiter do, or by participant links.

use protocol::control::Entry;
use study::Study;
use study::recruitment::Provider;

use server_core::token::token_hash;

/// How one bot comes in.
#[derive(Clone, Debug)]
pub(super) enum Door {
    /// By a participant link with this token.
    Link(String),
    /// By the link of a recruiter with these parameters; the first one names the person.
    Sent(Vec<(String, String)>),
}

impl Door {
    /// Whether the study's people come by the links that the server gives out.
    pub(super) fn is_by_links(study: &Study) -> bool {
        matches!(study.recruitment.provider, Provider::None | Provider::Kiosk)
    }

    /// The door of a session, by its number, and by its participant link if it has one.
    pub(super) fn of(study: &Study, number: usize, link: Option<&String>) -> Option<Self> {
        let named = |names: &[&str]| {
            let value = |name: &&str| ((*name).to_owned(), format!("{name}-{number:05}"));
            Some(Self::Sent(names.iter().map(value).collect()))
        };
        match study.recruitment.provider {
            Provider::Prolific => named(&["PROLIFIC_PID", "STUDY_ID", "SESSION_ID"]),
            Provider::Mturk => named(&["workerId", "assignmentId", "hitId"]),
            Provider::Parameters => {
                let parameters = &study.recruitment.parameters;
                let person = parameters.get("participant").map(String::as_str);
                let others = parameters
                    .iter()
                    .filter(|(meaning, _)| *meaning != "participant");
                let others = others.map(|(_, name)| name.as_str());
                named(&person.into_iter().chain(others).collect::<Vec<_>>())
            }
            Provider::None | Provider::Kiosk => link.cloned().map(Self::Link),
        }
    }

    /// How a page comes in by it that knows no session.
    pub(super) fn entry(&self) -> Entry {
        match self {
            Self::Link(token) => Entry::Invite(token.clone()),
            Self::Sent(parameters) => Entry::Sent(parameters.clone()),
        }
    }

    /// What the address of the page says of it.
    pub(super) fn query(&self) -> Vec<(String, String)> {
        match self {
            Self::Link(token) => vec![("s".to_owned(), token.clone())],
            Self::Sent(parameters) => parameters.clone(),
        }
    }

    /// By what the data know who came by it: the hash of the link, or the recruiter's name of the person.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Link(token) => token_hash(token),
            Self::Sent(parameters) => parameters
                .first()
                .map(|(_, name)| name.clone())
                .unwrap_or_default(),
        }
    }
}
