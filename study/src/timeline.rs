//! How the stages of a study are walked: the tree of blocks in the file, and the route that it becomes for a participant.
//!
//! A block makes copies of its children, one after the other (`for_each`, then `repeat` for each value), and in every
//! copy anew it chooses among them and shuffles them; children that are blocks stay whole. A guard (`when`) is asked
//! when a copy is reached: if it does not hold, all of the copy is passed over.

mod adjacency;
pub(crate) mod check;
pub(crate) mod fill;
pub(crate) mod groups;
pub(crate) mod names;
pub(crate) mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::assign::{Assignment, Draw, Rng};
use crate::design::{Design, Level, Unit};
use crate::formula::Formula;
use crate::load::Study;
use crate::progress::Facts;
use crate::stage::{Kind, Stage};

/// The most visits of a route.
pub const MAX_VISITS: usize = 2_000;

/// A node of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Node {
    /// A stage, by its index in [`Study::timeline`].
    Stage(u16),
    /// Nodes that are walked together.
    Block(Block),
}

/// Nodes that are walked together. A stage with `for_each`, `repeat`, `when` or `after_each` of its own is a block too.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Block {
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its children; at least one.
    pub block: Vec<Node>,
    /// What copies are made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_each: Option<ForEach>,
    /// How many copies are made for each value.
    pub repeat: u16,
    /// Whether every copy has its children in an order of its own.
    pub shuffle: bool,
    /// How many of its children a copy keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choose: Option<u16>,
    /// Whether a copy is walked at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Guard>,
    /// Whether it has a guard, also while that is not read yet.
    #[serde(skip)]
    pub(crate) guarded: bool,
    /// Its number in the order of the file: what is drawn for it is drawn by this number.
    #[serde(skip)]
    pub(crate) number: u16,
    /// Whether it holds a stage that is played with the partners of a lobby before the block, who are to draw alike.
    #[serde(skip)]
    pub(crate) shared: bool,
}

/// What copies are made for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ForEach {
    /// The levels of a factor, in the order that was drawn.
    Factor(String),
    /// Values of the block's own, in their order.
    Values {
        /// The name that they are bound to.
        name: String,
        /// The values; at least one.
        values: Vec<Level>,
    },
}

impl ForEach {
    /// The name that a copy's value is bound to.
    pub fn name(&self) -> &str {
        match self {
            Self::Factor(name) | Self::Values { name, .. } => name,
        }
    }

    /// The values as they stand in the file.
    pub(crate) fn levels<'a>(&'a self, design: &'a Design) -> &'a [Level] {
        match self {
            Self::Values { values, .. } => values,
            Self::Factor(name) => design.within(name).map_or(&[], |factor| &factor.levels),
        }
    }
}

impl Block {
    /// A block of one copy of some nodes.
    fn of(block: Vec<Node>) -> Self {
        Self {
            id: None,
            block,
            for_each: None,
            repeat: 1,
            shuffle: false,
            choose: None,
            when: None,
            guarded: false,
            number: 0,
            shared: false,
        }
    }

    /// Copies that are made.
    fn copies(&self, design: &Design) -> usize {
        let values = self
            .for_each
            .as_ref()
            .map_or(1, |each| each.levels(design).len());
        values * usize::from(self.repeat)
    }

    /// The most that its copies can come to, by the most that each of its children can.
    pub(crate) fn most(&self, design: &Design, mut children: Vec<f64>) -> f64 {
        children.sort_unstable_by(|a, b| b.total_cmp(a));
        let kept: f64 = children.into_iter().take(self.kept()).sum();
        kept * self.copies(design) as f64
    }

    /// Children that a copy keeps.
    fn kept(&self) -> usize {
        self.choose
            .map_or(self.block.len(), usize::from)
            .min(self.block.len())
    }
}

/// The most that a walk of some nodes can come to, where each stage counts as much as `weight` says.
pub(crate) fn most(nodes: &[Node], design: &Design, weight: &impl Fn(u16) -> f64) -> f64 {
    let of = |node: &Node| match node {
        Node::Stage(stage) => weight(*stage),
        Node::Block(block) => {
            let children = block
                .block
                .iter()
                .map(|node| most(std::slice::from_ref(node), design, weight));
            block.most(design, children.collect())
        }
    };
    nodes.iter().map(of).sum()
}

/// What names stand for at a place of the route.
pub type Bindings = BTreeMap<String, Level>;

