//! Facts that only the authors of a data set can state.

use serde::Deserialize;

/// An example of the file of facts.
pub const EXAMPLE: &str = r#"{
  "description": "Pairs of people and an AI partner cook together in Overcooked.",
  "authors": ["Ada Example", "Bo Example"],
  "license": "CC-BY-4.0",
  "url": "https://doi.org/10.5281/zenodo.1234567"
}"#;

/// Facts that the authors state of their data set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrateFacts {
    /// The title; by default that of the study.
    pub title: Option<String>,
    /// The contents in a sentence or two.
    pub description: String,
    /// The authors.
    pub authors: Vec<String>,
    /// The licence: an identifier of SPDX, or an address.
    pub license: String,
    /// The address of the published data set.
    pub url: String,
    /// How to cite it.
    pub citation: Option<String>,
    /// The day of publication, `2026-11-25`.
    pub published: Option<String>,
    /// Uses that the data are meant for.
    pub uses: Option<String>,
    /// Uses that they are not meant for, and gaps in them.
    pub limitations: Option<String>,
    /// Known biases, such as who took part.
    pub biases: Option<String>,
    /// The effect on society of using them.
    pub social_impact: Option<String>,
}

impl CrateFacts {
    /// Reads the file of facts, JSON.
    ///
    /// # Errors
    /// The text is no JSON, or a fact is missing or unknown.
    pub fn read(text: &str) -> anyhow::Result<Self> {
        let facts: Self = serde_json::from_str(text)
            .map_err(|error| anyhow::anyhow!("{error}; write for example\n{EXAMPLE}"))?;
        anyhow::ensure!(
            !facts.authors.is_empty(),
            "`authors` is empty; name at least one person or laboratory"
        );
        Ok(facts)
    }

    /// The address of the licence.
    pub(super) fn license_url(&self) -> String {
        match self.license.contains("://") {
            true => self.license.clone(),
            false => format!("https://spdx.org/licenses/{}", self.license),
        }
    }
}
