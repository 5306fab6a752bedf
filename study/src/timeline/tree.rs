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

/// Nodes that are walked together. A stage with its own `for_each`, `repeat`, `when` or `after_each` is a block too.
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
    /// The number of copies for each value.
    pub repeat: u16,
    /// True if every copy has its children in its own order.
    pub shuffle: bool,
    /// The number of its children that a copy keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choose: Option<u16>,
    /// The guard that decides whether a copy is walked at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Guard>,
    /// True if it has a guard, also while that is not read yet.
    #[serde(skip)]
    pub(crate) guarded: bool,
    /// Its number in the order of the file: its draws use this number.
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

    /// Returns the values as they are in the file.
    pub(crate) fn levels_of<'a>(&'a self, design: &'a Design) -> &'a [Level] {
        match self {
            Self::Values { values, .. } => values,
            Self::Factor(name) => design
                .within_factor(name)
                .map_or(&[], |factor| &factor.levels),
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
    pub(crate) fn count_copies(&self, design: &Design) -> usize {
        let values = self
            .for_each
            .as_ref()
            .map_or(1, |each| each.levels_of(design).len());
        values * usize::from(self.repeat)
    }

    /// Children that a copy keeps.
    pub(crate) fn count_kept(&self) -> usize {
        self.choose
            .map_or(self.block.len(), usize::from)
            .min(self.block.len())
    }
}

/// The values of names at a position of the route.
pub type Bindings = BTreeMap<String, Level>;

/// A formula that decides whether a copy of a block is walked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Guard(pub(crate) Formula);
