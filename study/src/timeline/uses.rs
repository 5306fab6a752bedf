//! The factors of participants that each stage uses: once somebody has passed such a stage, their level of it stays.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::read::Read;
use super::same::{is_named, list_guards};
use crate::design::{Design, Unit};
use crate::stage::StageKind;

/// The factors that one stage uses, among those with one level for each participant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FactorUse {
    /// The factors that decide whether people come here, or for whom they wait.
    pub before: BTreeSet<String>,
    /// Those that the stage names, or by which it puts people together.
    pub within: BTreeSet<String>,
}

/// The factors that each stage uses, by its index.
pub(crate) fn list_uses(read: &Read<'_>, design: &Design) -> Vec<FactorUse> {
    let guards = list_guards(read);
    let factors = design.between.iter().map(|factor| factor.name.as_str());
    let own = factors.filter(|name| design.unit_of(name) == Unit::Participant);
    let own: Vec<&str> = own.collect();
    (0..read.stages.len() as u16)
        .map(|stage| uses_of(read, stage, &guards, &own))
        .collect()
}

fn uses_of(
    read: &Read<'_>,
    stage: u16,
    guards: &BTreeMap<u16, Vec<(BTreeSet<u16>, usize)>>,
    factors: &[&str],
) -> FactorUse {
    let node = read.places[usize::from(stage)].node;
    let whole = read.stages[usize::from(stage)].as_ref();
    // The canonical form has the texts of the files that the stage names.
    let texts = whole.map_or(Value::Null, |stage| {
        serde_json::to_value(stage).unwrap_or_default()
    });
    let is_asked = |name: &str| {
        let guards = guards.get(&stage).into_iter().flatten();
        let mut whens = guards.filter_map(|(_, guard)| read.blocks[*guard].node.get("when"));
        whens.any(|when| when.mentions(name))
    };
    let waits_for = |name: &str| {
        let partner = node.get("partner");
        partner.is_some_and(|partner| partner.mentions(name))
    };
    let splits = |name: &str| match read.kind(stage) {
        Some(StageKind::Lobby(lobby)) => lobby.matching.sharing.shared.contains(name),
        _ => false,
    };
    let named = |is_it: &dyn Fn(&str) -> bool| {
        let found = factors.iter().filter(|name| is_it(name));
        found.map(|name| (*name).to_owned()).collect()
    };
    FactorUse {
        before: named(&|name| is_asked(name) || waits_for(name)),
        within: named(&|name| splits(name) || is_named(node, name) || is_set_in(&texts, name)),
    }
}

/// Returns whether a text has a name in braces.
fn is_set_in(texts: &Value, name: &str) -> bool {
    match texts {
        Value::String(text) => {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let braces = text.split('{').skip(1);
            let mut braces = braces.filter_map(|inner| inner.split_once('}'));
            braces.any(|(inner, _)| inner.split(|c| !is_word(c)).any(|word| word == name))
        }
        Value::Array(items) => items.iter().any(|item| is_set_in(item, name)),
        Value::Object(entries) => entries.values().any(|value| is_set_in(value, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
