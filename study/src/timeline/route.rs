//! The route of a participant: the visits that the tree becomes by the draws.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::tree::{Bindings, Block, ForEach, Guard, Node};
use crate::assign::{Assignment, Rng, UnitAssignment};
use crate::design::{Level, Pool, PoolDraw, Unit};
use crate::limits::MAX_VISITS;
use crate::stage::{Stage, StageKind};
use crate::study::Study;

/// One visit of a stage on a participant's route.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit<'a> {
    /// Index of the stage.
    pub stage: u16,
    /// The values of names there.
    pub bindings: Arc<Bindings>,
    /// The guards of the copies that begin here, the outermost first.
    pub when: Vec<Gate<'a>>,
    /// The position after the innermost copy that it belongs to; outside of all blocks, the position after the visit.
    pub past: u16,
}

/// The guard of a copy, and the place where the route continues if it does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate<'a> {
    /// The question.
    pub guard: &'a Guard,
    /// The position after the copy.
    pub past: u16,
}

/// Returns the route of a participant through the study, by the draws for them.
///
/// Before a group is made, everything that is drawn for the group is in the order of the file.
pub fn make_route<'a>(study: &'a Study, assignment: &Assignment) -> Vec<Visit<'a>> {
    let mut walk = Walk {
        study,
        assignment,
        lobby: None,
        own: BTreeMap::new(),
        shared: BTreeMap::new(),
        drawn: BTreeMap::new(),
        visits: Vec::new(),
    };
    walk.nodes(&study.tree, &Arc::default());
    for (at, visit) in walk.visits.iter_mut().enumerate() {
        visit.past = visit.past.max(at as u16 + 1);
    }
    walk.visits
}

struct Walk<'a, 'd> {
    study: &'a Study,
    assignment: &'d Assignment,
    /// The position of the lobby that was passed last.
    lobby: Option<u16>,
    /// The number of copies that were made of a block, by its number.
    own: BTreeMap<u16, u64>,
    /// The number of copies since the lobby, for blocks that a group draws.
    shared: BTreeMap<u16, u64>,
    /// The number of draws from a pool, by its name.
    drawn: BTreeMap<String, usize>,
    visits: Vec<Visit<'a>>,
}

impl<'a, 'd> Walk<'a, 'd> {
    fn nodes(&mut self, nodes: impl IntoIterator<Item = &'a Node>, bound: &Arc<Bindings>) {
        for node in nodes {
            match node {
                Node::Stage(stage) => self.visit(*stage, bound),
                Node::Block(block) => self.block(block, bound),
            }
        }
    }

    fn visit(&mut self, stage: u16, bound: &Arc<Bindings>) {
        let is_lobby = matches!(self.kind(stage), Some(StageKind::Lobby(_)));
        let bindings = self.with_treatment(bound);
        let bindings = self.with_members(stage, bindings);
        if is_lobby {
            self.lobby = Some(self.visits.len() as u16);
            self.shared.clear();
        }
        self.visits.push(Visit {
            stage,
            bindings,
            when: Vec::new(),
            past: 0,
        });
    }

