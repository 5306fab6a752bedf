//! The credentials of bots: with the parameters of the study's recruiter, or by participant links.

use client_core::Credentials;
use study::Study;
use study::recruitment::Provider;

use server_core::token::token_hash;

/// How one bot enters.
#[derive(Clone, Debug)]
pub(super) enum EntryWay {
    /// By a participant link with this token.
    Link(String),
    /// By the link of a recruiter with these parameters; the first one identifies the person.
    Sent(Vec<(String, String)>),
}

impl EntryWay {
    /// Returns true if people enter this study by links that the server creates.
    pub(super) fn is_by_links(study: &Study) -> bool {
        let recruitment = &study.recruitment;
        let takes_any = recruitment.pattern.is_none() && recruitment.signature.is_none();
        match recruitment.provider {
            Provider::None | Provider::Kiosk => true,
            // A bot has no identifier that fits, and signs nothing.
            Provider::Parameters => !takes_any,
            Provider::Prolific | Provider::Mturk => false,
        }
    }

    /// The way in of a session, by its number, and by its participant link if it has one.
    pub(super) fn of(study: &Study, number: usize, link: Option<&String>) -> Option<Self> {
        let sent = |values: &[(&str, String)]| {
            let value = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
            Some(Self::Sent(values.iter().map(value).collect()))
        };
        let named = |names: &[&str]| {
            let value = |name: &&str| ((*name).to_owned(), format!("{name}-{number:05}"));
            Some(Self::Sent(names.iter().map(value).collect()))
        };
        if Self::is_by_links(study) {
            return link.cloned().map(Self::Link);
        }
        match study.recruitment.provider {
            Provider::Prolific => sent(&[
                ("PROLIFIC_PID", format!("{number:024x}")),
                ("STUDY_ID", format!("{:024x}", 1)),
                ("SESSION_ID", format!("5e{number:022x}")),
            ]),
            Provider::Mturk => sent(&[
                ("workerId", format!("A{number:013X}")),
                ("assignmentId", format!("3A{number:028X}")),
                ("hitId", format!("3H{number:028X}")),
            ]),
            Provider::Parameters => {
                let parameters = &study.recruitment.parameters;
                let person = parameters.get("participant").map(String::as_str);
                let others = parameters
                    .iter()
                    .filter(|(meaning, _)| *meaning != "participant");
                let others = others.map(|(_, name)| name.as_str());
                named(&person.into_iter().chain(others).collect::<Vec<_>>())
            }
            Provider::None | Provider::Kiosk => None,
        }
    }

    /// The credentials of a page without a session.
    pub(super) fn credentials(&self) -> Credentials {
        match self {
            Self::Link(token) => Credentials {
                link: Some(token.clone()),
                ..Credentials::default()
            },
            Self::Sent(parameters) => Credentials {
                parameters: parameters.clone(),
                ..Credentials::default()
            },
        }
    }

    /// True if others may know how the person enters: a recruiter's identifier is no secret.
    pub(super) fn is_known_to_others(&self) -> bool {
        matches!(self, Self::Sent(_))
    }

    /// The parameters that the address of the page has for it.
    pub(super) fn entry_query(&self) -> Vec<(String, String)> {
        match self {
            Self::Link(token) => vec![("s".to_owned(), token.clone())],
            Self::Sent(parameters) => parameters.clone(),
        }
    }

    /// The key by which the data identify the session: the hash of the link, or the recruiter's identifier of the
    /// person.
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
