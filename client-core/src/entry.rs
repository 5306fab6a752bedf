//! The way in: the credentials of a page, and its first message.
//!
//! This module must not know where addresses and tabs keep any of it.

use protocol::control::{ClientMessage, Entry};
use protocol::{Era, Life};

/// The credentials of a page. Later entries of this list matter only if there are no earlier ones:
/// a ticket, a session, a link, the parameters of a recruiter, the open door.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The ticket of the way back from a page of another site, until it has let this page in.
    pub ticket: Option<String>,
    /// The token of the session.
    pub session: Option<String>,
    /// The token of a participant link.
    pub link: Option<String>,
    /// The names and values in a recruiter's link.
    pub parameters: Vec<(String, String)>,
    /// The language that the person asks for, as a tag.
    pub language: Option<String>,
    /// The languages that the person reads, best first, as tags.
    pub reads: Vec<String>,
}

impl Credentials {
    /// The first message of a connection; `playing` is the episode that this page still simulates, and `key` the public
    /// key that it has made.
    pub fn make_hello(&self, playing: Option<(Era, Life)>, key: [u8; 32]) -> ClientMessage {
        ClientMessage::Hello {
            entry: self.entry(playing),
            language: self.language.clone(),
            reads: self.reads.clone(),
            key,
        }
    }

    fn entry(&self, playing: Option<(Era, Life)>) -> Entry {
        if let Some(ticket) = &self.ticket {
            return Entry::Return(ticket.clone());
        }
        match (&self.session, &self.link) {
            (Some(token), _) => Entry::Resume {
                token: token.clone(),
                playing,
            },
            (None, Some(link)) => Entry::Invite(link.clone()),
            (None, None) if self.parameters.is_empty() => Entry::Open,
            (None, None) => Entry::Sent(self.parameters.clone()),
        }
    }

    /// Takes the session that the server gave.
    pub(crate) fn handle_welcome(&mut self, token: String) {
        self.ticket = None;
        self.session = Some(token);
    }

    /// Forgets the credentials that the server does not know; returns whether there is another way in to try.
    pub(crate) fn forget_refused(&mut self) -> bool {
        if self.ticket.take().is_some() {
            return self.session.is_some() || self.link.is_some();
        }
        self.session.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Credentials {
        let some = |text: &str| Some(text.to_owned());
        Credentials {
            ticket: some("ticket"),
            session: some("session"),
            link: some("link"),
            parameters: vec![("pid".to_owned(), "7".to_owned())],
            ..Credentials::default()
        }
    }

    #[test]
    fn a_refused_ticket_falls_back_to_the_session_and_that_to_the_link() {
        let mut credentials = all();
        assert_eq!(credentials.entry(None), Entry::Return("ticket".to_owned()));
        assert!(credentials.forget_refused());
        let playing = Some((Era(3), Life(1)));
        let token = "session".to_owned();
        assert_eq!(credentials.entry(playing), Entry::Resume { token, playing });
        assert!(credentials.forget_refused());
        assert_eq!(credentials.entry(None), Entry::Invite("link".to_owned()));
        assert!(!credentials.forget_refused(), "a link that is refused");
    }

    #[test]
    fn a_recruiters_parameters_are_sent_until_there_is_a_session() {
        let mut credentials = Credentials {
            ticket: None,
            session: None,
            link: None,
            ..all()
        };
        let sent = Entry::Sent(credentials.parameters.clone());
        assert_eq!(credentials.entry(None), sent);
        credentials.handle_welcome("new".to_owned());
        assert!(matches!(credentials.entry(None), Entry::Resume { .. }));
        assert_eq!(Credentials::default().entry(None), Entry::Open);
    }

    #[test]
    fn a_ticket_lets_a_page_in_once() {
        let mut credentials = all();
        credentials.handle_welcome("new".to_owned());
        let token = "new".to_owned();
        let playing = None;
        assert_eq!(credentials.entry(None), Entry::Resume { token, playing });
    }
}
