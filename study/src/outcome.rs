//! How a participant's way through a study ended.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::read::Cursor;

/// The end of a participant's session: a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the field's own words")]
pub enum Outcome {
    Completed,
    NoConsent,
    Ineligible,
    FailedQuiz,
    LobbyTimeout,
    PartnerLeft,
    Technical,
    Withdrew,
    TimedOut,
    StudyFull,
    // New ones come last: the codes that are drawn depend on the place.
    LeftEarly,
    PageFailed,
}

impl Outcome {
    /// Every outcome and its name.
    pub const ALL: [(&'static str, Self); 12] = [
        ("completed", Self::Completed),
        ("no_consent", Self::NoConsent),
        ("ineligible", Self::Ineligible),
        ("failed_quiz", Self::FailedQuiz),
        ("lobby_timeout", Self::LobbyTimeout),
        ("partner_left", Self::PartnerLeft),
        ("technical", Self::Technical),
        ("withdrew", Self::Withdrew),
        ("timed_out", Self::TimedOut),
        ("study_full", Self::StudyFull),
        ("left_early", Self::LeftEarly),
        ("page_failed", Self::PageFailed),
    ];

    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Reads an outcome.
pub(crate) fn read(place: &Cursor<'_>) -> Option<Outcome> {
    place.named("outcome", |place| place.read_word("outcome", &Outcome::ALL))
}