/// One visit of a stage on a participant's route.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit<'a> {
    /// Index of the stage.
    pub stage: u16,
    /// What names stand for there.
    pub bindings: Arc<Bindings>,
    /// The guards of the copies that begin here, the outermost first.
    pub when: Vec<Gate<'a>>,
    /// The position of what follows the innermost copy that it belongs to; of what follows it, outside of all blocks.
    pub past: u16,
}

/// The guard of a copy, and where the route goes on if it does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate<'a> {
    /// What is asked.
    pub guard: &'a Guard,
    /// The position of what follows the copy.
    pub past: u16,
}

/// The way of a participant through the study, by what was drawn for them.
///
/// Before a group is made, what is drawn for the group stands in the order of the file.
pub fn route<'a>(study: &'a Study, assignment: &Assignment) -> Vec<Visit<'a>> {
    let mut walk = Walk {
        study,
        assignment,
        lobby: None,
        own: BTreeMap::new(),
        shared: BTreeMap::new(),
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
    /// How many copies were made of a block, by its number.
    own: BTreeMap<u16, u64>,
    /// How many of them since the lobby, for blocks that a group draws.
    shared: BTreeMap<u16, u64>,
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
        let is_lobby = matches!(self.kind(stage), Some(Kind::Lobby(_)));
        let bindings = self.with_treatment(bound);
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

    fn kind(&self, stage: u16) -> Option<&'a Kind> {
        self.study
            .timeline
            .get(usize::from(stage))
            .map(|stage: &Stage| &stage.kind)
    }

    /// The draw of the group that was made last.
    fn group(&self) -> Option<&'d Draw> {
        self.assignment.groups.get(&self.lobby?)
    }

    /// The draw that has the levels and orders of the design.
    fn drawn(&self) -> Option<&'d Draw> {
        match self.study.design.unit {
            Unit::Participant => Some(&self.assignment.own),
            Unit::Group => self.group(),
        }
    }

    /// Adds the levels of the factors of which a unit gets one.
    fn with_treatment(&self, bound: &Arc<Bindings>) -> Arc<Bindings> {
        let Some(draw) = self.drawn().filter(|draw| !draw.levels.is_empty()) else {
            return Arc::clone(bound);
        };
        let mut all = Bindings::clone(bound);
        for factor in &self.study.design.between {
            let level = |name: &String| factor.levels.iter().find(|level| level.name == *name);
            if let Some(level) = draw.levels.get(&factor.name).and_then(level) {
                all.insert(factor.name.clone(), level.clone());
            }
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
        let written = each.levels(&self.study.design);
        let order = match each {
            ForEach::Factor(name) => self.drawn().and_then(|draw| draw.orders.get(name)),
            ForEach::Values { .. } => None,
        };
        let known = |name: &String| written.iter().find(|level| level.name == *name);
        let drawn: Option<Vec<&Level>> = order.and_then(|order| order.iter().map(known).collect());
        let drawn = drawn.filter(|levels| levels.len() == written.len());
        drawn.unwrap_or_else(|| written.iter().collect())
    }

    fn copy(&mut self, block: &'a Block, bound: &Arc<Bindings>) {
        // As many as a route may have; whether a study can come there is told when it is loaded.
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
        chosen.truncate(block.kept());
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

impl Study {
    /// Whether participants of another version, given in its canonical form, walk the same way in this one: the same
    /// stages by id and type, the same blocks with their guards, the same factors.
    pub fn walks_as(&self, canonical: &str) -> bool {
        let way = |canonical: &str| {
            let whole: serde_json::Value = serde_json::from_str(canonical).ok()?;
            let stages = whole["timeline"].as_array()?.iter();
            let stages = stages.map(|stage| (stage["id"].clone(), stage["type"].clone()));
            let stages: Vec<_> = stages.collect();
            Some((stages, whole["tree"].clone(), whole["design"].clone()))
        };
        way(canonical).is_some_and(|other| way(&self.canonical) == Some(other))
    }
}

/// A formula that decides whether a copy of a block is walked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Guard(pub(crate) Formula);

impl Guard {
    /// Whether the copy is walked. A guard that asks for something that is not there, such as an answer to a question
    /// that was passed over, does not hold.
    pub(crate) fn holds(&self, study: &Study, facts: &Facts, bindings: &Bindings) -> bool {
        let scope = facts.scope(study, bindings);
        self.0.eval(&scope) == Ok(formula::Value::Bool(true))
    }
}
