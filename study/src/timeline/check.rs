//! Checks of the tree: ids, ends, lobbies and their groups, names and what they stand for, and the length of the walk.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::design::{Design, Level, Unit};
use crate::formula::{Formula, Type, Types};
use crate::problem::hint;
use crate::read::Place;
use crate::stage::{Env, Kind, Lobby, Stage};
use crate::yaml;

use super::adjacency::Adjacency;
use super::fill::{self, Malformed, Reference};
use super::read::{Read, unknown};
use super::{Block, ForEach, Guard, MAX_VISITS, Node};

/// What names can stand for at a stage.
pub(crate) type Scope = BTreeMap<String, Vec<Level>>;

/// The most combinations of levels in which an env stage can be played.
const MAX_COMBINATIONS: usize = 1_000;

/// Reports ids that are there twice.
pub(crate) fn ids(read: &Read<'_>) {
    let mut seen: BTreeMap<&str, (&str, u32)> = BTreeMap::new();
    for (id, place) in &read.ids {
        let at = place.node.locate("id");
        if let Some((what, line)) = seen.get(id.as_str()) {
            let message = format!(
                "`{id}` is already the id of the {what} on line {line}; ids name stages in the data, so give each its own"
            );
            place.wrong_at("id", message);
        } else {
            let is_block = place.node.get("block").is_some();
            seen.insert(id, (if is_block { "block" } else { "stage" }, at.line));
        }
    }
}

/// Reports end stages behind which something stands that is never reached. Gives whether the timeline surely ends in one.
pub(crate) fn ends(read: &Read<'_>) -> bool {
    ends_in(&read.tree, read)
}

fn ends_in(nodes: &[Node], read: &Read<'_>) -> bool {
    let last = nodes.len().saturating_sub(1);
    let mut surely = false;
    for (at, node) in nodes.iter().enumerate() {
        let ends = match node {
            Node::Stage(stage) => matches!(read.kind(*stage), Some(Kind::End(_))),
            Node::Block(block) => block_ends(block, read),
        };
        if ends && at < last {
            never_reached(node, read);
        }
        surely |= ends;
    }
    surely
}

fn block_ends(block: &Block, read: &Read<'_>) -> bool {
    let is_sequence = block.kept() == block.block.len() && !block.shuffle;
    let surely = match is_sequence {
        true => ends_in(&block.block, read),
        false => {
            block
                .block
                .iter()
                .filter(|node| ends_in(std::slice::from_ref(*node), read))
                .count()
                > 0
        }
    };
    if surely && !block.guarded && (!is_sequence || block.repeat > 1 || block.for_each.is_some()) {
        block
            .block
            .iter()
            .filter(|node| ends_in(std::slice::from_ref(*node), read))
            .for_each(|node| never_reached(node, read));
    }
    surely && !block.guarded
}

fn never_reached(node: &Node, read: &Read<'_>) {
    let place = match node {
        Node::Stage(stage) => &read.places[usize::from(*stage)],
        Node::Block(block) => &read.blocks[usize::from(block.number)],
    };
    place.wrong("an end stage before the last stage; what follows is never reached, so move it to the end of the timeline");
}

/// Reports a walk that is longer than a route may be, at the smallest block that is too long.
pub(crate) fn length(read: &Read<'_>, design: &Design, timeline: &Place<'_>) {
    let visits = read.tree.iter().map(|node| visits(node, read, design));
    let Some(all) = visits.sum::<Option<usize>>() else {
        return;
    };
    if all > MAX_VISITS {
        timeline.wrong(format!("the way has up to {all} visits of stages; the limit is {MAX_VISITS}, so lower `repeat` or remove stages"));
    }
}

/// The most visits that a node makes; none if that is too many, which is then reported.
fn visits(node: &Node, read: &Read<'_>, design: &Design) -> Option<usize> {
    let Node::Block(block) = node else {
        return Some(1);
    };
    let inner: Option<Vec<usize>> = block
        .block
        .iter()
        .map(|node| visits(node, read, design))
        .collect();
    let mut inner = inner?;
    inner.sort_unstable_by(|a, b| b.cmp(a));
    let all = inner.iter().take(block.kept()).sum::<usize>() * block.copies(design);
    if all > MAX_VISITS {
        let place = &read.blocks[usize::from(block.number)];
        let key = if block.repeat > 1 {
            "repeat"
        } else {
            "for_each"
        };
        place.wrong_at(key, format!("the copies of this make up to {all} visits of stages; the limit of a way is {MAX_VISITS}, so make fewer"));
        return None;
    }
    Some(all)
}

