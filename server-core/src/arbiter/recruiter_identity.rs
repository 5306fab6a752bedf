//! Recruiters' identifiers as plain data, what proves who a participant is, and the way back to a recruiter.

use std::collections::BTreeMap;
use std::fmt;

/// A recruiter's identifier for a participant.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The recruiter: `prolific`, `mturk`, `parameters`, `label` or `kiosk`.
    pub provider: String,
    /// The participant's identifier; unique with the recruiter.
    pub participant: String,
    /// Other parameters from the recruiter, by name.
    pub parameters: BTreeMap<String, String>,
}

/// Prints no identifier, so that no log contains one.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

impl Identity {
    /// The key that is unique among all recruiters.
    pub(super) fn unique_key(&self) -> (String, String) {
        (self.provider.clone(), self.participant.clone())
    }
}

/// Evidence that a page belongs to the participant of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// A secret that the participant alone was given.
    Secret,
    /// A recruiter's identifier, which others may know.
    Identifier,
}

/// The address to which a participant returns at Prolific at the end.
pub fn completion_url(code: &str) -> String {
    format!("https://app.prolific.com/submissions/complete?cc={code}")
}
