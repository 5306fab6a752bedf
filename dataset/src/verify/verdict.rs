//! The verdict on an episode or a clip.

use std::fmt;

use serde::Serialize;

/// The result of the comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "because")]
pub enum EpisodeVerdict {
    /// Re-simulation gives every recorded digest and the recorded end.
    Equal,
    /// On a host: the world does not repeat itself, so the file is its only record.
    Recorded(String),
    /// Something differs.
    Differs(String),
    /// This program cannot simulate it, and so cannot verify it.
    Unverified(String),
}

impl fmt::Display for EpisodeVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => write!(f, "equal"),
            Self::Recorded(because) => write!(f, "recorded, not verified: {because}"),
            Self::Differs(because) => write!(f, "DIFFERS: {because}"),
            Self::Unverified(because) => write!(f, "NOT VERIFIED: {because}"),
        }
    }
}
