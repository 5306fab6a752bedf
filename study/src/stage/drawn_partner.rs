//! A partner whom the study draws: the name of one of `partners`, or a text that factors make one of.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::ai_partner::AiPartner;
use crate::timeline::fill;
use crate::timeline::tree::Bindings;

/// A partner whom the study draws.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct DrawnPartner {
    /// The text in the file: a name of `partners`, or one with `{{ factor }}` in it.
    pub text: String,
    /// The AI partners that it may come to, by name.
    #[serde(skip)]
    pub choices: BTreeMap<String, AiPartner>,
    /// The names among those that it may come to that are people.
    #[serde(skip)]
    pub people: BTreeSet<String>,
}

impl DrawnPartner {
    /// One of which it is not known yet what it may come to.
    pub(crate) fn of(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// The name where names stand for these values: of an AI partner, of a pool, or of a person. `None` if a name in the
    /// text stands for nothing.
    pub(crate) fn name(&self, bindings: &Bindings) -> Option<String> {
        fill::word(&self.text, bindings)
    }

    /// The AI partner where names stand for these values, a pool among them for the member that was drawn; `None` for a
    /// person.
    pub fn ai_partner(&self, bindings: &Bindings) -> Option<&AiPartner> {
        let name = self.name(bindings)?;
        let member = bindings.get(&name).map(|level| level.name.as_str());
        self.choices.get(member.unwrap_or(&name))
    }
}