/// Reports lobbies without their env stage and groups without their lobby. A stage that has faults of its own is not
/// judged. Gives the lobby before each env stage that has one.
pub(crate) fn groups(read: &Read<'_>, design: &Design) -> BTreeMap<u16, u16> {
    let adjacency = Adjacency::of(&read.tree, &read.stages, design);
    let mut lobbies = BTreeMap::new();
    for (index, place) in (0..).zip(&read.places) {
        match read.kind(index) {
            Some(Kind::Lobby(lobby)) => after_lobby(
                place,
                lobby,
                &adjacency.after(index).collect::<Vec<_>>(),
                read,
            ),
            Some(Kind::Env(env)) => {
                let before: Vec<_> = adjacency.before(index).collect();
                before_env(place, env, index, &before, read);
                let is_lobby = |stage: &u16| matches!(read.kind(*stage), Some(Kind::Lobby(_)));
                lobbies.extend(
                    before
                        .into_iter()
                        .flatten()
                        .find(is_lobby)
                        .map(|lobby| (index, lobby)),
                );
            }
            _ => {}
        }
    }
    lobbies
}

fn after_lobby(place: &Place<'_>, lobby: &Lobby, after: &[Option<u16>], read: &Read<'_>) {
    let mut told = BTreeSet::new();
    for next in after {
        let message = match next.map(|next| read.stages[usize::from(next)].as_ref()) {
            Some(None) => continue,
            Some(Some(Stage { kind: Kind::Env(env), .. })) if env.people() == usize::from(lobby.group_size) => continue,
            Some(Some(Stage { kind: Kind::Env(env), .. })) => {
                let players = env.people();
                let message = format!(
                    "groups of {}, but the env stage that follows has {players} {}; make the two equal",
                    lobby.group_size,
                    if players == 1 { "person" } else { "people" },
                );
                place.wrong_at("group_size", message);
                continue;
            }
            Some(Some(Stage { id, kind: Kind::Lobby(_) })) => {
                format!("the lobby `{id}` can come right after this lobby, and a group that plays nothing is of no use; put the env stage right after each lobby, or remove one")
            }
            _ => "a lobby makes a group, but no env stage follows it; put the env stage right after the lobby, or remove the lobby".to_owned(),
        };
        if told.insert(message.clone()) {
            place.wrong(message);
        }
    }
}

fn before_env(place: &Place<'_>, env: &Env, index: u16, before: &[Option<u16>], read: &Read<'_>) {
    let players = env.people();
    let is_fit = |before: &Option<u16>| {
        let stage = before.map(|before| read.stages[usize::from(before)].as_ref());
        matches!(
            stage,
            Some(
                None | Some(Stage {
                    kind: Kind::Lobby(_),
                    ..
                })
            )
        )
    };
    let Some(other) = before
        .iter()
        .find(|before| !is_fit(before))
        .filter(|_| players > 1)
    else {
        return;
    };
    let lobby = format!(
        "`- {{id: lobby, type: lobby, group_size: {players}, timeout_s: 60, on_timeout: wait}}`"
    );
    let message = match other {
        Some(other) if before.iter().any(is_fit) => {
            let id = read.stages[usize::from(*other)]
                .as_ref()
                .map_or("", |stage| stage.id.as_str());
            let id = if *other == index {
                "an earlier copy of itself".to_owned()
            } else {
                format!("`{id}`")
            };
            format!(
                "{players} people, and {id} can come right before this stage instead of the lobby, so there would be no group; \
                 put lobby and stage next to each other into one block that is repeated, shuffled or guarded as a whole"
            )
        }
        _ => format!(
            "{players} people, but no lobby comes right before this stage, so nobody would ever have a partner; add one: {lobby}"
        ),
    };
    place.wrong_at("players", message);
}

/// Gives every env stage that calls an AI partner for a person who is gone the one of the lobby before it, unless it
/// names its own; reports those that have neither.
pub(crate) fn bots(read: &mut Read<'_>, lobbies: &BTreeMap<u16, u16>) {
    for index in 0..read.stages.len() as u16 {
        let lobby = lobbies
            .get(&index)
            .and_then(|lobby| match read.kind(*lobby) {
                Some(Kind::Lobby(lobby)) => lobby.bot.clone(),
                _ => None,
            });
        // The lobby may be what could not be read.
        let is_unsure = index > 0 && read.stages[usize::from(index) - 1].is_none();
        let Some(Kind::Env(env)) = read.stages[usize::from(index)]
            .as_mut()
            .map(|stage| &mut stage.kind)
        else {
            continue;
        };
        let terms = &mut env.on_disconnect;
        let calls = terms.calls().first().copied();
        let Some(key) = calls.filter(|_| terms.bot.is_none() && !is_unsure) else {
            continue;
        };
        terms.bot = lobby;
        if terms.bot.is_none() {
            let message = "calls an AI partner, but neither this block nor a lobby before the stage names one; \
                           write for example `bot: {policy: cook, disclose: true}` in this block";
            read.places[usize::from(index)].wrong_at(&format!("on_disconnect.{key}"), message);
        }
    }
}

