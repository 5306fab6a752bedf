//! The tree of a timeline: blocks in each other, and stages by their index.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::design::{Design, Level};
use crate::formula::Formula;

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
    /// The values that copies are made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_each: Option<ForEach>,
    /// How many copies are made for each value.
    pub repeat: u16,
    /// True if every copy has its children in an order of its own.
    pub shuffle: bool,
    /// How many of its children a copy keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choose: Option<u16>,
    /// The guard that decides whether a copy is walked at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Guard>,
    /// True if it has a guard, also while that is not read yet.
    #[serde(skip)]
    pub(crate) guarded: bool,
    /// Its number in the order of the file: what is drawn for it is drawn by this number.
    #[serde(skip)]
    pub(crate) number: u16,
    /// True if it holds a stage that is played with the partners of a lobby before the block, who are to draw alike.
    #[serde(skip)]
    pub(crate) shared: bool,
}

/// The values that copies are made for.
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
    pub(crate) fn of(block: Vec<Node>) -> Self {
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
    pub(crate) fn copies(&self, design: &Design) -> usize {
        let values = self
            .for_each
            .as_ref()
            .map_or(1, |each| each.levels(design).len());
        values * usize::from(self.repeat)
    }

    /// The most that a copy can come to: nothing if its guard surely does not hold.
    fn most_of_copy(&self, design: &Design, known: &Known, weight: &impl Fn(u16) -> f64) -> f64 {
        let guard = self.when.as_ref().map(|Guard(guard)| guard.eval(known));
        if guard == Some(Ok(formula::Value::Bool(false))) {
            return 0.0;
        }
        let children = self.block.iter();
        let children =
            children.map(|node| most_of(std::slice::from_ref(node), design, known, weight));
        let mut children: Vec<f64> = children.collect();
        children.sort_unstable_by(|a, b| b.total_cmp(a));
        children.into_iter().take(self.kept()).sum()
    }

    /// Children that a copy keeps.
    pub(crate) fn kept(&self) -> usize {
        self.choose
            .map_or(self.block.len(), usize::from)
            .min(self.block.len())
    }
}

/// The most that a walk of some nodes can come to, where each stage counts as much as `weight` says. Of arms that exclude
/// each other by the levels of factors, only one counts.
pub(crate) fn most(nodes: &[Node], design: &Design, weight: &impl Fn(u16) -> f64) -> f64 {
    let treatments = design.treatments().into_iter();
    let walks = treatments.map(|treatment| most_in(nodes, design, &treatment, weight));
    walks.fold(0.0, f64::max)
}

/// The same, of a walk with a treatment.
pub(crate) fn most_in(
    nodes: &[Node],
    design: &Design,
    treatment: &[usize],
    weight: &impl Fn(u16) -> f64,
) -> f64 {
    let levels = design.between.iter().zip(treatment);
    let known = levels.map(|(factor, level)| (factor.name.clone(), &factor.levels[*level]));
    let known = known.filter_map(|(name, level)| Some((name, value_of(level)?)));
    most_of(nodes, design, &known.collect(), weight)
}

/// The values of names in a copy, as far as they are known before anybody comes.
type Known = BTreeMap<String, formula::Value>;

fn value_of(level: &Level) -> Option<formula::Value> {
    serde_json::from_value(level.value.clone()).ok()
}

fn most_of(nodes: &[Node], design: &Design, known: &Known, weight: &impl Fn(u16) -> f64) -> f64 {
    let of = |node: &Node| match node {
        Node::Stage(stage) => weight(*stage),
        Node::Block(block) => {
            let copies = match &block.for_each {
                None => vec![known.clone()],
                Some(each) => {
                    let copy = |level: &Level| {
                        let mut inner = known.clone();
                        inner.extend(value_of(level).map(|value| (each.name().to_owned(), value)));
                        inner
                    };
                    each.levels(design).iter().map(copy).collect()
                }
            };
            let copies = copies
                .iter()
                .map(|known| block.most_of_copy(design, known, weight));
            copies.sum::<f64>() * f64::from(block.repeat)
        }
    };
    nodes.iter().map(of).sum()
}

/// The values of names at a position of the route.
pub type Bindings = BTreeMap<String, Level>;

/// A formula that decides whether a copy of a block is walked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Guard(pub(crate) Formula);
