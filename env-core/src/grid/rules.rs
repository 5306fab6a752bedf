//! The two sets of rules.

use serde::{Deserialize, Serialize};

/// Which rules hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuleSet {
    /// CoGrid 0.3.2, field for field, seeds included.
    #[serde(rename = "cogrid-0.3.2")]
    Cogrid,
    /// The same game with the artefacts mended.
    #[default]
    #[serde(rename = "corrected")]
    Corrected,
}