/// Marks the blocks for which a group draws, because its people play a stage of the block together.
pub(crate) fn shared(read: &mut Read<'_>, design: &Design) {
    let mut tree = std::mem::take(&mut read.tree);
    mark(&mut tree, read, design);
    read.tree = tree;
}

/// Whether people of a group that was made before these nodes play in them, and whether a lobby is among them.
fn mark<'n>(
    nodes: impl IntoIterator<Item = &'n mut Node>,
    read: &Read<'_>,
    design: &Design,
) -> (bool, bool) {
    let (mut together, mut lobby) = (false, false);
    for node in nodes {
        let (inner, makes) = match node {
            Node::Stage(stage) => match read.kind(*stage) {
                Some(Kind::Env(env)) => (env.people() > 1, false),
                kind => (false, matches!(kind, Some(Kind::Lobby(_)))),
            },
            Node::Block(block) => {
                let (inner, makes) = mark(&mut block.block, read, design);
                block.shared = inner;
                if let (true, Some(ForEach::Factor(name)), Unit::Participant) =
                    (inner, &block.for_each, design.unit)
                {
                    let message = format!(
                        "`{name}` is drawn for each participant, but a group that a lobby made before plays here together; \
                         write `unit: group` in the design, or put the lobby into the block too"
                    );
                    read.blocks[usize::from(block.number)].wrong_at("for_each", message);
                }
                (inner, makes)
            }
        };
        together |= inner && !lobby;
        lobby |= makes;
    }
    (together, lobby)
}

/// Reads the guards, and reports names that stand for nothing where they are used, and factors that nothing uses. Gives
/// what names can stand for at each stage.
pub(crate) fn names(
    read: &mut Read<'_>,
    design: &Design,
    root: &Place<'_>,
) -> BTreeMap<u16, Scope> {
    let facts = variables(read);
    let mut walk = Names {
        read: &*read,
        design,
        facts,
        scopes: BTreeMap::new(),
        used: BTreeSet::new(),
        guards: BTreeMap::new(),
    };
    walk.nodes(&read.tree, &Scope::new(), false);
    let Names {
        scopes,
        used,
        mut guards,
        ..
    } = walk;
    set(&mut read.tree, &mut guards);
    for name in design.names() {
        clash(name, read, root, &path_of(design, name));
        let is_within = design.within(name).is_some();
        let is_used = match is_within {
            true => used.contains(name),
            false => mentions(root, name),
        };
        if !is_used {
            let mend = match is_within {
                true => format!("write `for_each: {name}` at a block or stage"),
                false => format!(
                    "write `{{{{ {name} }}}}` in the config of an env stage, or `{name}` in a formula"
                ),
            };
            root.wrong_at(
                &path_of(design, name),
                format!("never used; {mend}, or remove the factor"),
            );
        }
    }
    scopes
}

fn path_of(design: &Design, name: &str) -> String {
    let kind = if design.within(name).is_some() {
        "within"
    } else {
        "between"
    };
    format!("design.{kind}.{name}")
}

/// Reports a name that is the id of a stage, too.
fn clash(name: &str, read: &Read<'_>, place: &Place<'_>, key: &str) {
    if let Some((_, other)) = read.ids.iter().find(|(id, _)| id == name) {
        let line = other.node.locate("id").line;
        place.wrong_at(key, format!("`{name}` is also the id on line {line}, so a formula would not know which is meant; give one of them another name"));
    }
}

/// Whether a word is anywhere in the file outside the design.
fn mentions(root: &Place<'_>, word: &str) -> bool {
    fn any(node: &yaml::Node, word: &str) -> bool {
        match &node.data {
            yaml::Data::Plain(text) | yaml::Data::Quoted(text) => {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                text.split(|c| !is_word(c)).any(|found| found == word)
            }
            yaml::Data::List(items) => items.iter().any(|node| any(node, word)),
            yaml::Data::Map(entries) => entries.iter().any(|(_, node)| any(node, word)),
        }
    }
    let yaml::Data::Map(entries) = &root.node.data else {
        return false;
    };
    let others = entries
        .iter()
        .filter(|(key, _)| !matches!(key.name.as_str(), "design" | "study"));
    others.into_iter().any(|(_, node)| any(node, word))
}

