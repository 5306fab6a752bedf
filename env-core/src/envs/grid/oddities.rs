//! Oddities of a world that can still be played: rewards that are never paid, ends that never come or come immediately.
//!
//! A kind counts as there if anything could ever put it into a cell or a hand; distances and doors are not considered.
//! So every finding is certain, and not everything that is odd is found.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::params::Params;
use super::{GridFile, World};
use crate::contract::ParamError;
use crate::grid::reward::CompiledReward;
use crate::grid::tables::{Container, Hand};
use crate::grid::{Act, CompiledWhen, EMPTY, KindId, KindSet, Tables};

const ACTS: [(Act, &str); 7] = [
    (Act::Take, "take"),
    (Act::Drop, "drop"),
    (Act::Place, "place"),
    (Act::Add, "add"),
    (Act::Serve, "serve"),
    (Act::Deliver, "deliver"),
    (Act::Toggle, "toggle"),
];

/// The oddities of the world with these parameters (JSON): the parameter, and the reason with its fix. Empty for parameters
/// that are refused.
pub fn list_oddities(params: &str) -> Vec<ParamError> {
    let read = serde_json::from_str::<Params>(params).ok();
    let grid = crate::envs::build_environment::<GridFile>(params.as_bytes()).ok();
    let (Some(params), Some(grid)) = (read, grid) else {
        return Vec::new();
    };
    let params = params.or_room();
    let reach = Reach::new(grid.tables(), &params);
    let rewards = params.rewards.iter().zip(&reach.tables.rewards);
    let mut found: Vec<ParamError> = rewards
        .filter_map(|(reward, compiled)| {
            let field = format!("rewards.{}", reward.name);
            Some(odd(field, reach.doubt_reward(compiled)?))
        })
        .collect();
    found.extend(reach.doubt_gone(grid.world(), &params));
    found.extend(reach.doubt_score(&params));
    found
}

fn odd(field: impl Into<String>, reason: impl Into<String>) -> ParamError {
    ParamError {
        field: field.into(),
        reason: reason.into(),
    }
}

/// The kinds that can ever be there.
struct Reach<'a> {
    tables: &'a Tables,
    /// In a cell when an episode begins.
    first: KindSet,
    /// In a cell at any time.
    there: KindSet,
    /// In a hand at any time; the empty hand among them.
    held: KindSet,
}

fn both(one: KindSet, other: KindSet) -> KindSet {
    KindSet(one.0 & other.0)
}

fn either(one: KindSet, other: KindSet) -> KindSet {
    KindSet(one.0 | other.0)
}

fn is_none(set: KindSet) -> bool {
    set == KindSet::default()
}

impl<'a> Reach<'a> {
    fn new(tables: &'a Tables, params: &Params) -> Self {
        let map = params.map.iter();
        let made = map.flat_map(|map| {
            let things = map.things.iter().filter(|thing| thing.count > 0);
            let things = things.map(|thing| &thing.kind);
            things.chain([&map.border])
        });
        let made = made.filter_map(|name| tables.id(name));
        let first = match &tables.ground {
            Some(ground) => ground.kinds.to_vec(),
            None => made.collect(),
        };
        let first = first.into_iter().filter(|&kind| kind != EMPTY);
        let first = first.fold(KindSet::default(), KindSet::with);
        let mut reach = Self {
            tables,
            first,
            there: first,
            held: KindSet::EMPTY_HAND,
        };
        while reach.grow() {}
        reach
    }

    /// Adds the kinds that hands can make of the existing ones; returns whether there were any.
    fn grow(&mut self) -> bool {
        let (mut there, mut held) = (self.there, self.held);
        for kind in self.list_kinds(self.there) {
            match self.tables.hands[usize::from(kind)] {
                Hand::Loose => held = held.with(kind),
                Hand::Source(gives) => held = held.with(gives),
                Hand::Becomes { with, into, .. } if !is_none(both(with, self.held)) => {
                    there = there.with(into);
                }
                Hand::Container(index) => {
                    let container = &self.tables.containers[usize::from(index)];
                    held = either(held, self.list_results(container));
                }
                _ => {}
            }
        }
        // A held thing can be dropped.
        there = KindSet(either(there, held).0 & !KindSet::EMPTY_HAND.0);
        let has_grown = (there, held) != (self.there, self.held);
        (self.there, self.held) = (there, held);
        has_grown
    }

    /// The results that a container can give.
    fn list_results(&self, container: &Container) -> KindSet {
        if is_none(both(container.with, self.held)) {
            return KindSet::default();
        }
        let dishes = container.dishes.iter();
        let dishes = dishes.filter(|dish| dish.ingredients.iter().all(|&kind| self.held.has(kind)));
        dishes.fold(KindSet::default(), |set, dish| set.with(dish.result))
    }

    fn list_kinds(&self, set: KindSet) -> impl Iterator<Item = KindId> + use<> {
        (1..=self.tables.kinds.len() as KindId).filter(move |&kind| set.has(kind))
    }

