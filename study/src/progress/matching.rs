//! The groups that a lobby wants, by what its members answered, played and drew.

use std::collections::BTreeMap;

use super::Progress;
use crate::stage::lobby::Matching;
use crate::study::Study;

impl Matching {
    /// Returns whether people who wait in the lobby are a group that it wants. A formula does not hold if it uses
    /// something that is missing, such as an answer to a question that was passed over.
    pub fn is_wanted(&self, study: &Study, members: &[&Progress]) -> bool {
        let Some(wanted) = &self.composition else {
            return true;
        };
        let member = |progress: &&Progress| {
            let bindings = progress.bindings(study);
            formula::Value::Record(progress.facts().scope(study, &bindings))
        };
        let members: Vec<formula::Value> = members.iter().map(member).collect();
        let scope = BTreeMap::from([("members".to_owned(), formula::Value::from(members))]);
        wanted.eval(&scope) == Ok(formula::Value::Bool(true))
    }
}