/// Puts the guards into the blocks with their numbers.
fn set(nodes: &mut [Node], guards: &mut BTreeMap<u16, Guard>) {
    for node in nodes {
        if let Node::Block(block) = node {
            block.when = guards.remove(&block.number);
            set(&mut block.block, guards);
        }
    }
}

/// What every formula can ask about a participant: [`crate::progress::Facts::scope`] gives the values.
fn variables(read: &Read<'_>) -> Types {
    let episode = [
        ("score", Type::Number),
        ("ticks", Type::Number),
        ("success", Type::Bool),
        ("reason", Type::Text),
    ];
    let mut types = Types::new();
    let mut answers = Types::new();
    for stage in read.stages.iter().flatten() {
        match &stage.kind {
            Kind::Env(_) => {
                let episodes = Type::list(Type::record(episode.clone()));
                types.insert(stage.id.clone(), Type::record([("episodes", episodes)]));
            }
            Kind::Survey(survey) => {
                let items = survey.items.iter();
                let items = items.map(|item| (item.name.clone(), Type::Any));
                answers.insert(stage.id.clone(), Type::Record(items.collect()));
            }
            _ => {}
        }
    }
    types.insert("answers".to_owned(), Type::Record(answers));
    types
}

/// The type of what a name can stand for.
fn type_of(levels: &[Level]) -> Type {
    let of = |value: &Value| match value {
        Value::Bool(_) => Type::Bool,
        Value::Number(_) => Type::Number,
        Value::String(_) => Type::Text,
        _ => Type::Any,
    };
    let mut types = levels.iter().map(|level| of(&level.value));
    let first = types.next().unwrap_or(Type::Any);
    if types.all(|other| other == first) {
        first
    } else {
        Type::Any
    }
}

struct Names<'r, 'a> {
    read: &'r Read<'a>,
    design: &'r Design,
    scopes: BTreeMap<u16, Scope>,
    /// Factors for whose levels copies are made.
    used: BTreeSet<String>,
    /// What every formula can ask.
    facts: Types,
    /// The guards of blocks, by their number.
    guards: BTreeMap<u16, Guard>,
}

impl Names<'_, '_> {
    /// Gives whether a lobby was surely passed, before or among these nodes.
    fn nodes(&mut self, nodes: &[Node], scope: &Scope, mut lobby: bool) -> bool {
        for node in nodes {
            lobby = self.node(node, scope, lobby);
        }
        lobby
    }

    fn node(&mut self, node: &Node, scope: &Scope, lobby: bool) -> bool {
        let block = match node {
            Node::Stage(stage) => return self.stage(*stage, scope, lobby),
            Node::Block(block) => block,
        };
        let mut inner = scope.clone();
        if let Some(each) = &block.for_each {
            let levels = self.levels(each, block, scope, lobby);
            inner.insert(each.name().to_owned(), levels);
        }
        self.guard(block, &inner, lobby);
        let passed = if block.kept() == block.block.len() && !block.shuffle {
            self.nodes(&block.block, &inner, lobby)
        } else {
            let passed: Vec<bool> = block
                .block
                .iter()
                .map(|node| self.node(node, &inner, lobby))
                .collect();
            passed.iter().filter(|passed| !**passed).count() < block.kept()
        };
        lobby || (passed && !block.guarded)
    }

    /// Reads the guard of a block: it is asked in each copy, where names stand for the values of the copy.
    fn guard(&mut self, block: &Block, scope: &Scope, lobby: bool) {
        let place = &self.read.blocks[usize::from(block.number)];
        let Some(place) = place.at("when") else {
            return;
        };
        let mut types = self.facts.clone();
        let names = self.with_treatment(scope, lobby);
        types.extend(
            names
                .iter()
                .map(|(name, levels)| (name.clone(), type_of(levels))),
        );
        let guard = Formula::read(&place, &types, &Type::Bool);
        self.guards
            .extend(guard.map(|formula| (block.number, Guard(formula))));
    }

    /// What names stand for, with the factors of which a unit gets one level.
    fn with_treatment(&self, scope: &Scope, lobby: bool) -> Scope {
        let mut scope = scope.clone();
        if self.design.unit == Unit::Participant || lobby {
            let factors = self.design.between.iter();
            scope.extend(factors.map(|factor| (factor.name.clone(), factor.levels.clone())));
        }
        scope
    }