    /// The things that can change hands when an act is done to a kind; for a toggle, what the hand can hold.
    fn list_items(&self, act: Act, at: KindId) -> KindSet {
        let things = KindSet(self.held.0 & !KindSet::EMPTY_HAND.0);
        let one = |kind: KindId| KindSet::default().with(kind);
        match (act, self.tables.hands[usize::from(at)]) {
            (Act::Drop, Hand::Floor) => things,
            (Act::Take, Hand::Loose | Hand::Collect) => one(at),
            (Act::Take, Hand::Source(gives)) => one(gives),
            (Act::Take | Act::Place, Hand::Surface(accepts))
            | (Act::Deliver, Hand::Sink(accepts)) => both(things, accepts),
            (Act::Add, Hand::Container(index)) => {
                both(things, self.tables.containers[usize::from(index)].accepts)
            }
            (Act::Serve, Hand::Container(index)) => {
                self.list_results(&self.tables.containers[usize::from(index)])
            }
            (Act::Toggle, Hand::Switch(_)) => KindSet::EMPTY_HAND,
            (Act::Toggle, Hand::Becomes { with, .. }) => both(self.held, with),
            _ => KindSet::default(),
        }
    }

    /// The names of kinds, for people.
    fn name_kinds(&self, set: KindSet) -> String {
        let kinds = self.list_kinds(set).filter_map(|id| self.tables.kind(id));
        let mut names: Vec<String> = kinds.map(|kind| format!("`{}`", kind.name)).collect();
        if set.has(EMPTY) {
            names.push("nothing".into());
        }
        names.join(", ")
    }

    /// The reason why a reward can never be paid.
    fn doubt_reward(&self, reward: &CompiledReward) -> Option<String> {
        match reward.due {
            CompiledWhen::Does { act, item, at } => self.doubt_act(act, item, at),
            CompiledWhen::Stands(set) => {
                let stood_on = both(set, either(self.there, KindSet::EMPTY_HAND));
                if is_none(stood_on) {
                    return Some(self.tell_absent(set));
                }
                is_none(both(stood_on, self.tables.walkable)).then(|| {
                    let names = self.name_kinds(stood_on);
                    format!("is never paid: agents cannot stand on {names}; write `walkable: true` for it")
                })
            }
            CompiledWhen::Own => None,
        }
    }

    fn tell_absent(&self, set: KindSet) -> String {
        let names = self.name_kinds(set);
        format!(
            "is never paid: {names} is nowhere, as the layout has none and nothing makes one; draw one in the layout"
        )
    }

    fn doubt_act(&self, act: Act, item: KindSet, at: KindSet) -> Option<String> {
        let word = |act: Act| {
            ACTS.iter()
                .find(|(of, _)| *of == act)
                .map_or("", |(_, word)| word)
        };
        let there = both(at, either(self.there, KindSet::EMPTY_HAND));
        if is_none(there) {
            return Some(self.tell_absent(at));
        }
        let cells = || {
            self.list_kinds(there)
                .chain(there.has(EMPTY).then_some(EMPTY))
        };
        let items = cells().fold(KindSet::default(), |all, kind| {
            either(all, self.list_items(act, kind))
        });
        if is_none(items) {
            let others = ACTS
                .iter()
                .filter(|(other, _)| cells().any(|kind| !is_none(self.list_items(*other, kind))));
            let others: Vec<String> = others.map(|(_, word)| format!("`{word}`")).collect();
            let others = match others.is_empty() {
                true => "hands can do nothing to it".into(),
                false => format!("hands can only {}", others.join(", ")),
            };
            let names = match at.has(EMPTY) {
                true => "anything".into(),
                false => self.name_kinds(there),
            };
            return Some(format!(
                "is never paid: no hand can ever `{}` at {names}; {others}",
                word(act)
            ));
        }
        is_none(both(items, item)).then(|| {
            format!(
                "is never paid: `item` of `{}` can only be {} there",
                word(act),
                self.name_kinds(items)
            )
        })
    }

    /// Kinds whose absence ends an episode, and that are never there; or none is there at first.
    fn doubt_gone(&self, world: &World, params: &Params) -> Option<ParamError> {
        let field = "ends.when_gone";
        if is_none(world.gone) {
            return None;
        }
        let never = KindSet(world.gone.0 & !self.there.0);
        if is_none(both(world.gone, self.first)) {
            let names = params.ends.when_gone.join("`, `");
            let reason = format!(
                "the layout has no `{names}`, so every episode ends after its first step; draw one in the layout"
            );
            return Some(odd(field, reason));
        }
        (!is_none(never)).then(|| {
            let names = self.name_kinds(never);
            let reason = format!(
                "{names} is nowhere, as the layout has none and nothing makes one; leave it out here, or draw one in the layout"
            );
            odd(field, reason)
        })
    }

    /// Warns of a score that ends an episode, and is never reached or reached immediately.
    fn doubt_score(&self, params: &Params) -> Option<ParamError> {
        let field = "ends.at_score";
        let wanted = params.ends.at_score?;
        if wanted <= 0.0 {
            let reason = "the score begins at 0, so every episode ends after its first step; write a larger number";
            return Some(odd(field, reason));
        }
        let rewards = self.tables.rewards.iter();
        let mut rising = rewards.filter(|reward| {
            reward.scored && reward.worth > 0.0 && self.doubt_reward(reward).is_none()
        });
        rising.next().is_none().then(|| {
            odd(
                field,
                "is never reached: no reward that can be paid raises the score; write `scored: true` for one",
            )
        })
    }
}