    fn kind(&self, stage: u16) -> Option<&'a StageKind> {
        self.study
            .timeline
            .get(usize::from(stage))
            .map(|stage: &Stage| &stage.kind)
    }

    /// The draw of the group that was made last.
    fn group(&self) -> Option<&'d UnitAssignment> {
        self.assignment.groups.get(&self.lobby?)
    }

    /// The draw that has the levels or orders of a factor.
    fn draw_of(&self, factor: &str) -> Option<&'d UnitAssignment> {
        match self.study.design.unit_of(factor) {
            Unit::Participant => Some(&self.assignment.own),
            Unit::Group => self.group(),
        }
    }

    /// Adds the levels of the factors of which a unit gets one.
    fn with_treatment(&self, bound: &Arc<Bindings>) -> Arc<Bindings> {
        let factors = self.study.design.between.iter();
        let levels = factors.filter_map(|factor| {
            let drawn = self.draw_of(&factor.name)?.levels.get(&factor.name)?;
            let level = factor.levels.iter().find(|level| level.name == *drawn)?;
            Some((factor.name.clone(), level.clone()))
        });
        let levels: Vec<(String, Level)> = levels.collect();
        if levels.is_empty() {
            return Arc::clone(bound);
        }
        let mut all = Bindings::clone(bound);
        all.extend(levels);
        Arc::new(all)
    }

    /// Adds the member of each pool that a stage draws from.
    fn with_members(&mut self, stage: u16, bound: Arc<Bindings>) -> Arc<Bindings> {
        let drawn = self
            .kind(stage)
            .map_or(Vec::new(), StageKind::drawn_partners);
        let names = drawn.iter().filter_map(|drawn| drawn.name(&bound));
        let pools = names.filter_map(|name| self.study.design.pool(&name));
        let pools: Vec<&'a Pool> = pools.collect();
        if pools.is_empty() {
            return bound;
        }
        let mut all = Bindings::clone(&bound);
        for pool in pools {
            let made = self.drawn.entry(pool.name.clone()).or_default();
            let at = match pool.draw {
                PoolDraw::Once => 0,
                PoolDraw::EachTime => *made,
            };
            *made += 1;
            let at = at % pool.members.len().max(1);
            let order = self.assignment.own.orders.get(&pool.name);
            let drawn = order.and_then(|order| order.get(at));
            let member = drawn.and_then(|name| pool.members.iter().find(|it| it.name == *name));
            let member = member.or_else(|| pool.members.get(at));
            all.extend(member.map(|member| (pool.name.clone(), member.clone())));
        }
        Arc::new(all)
    }

    fn block(&mut self, block: &'a Block, bound: &Arc<Bindings>) {
        let Some(each) = &block.for_each else {
            return (0..block.repeat).for_each(|_| self.copy(block, bound));
        };
        for level in self.values(each) {
            let mut bindings = Bindings::clone(bound);
            bindings.insert(each.name().to_owned(), level.clone());
            let bindings = Arc::new(bindings);
            (0..block.repeat).for_each(|_| self.copy(block, &bindings));
        }
    }

    /// The values of copies in their order: the one that was drawn, as far as it has every level once.
    fn values(&self, each: &'a ForEach) -> Vec<&'a Level> {
        let written = each.levels_of(&self.study.design);
        let order = match each {
            ForEach::Factor(name) => self.draw_of(name).and_then(|draw| draw.orders.get(name)),
            ForEach::Values { .. } => None,
        };
        let known = |name: &String| written.iter().find(|level| level.name == *name);
        let drawn: Option<Vec<&Level>> = order.and_then(|order| order.iter().map(known).collect());
        let drawn = drawn.filter(|levels| levels.len() == written.len());
        drawn.unwrap_or_else(|| written.iter().collect())
    }

    fn copy(&mut self, block: &'a Block, bound: &Arc<Bindings>) {
        // As many as a route may have; loading reports whether a study can reach this number.
        if self.visits.len() >= MAX_VISITS {
            return;
        }
        let (draw, made) = match block.shared {
            true => (self.group(), &mut self.shared),
            false => (Some(&self.assignment.own), &mut self.own),
        };
        let made = made.entry(block.number).or_default();
        let turn = *made;
        *made += 1;
        let mut chosen: Vec<usize> = (0..block.block.len()).collect();
        if let Some(draw) = draw {
            let mut rng = Rng::of(draw.seed, &[u64::from(block.number), turn]);
            rng.shuffle(&mut chosen);
        }
        chosen.truncate(block.count_kept());
        if !block.shuffle {
            chosen.sort_unstable();
        }
        let begin = self.visits.len();
        self.nodes(chosen.into_iter().map(|child| &block.block[child]), bound);
        let past = self.visits.len() as u16;
        let inner = self.visits[begin..].iter_mut();
        inner
            .filter(|visit| visit.past == 0)
            .for_each(|visit| visit.past = past);
        if let (Some(guard), Some(first)) = (&block.when, self.visits.get_mut(begin)) {
            first.when.insert(0, Gate { guard, past });
        }
    }
}
