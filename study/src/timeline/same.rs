//! Factors that the people of a group share: the factors that a lobby names in `match.same`, and those without which a
//! stage that they play together would be two different stages.
//!
//! A factor of participants that is neither does not split the waiting room.

use std::collections::{BTreeMap, BTreeSet};

use super::groups::Makers;
use super::read::Read;
use super::tree::{ForEach, Node};
use crate::design::{Design, Unit};
use crate::problem::make_hint;
use crate::stage::StageKind;
use crate::yaml;

/// Tells every lobby which factors of participants its people share, and reports names in `match.same` that are none.
pub(crate) fn check_same(read: &mut Read<'_>, design: &Design, makers: &BTreeMap<u16, Makers>) {
    let needed = needed(read, design, makers);
    let (around, guards) = (around(read), list_guards(read));
    for index in 0..read.stages.len() as u16 {
        let at = usize::from(index);
        let Some(StageKind::Lobby(lobby)) = read.kind(index) else {
            continue;
        };
        let around = around.get(&index).cloned().unwrap_or_default();
        let factors = factors(design, &around);
        let mut shared = BTreeSet::new();
        for (number, name) in lobby.matching.same.iter().flatten().enumerate() {
            if factors.contains(name.as_str()) {
                shared.insert(name.clone());
                continue;
            }
            let known: Vec<&str> = factors.iter().copied().collect();
            let message = wrong(design, name, &known);
            read.places[at].wrong_at(&format!("match.same[{number}]"), message);
        }
        // People who wait for different partners do not wait for each other.
        let waits_for = |name: &&str| {
            let node = read.places[at].node.get("partner");
            node.is_some_and(|node| node.mentions(name))
        };
        let own = factors.iter().copied().filter(waits_for);
        let needed = needed.get(&index).into_iter().flatten();
        let needed = needed.filter(|name| factors.contains(name.as_str()));
        let needed: BTreeSet<String> = needed.cloned().chain(own.map(str::to_owned)).collect();
        // Who waits in a block that is guarded by a factor has passed the guard.
        let is_asked = |name: &str| {
            let guards = guards.get(&index).into_iter().flatten();
            let mut whens = guards.filter_map(|(_, guard)| read.blocks[*guard].node.get("when"));
            whens.any(|when| when.mentions(name))
        };
        let asked = factors.iter().filter(|name| is_asked(name));
        let asked: Vec<String> = asked.map(|name| (*name).to_owned()).collect();
        let free = factors.iter().map(|name| (*name).to_owned());
        let free = free.filter(|name| !shared.contains(name) && !needed.contains(name));
        let free = free.collect();
        if let Some(StageKind::Lobby(lobby)) = read.stages[at].as_mut().map(|it| &mut it.kind) {
            lobby.matching.sharing.free = free;
            lobby.matching.sharing.asked = asked;
            shared.extend(needed);
            lobby.matching.sharing.shared = shared;
        }
    }
}

fn wrong(design: &Design, name: &str, known: &[&str]) -> String {
    if design.has(name) && design.unit_of(name) == Unit::Group {
        return format!(
            "`{name}` is drawn for a group once it is made (`unit: group`), so its people share it anyway; remove it here"
        );
    }
    if design.within_factor(name).is_some() {
        return format!(
            "participants have no single level of `{name}` here, as it is a factor of `within`; write `for_each: {name}` \
             at a block around this lobby, or remove it here"
        );
    }
    match known.is_empty() {
        true => {
            format!("there is no factor `{name}` of participants in the design; remove it here")
        }
        false => format!(
            "there is no factor `{name}` of participants here; {}",
            make_hint(name, known)
        ),
    }
}

/// The factors of which each participant has one level at a lobby.
fn factors<'d>(design: &'d Design, around: &BTreeSet<String>) -> BTreeSet<&'d str> {
    let is_own = |name: &&str| design.unit_of(name) == Unit::Participant;
    let within = design.within.iter().map(|factor| factor.name.as_str());
    let within = within.filter(|name| around.contains(*name));
    let between = design.between.iter().map(|factor| factor.name.as_str());
    between.chain(within).filter(is_own).collect()
}

/// By lobby, the names that stages need which its people play together: they are in the stage, or in a guard around it.
fn needed(
    read: &Read<'_>,
    design: &Design,
    makers: &BTreeMap<u16, Makers>,
) -> BTreeMap<u16, BTreeSet<String>> {
    let guards = list_guards(read);
    let mut needed: BTreeMap<u16, BTreeSet<String>> = BTreeMap::new();
    for (stage, makers) in makers {
        let place = &read.places[usize::from(*stage)];
        let around = guards.get(stage).into_iter().flatten();
        for name in design.names() {
            let own = is_named(place.node, name);
            for lobby in &makers.lobbies {
                let mut outside = around.clone().filter(|(within, _)| !within.contains(lobby));
                let is_asked = outside.any(|(_, guard)| {
                    let when = read.blocks[*guard].node.get("when");
                    when.is_some_and(|when| when.mentions(name))
                });
                if own || is_asked {
                    needed.entry(*lobby).or_default().insert(name.to_owned());
                }
            }
        }
    }
    needed
}

/// Returns whether a stage names a factor, other than in its id and in the stages that everybody does alone after each of
/// its visits.
pub(super) fn is_named(stage: &yaml::Node, name: &str) -> bool {
    let yaml::Data::Map(entries) = &stage.data else {
        return false;
    };
    let of_stage = entries.iter();
    let mut of_stage =
        of_stage.filter(|(key, _)| !matches!(key.name.as_str(), "id" | "after_each"));
    of_stage.any(|(_, node)| node.mentions(name))
}

/// By stage, the guarded blocks around it: the stages that each holds, and its number.
pub(super) fn list_guards(read: &Read<'_>) -> BTreeMap<u16, Vec<(BTreeSet<u16>, usize)>> {
    let mut all = BTreeMap::<u16, Vec<(BTreeSet<u16>, usize)>>::new();
    each_block(&read.tree, &mut |block, stages| {
        if block.guarded {
            for stage in stages {
                let of_stage = all.entry(*stage).or_default();
                of_stage.push((stages.clone(), usize::from(block.number)));
            }
        }
    });
    all
}

/// By stage, the factors for whose levels the blocks around it make copies.
fn around(read: &Read<'_>) -> BTreeMap<u16, BTreeSet<String>> {
    let mut all = BTreeMap::<u16, BTreeSet<String>>::new();
    each_block(&read.tree, &mut |block, stages| {
        if let Some(ForEach::Factor(name)) = &block.for_each {
            for stage in stages {
                all.entry(*stage).or_default().insert(name.clone());
            }
        }
    });
    all
}

/// Shows every block with its stages to a function, and returns all stages.
fn each_block(
    nodes: &[Node],
    show: &mut impl FnMut(&super::tree::Block, &BTreeSet<u16>),
) -> BTreeSet<u16> {
    let mut all = BTreeSet::new();
    for node in nodes {
        match node {
            Node::Stage(stage) => drop(all.insert(*stage)),
            Node::Block(block) => {
                let stages = each_block(&block.block, show);
                show(block, &stages);
                all.extend(stages);
            }
        }
    }
    all
}
