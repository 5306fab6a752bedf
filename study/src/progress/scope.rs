//! The values of a participant for formulas.

use std::collections::BTreeMap;

use serde_json::Value;

use super::facts::{Episode, ParticipantFacts};
use crate::screening::Measured;
use crate::stage::StageKind;
use crate::study::Study;
use crate::timeline::tree::{Bindings, Guard};

impl ParticipantFacts {
    /// Returns the values that formulas can use: an env stage by its id, with the list of its `episodes`; `answers` by
    /// stage and item; the measurements of the `screening`; and the values of names.
    pub fn scope(&self, study: &Study, bindings: &Bindings) -> BTreeMap<String, formula::Value> {
        let mut scope = BTreeMap::new();
        let measured = self.screening.as_deref().map(Measured::value);
        let measured = measured.map(formula::Value::Record);
        scope.extend(measured.map(|measured| ("screening".to_owned(), measured)));
        let seat = self.seat.map(|seat| formula::Value::from(f64::from(seat)));
        scope.extend(seat.map(|seat| ("seat".to_owned(), seat)));
        let mut answers = BTreeMap::new();
        for stage in &study.timeline {
            match &stage.kind {
                StageKind::Env(_) => {
                    let episodes = self.episodes.get(&stage.id).map_or(&[][..], Vec::as_slice);
                    let episodes: Vec<formula::Value> =
                        episodes.iter().map(Episode::value).collect();
                    scope.insert(stage.id.clone(), [("episodes", episodes)].into());
                }
                StageKind::Survey(_) => {
                    let items = self.answers.get(&stage.id).into_iter().flatten();
                    let items =
                        items.filter_map(|(name, value)| Some((name.clone(), known(value)?)));
                    answers.insert(stage.id.clone(), formula::Value::Record(items.collect()));
                }
                _ => {}
            }
        }
        scope.insert("answers".to_owned(), formula::Value::Record(answers));
        let bound = bindings.iter();
        scope.extend(bound.filter_map(|(name, level)| Some((name.clone(), known(&level.value)?))));
        scope
    }
}

impl Guard {
    /// Returns whether the copy is walked. A guard that asks for something that is not there, such as an answer to a question
    /// that was passed over, does not hold.
    pub(crate) fn holds(
        &self,
        study: &Study,
        facts: &ParticipantFacts,
        bindings: &Bindings,
    ) -> bool {
        let scope = facts.scope(study, bindings);
        self.0.eval(&scope) == Ok(formula::Value::Bool(true))
    }
}

/// Converts a value for formulas, which have no value for null.
fn known(value: &Value) -> Option<formula::Value> {
    serde_json::from_value(value.clone()).ok()
}
