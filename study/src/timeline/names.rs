//! Names of the timeline: their possible values at a stage, the formulas that guard blocks, and names that stand for
//! nothing or are never used.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::drawn;
use super::fill::{self, Malformed, Reference};
use super::read::{Read, unknown_message};
use super::tree::{Block, ForEach, Guard, Node};
use crate::design::{Design, Level, Unit};
use crate::formula::{Formula, Type, Types};
use crate::limits::MAX_COMBINATIONS;
use crate::problem::make_hint;
use crate::progress::Episode;
use crate::read::Cursor;
use crate::screening::Measured;
use crate::stage::StageKind;
use crate::stage::course::Mode;
use crate::stage::env::Env;
use crate::stage::live::{self, Formulas};
use crate::yaml;

/// The values that names can have at a stage.
pub(crate) type Scope = BTreeMap<String, Vec<Level>>;

/// Reads the guards, and reports names that stand for nothing where they are used, and factors that nothing uses.
/// Returns the possible values of names at each stage.
pub(crate) fn check(
    read: &mut Read<'_>,
    design: &Design,
    root: &Cursor<'_>,
) -> BTreeMap<u16, Scope> {
    let facts = list_variables(read);
    let mut walk = Names {
        read: &*read,
        design,
        facts,
        scopes: BTreeMap::new(),
        used: BTreeSet::new(),
        guards: BTreeMap::new(),
        formulas: BTreeMap::new(),
        compositions: BTreeMap::new(),
    };
    walk.nodes(&read.tree, &Scope::new(), false);
    let Names {
        scopes,
        used,
        mut guards,
        formulas,
        compositions,
        ..
    } = walk;
    set(&mut read.tree, &mut guards);
    for (lobby, formula) in compositions {
        let stage = read.stages[usize::from(lobby)].as_mut();
        if let Some(StageKind::Lobby(lobby)) = stage.map(|stage| &mut stage.kind) {
            lobby.matching.composition = Some(formula);
        }
    }
    for (stage, formulas) in formulas {
        let stage = read.stages[usize::from(stage)].as_mut();
        if let Some(StageKind::Env(env)) = stage.map(|stage| &mut stage.kind) {
            formulas.enter(env);
        }
    }
    for name in design.names() {
        clash(name, read, root, &path_of(design, name));
        let is_within = design.within_factor(name).is_some();
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
    let kind = if design.within_factor(name).is_some() {
        "within"
    } else {
        "between"
    };
    format!("design.{kind}.{name}")
}

/// The names of facts that every study has, and their descriptions.
const FACTS: [(&str, &str); 2] = [
    ("answers", "the answers to forms"),
    ("screening", "what the screening measured"),
];

/// The description of the variables of a running episode.
const OF_EPISODE: &str = "something of the running episode";

/// Returns a name of [`FACTS`] and its meaning, if this is one.
pub(super) fn find_fact(name: &str) -> Option<(&'static str, &'static str)> {
    FACTS.into_iter().find(|(known, _)| *known == name)
}

/// Reports a name that formulas know as something else: a fact, something of the running episode, or the id of a stage.
fn clash(name: &str, read: &Read<'_>, place: &Cursor<'_>, key: &str) {
    let of_episode = live::of_episode(Mode::Ticks).contains_key(name);
    let of_episode = of_episode.then_some(OF_EPISODE);
    if let Some(means) = find_fact(name).map(|(_, means)| means).or(of_episode) {
        place.wrong_at(key, format!("formulas call {means} `{name}`, so one would not know which is meant; give these values another name"));
    }
    if let Some((_, other)) = read.ids.iter().find(|(id, _)| id == name) {
        let line = other.node.locate("id").line;
        place.wrong_at(key, format!("`{name}` is also the id on line {line}, so a formula would not know which is meant; give one of them another name"));
    }
}

/// Returns whether a word is anywhere in the file outside the design.
fn mentions(root: &Cursor<'_>, word: &str) -> bool {
    let yaml::Data::Map(entries) = &root.node.data else {
        return false;
    };
    let others = entries
        .iter()
        .filter(|(key, _)| !matches!(key.name.as_str(), "design" | "study"));
    others.into_iter().any(|(_, node)| node.mentions(word))
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

/// The variables of formulas about a whole visit: episodes, answers, and the level of each factor between units.
pub(crate) fn visit_variables(read: &Read<'_>, design: Option<&Design>) -> Types {
    let mut types = list_variables(read);
    let factors = design.into_iter().flat_map(|design| &design.between);
    types.extend(factors.map(|factor| (factor.name.clone(), type_of(&factor.levels))));
    types
}

/// Returns the variables of every formula about a participant: [`crate::progress::ParticipantFacts::scope`] has the
/// values.
pub(super) fn list_variables(read: &Read<'_>) -> Types {
    let mut types = Types::new();
    if read
        .stages
        .iter()
        .flatten()
        .any(|stage| matches!(stage.kind, StageKind::Lobby(_)))
    {
        types.insert("seat".to_owned(), Type::Number);
    }
    let mut answers = Types::new();
    for stage in read.stages.iter().flatten() {
        match &stage.kind {
            StageKind::Screening(_) => {
                types.insert("screening".to_owned(), Type::Record(Measured::types()));
            }
            StageKind::Env(_) => {
                let episodes = Type::list(Type::Record(Episode::types()));
                types.insert(stage.id.clone(), Type::record([("episodes", episodes)]));
            }
            StageKind::Survey(survey) => {
                let items = survey.names().map(|name| (name.to_owned(), Type::Any));
                answers.insert(stage.id.clone(), Type::Record(items.collect()));
            }
            _ => {}
        }
    }
    // A stage that has faults already is not checked again where it is named.
    let broken = read.places.iter().zip(&read.stages);
    for (place, _) in broken.filter(|(_, stage)| stage.is_none()) {
        let own = |(_, at): &&(String, Cursor<'_>)| at.path == place.path;
        if let Some((id, _)) = read.ids.iter().find(own) {
            types.insert(id.clone(), Type::Any);
            answers.insert(id.clone(), Type::Any);
        }
    }
    types.insert("answers".to_owned(), Type::Record(answers));
    types
}

/// Returns whether a guard holds for no possible values of names, whatever a participant does. Nothing is known here
/// about what participants do, so a guard that depends on it has no value.
fn never_holds(guard: &Formula, names: &Scope) -> bool {
    // What is not there yet may be there when it is asked.
    if guard
        .expr()
        .ops()
        .any(|op| matches!(op, formula::Op::Has(_)))
    {
        return false;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = guard.source().split(|c| !is_word(c)).collect();
    let asked = names
        .iter()
        .filter(|(name, _)| words.contains(name.as_str()));
    let count = asked.clone().map(|(_, levels)| levels.len());
    if count.fold(1_usize, usize::saturating_mul) > MAX_COMBINATIONS {
        return false;
    }
    let nothing = BTreeMap::<String, formula::Value>::new();
    let all = asked.fold(vec![nothing], |all, (name, levels)| {
        let with = |known: &BTreeMap<_, _>, level: &Level| {
            let value = serde_json::from_value(level.value.clone()).ok();
            let mut longer = known.clone();
            longer.extend(value.map(|value| (name.clone(), value)));
            longer
        };
        let more = |known| {
            levels
                .iter()
                .map(move |level| with(known, level))
                .collect::<Vec<_>>()
        };
        all.iter().flat_map(more).collect()
    });
    let is_false = |known| guard.eval(known) == Ok(formula::Value::Bool(false));
    !all.is_empty() && all.iter().all(|known| is_false(known))
}

/// Returns the types of the possible values of names.
pub(super) fn types_of(scope: &Scope) -> Types {
    let types = scope.iter();
    types
        .map(|(name, levels)| (name.clone(), type_of(levels)))
        .collect()
}

/// Returns the type of the possible values of a name.
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
    /// The variables of every formula.
    facts: Types,
    /// The guards of blocks, by their number.
    guards: BTreeMap<u16, Guard>,
    /// The formulas of env stages, by their index.
    formulas: BTreeMap<u16, Formulas>,
    /// The compositions that lobbies want.
    compositions: BTreeMap<u16, Formula>,
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
        let passed = if block.count_kept() == block.block.len() && !block.shuffle {
            self.nodes(&block.block, &inner, lobby)
        } else {
            let passed: Vec<bool> = block
                .block
                .iter()
                .map(|node| self.node(node, &inner, lobby))
                .collect();
            passed.iter().filter(|passed| !**passed).count() < block.count_kept()
        };
        lobby || (passed && !block.guarded)
    }

    /// Reads the guard of a block: it is evaluated in each copy, with the copy's values for names.
    fn guard(&mut self, block: &Block, scope: &Scope, lobby: bool) {
        let place = &self.read.blocks[usize::from(block.number)];
        let Some(place) = place.child_at("when") else {
            return;
        };
        let mut types = self.facts.clone();
        let names = self.with_treatment(scope, lobby);
        types.extend(types_of(&names));
        let guard = Formula::read(&place, &types, &Type::Bool);
        if guard
            .as_ref()
            .is_some_and(|guard| never_holds(guard, &names))
        {
            place.report_problem("never holds, so nobody reaches what it guards; fix the formula, or remove what it guards");
        }
        self.guards
            .extend(guard.map(|formula| (block.number, Guard(formula))));
    }

    /// The values of names, with the factors of which a unit gets one level.
    fn with_treatment(&self, scope: &Scope, lobby: bool) -> Scope {
        let mut scope = scope.clone();
        let factors = self.design.between.iter();
        let known = factors
            .filter(|factor| lobby || self.design.unit_of(&factor.name) == Unit::Participant);
        scope.extend(known.map(|factor| (factor.name.clone(), factor.levels.clone())));
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
        each.levels_of(self.design).to_vec()
    }

    fn factor(&mut self, name: &str, place: &Cursor<'_>, lobby: bool) {
        let Some(_) = self.design.within_factor(name) else {
            let message = match self.design.between_factor(name) {
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
                    format!("{}; {mend}", unknown_message("factor", name, &known))
                }
            };
            return place.wrong_at("for_each", message);
        };
        self.used.insert(name.to_owned());
        if self.design.unit_of(name) == Unit::Group && !lobby {
            let message = format!(
                "`{name}` is drawn for a group (`unit: group`), and there is none yet, as no lobby comes before this place; \
                 put a lobby before it, or write `unit: participant` in the design"
            );
            place.wrong_at("for_each", message);
        }
    }

    fn stage(&mut self, stage: u16, scope: &Scope, lobby: bool) -> bool {
        let kind = self.read.kind(stage);
        let is_lobby = matches!(kind, Some(StageKind::Lobby(_)));
        let scope = self.with_treatment(scope, lobby);
        let place = &self.read.places[usize::from(stage)];
        for (path, text) in kind.into_iter().flat_map(drawn::texts) {
            self.template(place, &path, &text.into(), &scope);
        }
        if let Some(StageKind::Env(env)) = kind {
            self.config(place, env, &scope);
            let names: Vec<&str> = scope.keys().map(String::as_str).collect();
            live::check_seed(place, env, &names, lobby);
            let formulas = Formulas::read(place, env, types_of(&scope));
            self.formulas.insert(stage, formulas);
        }
        if is_lobby {
            self.composition(stage, &scope);
        }
        self.scopes.insert(stage, scope);
        lobby || is_lobby
    }

    /// Reads the wish of a lobby for its groups: a formula over the answers, episodes and draws of each member.
    fn composition(&mut self, stage: u16, scope: &Scope) {
        let place = &self.read.places[usize::from(stage)];
        let place = place
            .child_at("match")
            .and_then(|place| place.child_at("composition"));
        let Some(place) = place else { return };
        let mut member = self.facts.clone();
        let names = scope.iter();
        member.extend(names.map(|(name, levels)| (name.clone(), type_of(levels))));
        let members = Type::list(Type::Record(member));
        let types = Types::from([("members".to_owned(), members)]);
        let read = Formula::read(&place, &types, &Type::Bool);
        self.compositions
            .extend(read.map(|formula| (stage, formula)));
    }

    fn config(&self, place: &Cursor<'_>, env: &Env, scope: &Scope) {
        let names = self.template(place, "config", &env.config, scope);
        let levels = names
            .iter()
            .filter_map(|name| scope.get(name))
            .map(Vec::len);
        let all = levels.fold(1_usize, usize::saturating_mul);
        if all > MAX_COMBINATIONS {
            place.wrong_at("config", format!("{all} combinations of the values of {}; there must be at most {MAX_COMBINATIONS}", Vec::from_iter(names).join(", ")));
        }
    }

    /// Reports invalid `{{ … }}` in a value; returns the names in it.
    fn template(
        &self,
        place: &Cursor<'_>,
        path: &str,
        value: &Value,
        scope: &Scope,
    ) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (path, found) in fill::list_references(value, path) {
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
        names
    }

    fn reference(&self, place: &Cursor<'_>, path: &str, (name, inner): &Reference, scope: &Scope) {
        let Some(levels) = scope.get(name) else {
            let known: Vec<&str> = scope.keys().map(String::as_str).collect();
            let message = match (
                self.design.has(name),
                self.design.within_factor(name).is_some(),
            ) {
                (true, true) => format!(
                    "`{name}` stands for nothing here; write `for_each: {name}` at this stage or at a block around it"
                ),
                (true, false) => format!(
                    "`{name}` is drawn for a group (`unit: group`), and no lobby comes before this stage; put one before it, or write `unit: participant` in the design"
                ),
                _ if known.is_empty() => format!(
                    "`{name}` stands for nothing here, and no other name does; write `for_each: {{{name}: [a, b]}}` at this stage or at a block around it"
                ),
                _ => format!(
                    "`{name}` stands for nothing here; {}",
                    make_hint(name, &known)
                ),
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