    /// The values that copies are made for; reports a name that cannot be used here.
    fn levels(&mut self, each: &ForEach, block: &Block, scope: &Scope, lobby: bool) -> Vec<Level> {
        let place = &self.read.blocks[usize::from(block.number)];
        let name = each.name();
        match each {
            _ if scope.contains_key(name) => place.wrong_at("for_each", format!("`{name}` already stands for a value of a block around this one; give one of them another name")),
            ForEach::Factor(_) => self.factor(name, place, lobby),
            ForEach::Values { .. } => {
                let key = format!("for_each.{name}");
                match self.design.has(name) {
                    true => place.wrong_at(&key, format!("`{name}` is a factor of the design; write `for_each: {name}` for its levels, or give these values another name")),
                    false => clash(name, self.read, place, &key),
                }
            }
        }
        each.levels(self.design).to_vec()
    }

    fn factor(&mut self, name: &str, place: &Place<'_>, lobby: bool) {
        let Some(_) = self.design.within(name) else {
            let message = match self.design.between(name) {
                Some(_) => format!(
                    "`{name}` is a factor of `between`, of which everyone has one level; use it as `{{{{ {name} }}}}` or in `when`, or move it to `within`"
                ),
                None => {
                    let known: Vec<&str> = self
                        .design
                        .within
                        .iter()
                        .map(|factor| factor.name.as_str())
                        .collect();
                    let mend = format!(
                        "name a factor of `design.within`, or write the values: `{{{name}: [a, b]}}`"
                    );
                    format!("{}; {mend}", unknown("factor", name, &known))
                }
            };
            return place.wrong_at("for_each", message);
        };
        self.used.insert(name.to_owned());
        if self.design.unit == Unit::Group && !lobby {
            let message = format!(
                "`{name}` is drawn for a group (`unit: group`), and there is none yet, as no lobby comes before this place; \
                 put a lobby before it, or write `unit: participant` in the design"
            );
            place.wrong_at("for_each", message);
        }
    }

    fn stage(&mut self, stage: u16, scope: &Scope, lobby: bool) -> bool {
        let kind = self.read.kind(stage);
        let is_lobby = matches!(kind, Some(Kind::Lobby(_)));
        let scope = self.with_treatment(scope, lobby);
        if let Some(Kind::Env(env)) = kind {
            self.config(&self.read.places[usize::from(stage)], env, &scope);
        }
        self.scopes.insert(stage, scope);
        lobby || is_lobby
    }

    fn config(&self, place: &Place<'_>, env: &Env, scope: &Scope) {
        let mut names = BTreeSet::new();
        for (path, found) in fill::references(&env.config, "config") {
            match found {
                Err(Malformed) => place.wrong_at(&path, "`{{` begins a name that cannot be read; write `{{ name }}` or `{{ name.parameter }}`"),
                Ok(found) => {
                    for reference in found {
                        self.reference(place, &path, &reference, scope);
                        names.insert(reference.0);
                    }
                }
            }
        }
        let levels = names
            .iter()
            .filter_map(|name| scope.get(name))
            .map(Vec::len);
        let all = levels.fold(1_usize, usize::saturating_mul);
        if all > MAX_COMBINATIONS {
            place.wrong_at("config", format!("{all} combinations of the values of {}; there must be at most {MAX_COMBINATIONS}", Vec::from_iter(names).join(", ")));
        }
    }

    fn reference(&self, place: &Place<'_>, path: &str, (name, inner): &Reference, scope: &Scope) {
        let Some(levels) = scope.get(name) else {
            let known: Vec<&str> = scope.keys().map(String::as_str).collect();
            let message = match (self.design.has(name), self.design.within(name).is_some()) {
                (true, true) => format!(
                    "`{name}` stands for nothing here; write `for_each: {name}` at this stage or at a block around it"
                ),
                (true, false) => format!(
                    "`{name}` is drawn for a group (`unit: group`), and no lobby comes before this stage; put one before it, or write `unit: participant` in the design"
                ),
                _ if known.is_empty() => format!(
                    "`{name}` stands for nothing here, and no other name does; write `for_each: {{{name}: [a, b]}}` at this stage or at a block around it"
                ),
                _ => format!("`{name}` stands for nothing here; {}", hint(name, &known)),
            };
            return place.wrong_at(path, message);
        };
        let lacks = |level: &&Level| fill::part_of(level, inner.as_deref()).is_none();
        if let (Some(level), Some(inner)) = (levels.iter().find(lacks), inner) {
            place.wrong_at(
                path,
                format!(
                    "the level `{}` of `{name}` has no parameter `{inner}`; give every level one",
                    level.name
                ),
            );
        }
    }
}
