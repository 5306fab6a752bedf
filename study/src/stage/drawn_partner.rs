//! A partner that the study draws: the name of one of `partners`, or a text that becomes such a name by factors.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::ai_partner::AiPartner;
use crate::timeline::fill;
use crate::timeline::tree::Bindings;

/// A partner that the study draws.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct DrawnPartner {
    /// The text in the file: a name of `partners`, or one with `{{ factor }}` in it.
    pub text: String,
    /// The possible AI partners, by name.
    #[serde(skip)]
    pub choices: BTreeMap<String, AiPartner>,
    /// The possible names that are people.
    #[serde(skip)]
    pub people: BTreeSet<String>,
}

impl DrawnPartner {
    /// Creates one whose possible partners are not known yet.
    pub(crate) fn of(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// Returns the name with these values for names: of an AI partner, of a pool, or of a person. `None` if a name in
    /// the text stands for nothing.
    pub(crate) fn name(&self, bindings: &Bindings) -> Option<String> {
        fill::fill_text(&self.text, bindings)
    }

    /// Returns the AI partner with these values for names, for a pool its drawn member; `None` for a person.
    pub fn ai_partner(&self, bindings: &Bindings) -> Option<&AiPartner> {
        let name = self.name(bindings)?;
        let member = bindings.get(&name).map(|level| level.name.as_str());
        self.choices.get(member.unwrap_or(&name))
    }
}
