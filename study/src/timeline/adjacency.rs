//! Which stage may come right after which, over every order that blocks can take.
//!
//! Source: Glushkov, "The abstract theory of automata", 1961: first, last and follow of an expression.

use std::collections::BTreeSet;

use super::tree::{Block, Node};
use crate::design::Design;
use crate::stage::{Stage, StageKind};

/// The pairs of stages that may be next to each other. `None` stands for the beginning and the end.
#[derive(Debug, Default)]
pub(crate) struct Adjacency {
    pairs: BTreeSet<(Option<u16>, Option<u16>)>,
}

/// The possible beginnings and ends of a node.
struct Shape {
    first: BTreeSet<u16>,
    last: BTreeSet<u16>,
    /// True if it may be passed over.
    nullable: bool,
}

impl Adjacency {
    /// Finds the pairs of a timeline; stages that could not be read have none.
    pub(crate) fn of(tree: &[Node], stages: &[Option<Stage>], design: &Design) -> Self {
        let mut found = Self::default();
        let is_end = |stage: u16| {
            let stage = stages.get(usize::from(stage)).and_then(Option::as_ref);
            matches!(
                stage,
                Some(Stage {
                    kind: StageKind::End(_),
                    ..
                })
            )
        };
        let cx = Context {
            is_end: &is_end,
            design,
        };
        let shapes: Vec<Shape> = tree.iter().map(|node| found.shape(node, &cx)).collect();
        let whole = found.sequence(&shapes, shapes.len(), false);
        let first = whole.first.iter().map(|stage| (None, Some(*stage)));
        let last = whole.last.iter().map(|stage| (Some(*stage), None));
        found.pairs.extend(first.chain(last));
        found
    }

    /// The stages that may come right before a stage.
    pub(crate) fn stages_before(&self, stage: u16) -> impl Iterator<Item = Option<u16>> {
        let pairs = self
            .pairs
            .iter()
            .filter(move |(_, after)| *after == Some(stage));
        pairs.map(|(before, _)| *before)
    }

    /// The stages that may come right after a stage.
    pub(crate) fn stages_after(&self, stage: u16) -> impl Iterator<Item = Option<u16>> {
        let pairs = self
            .pairs
            .iter()
            .filter(move |(before, _)| *before == Some(stage));
        pairs.map(|(_, after)| *after)
    }

    fn join(&mut self, last: &BTreeSet<u16>, first: &BTreeSet<u16>) {
        for before in last {
            let pairs = first.iter().map(|after| (Some(*before), Some(*after)));
            self.pairs.extend(pairs);
        }
    }

    fn shape(&mut self, node: &Node, cx: &Context<'_>) -> Shape {
        match node {
            // Nothing comes after an end.
            Node::Stage(stage) => Shape {
                first: [*stage].into(),
                last: (!(cx.is_end)(*stage))
                    .then_some(*stage)
                    .into_iter()
                    .collect(),
                nullable: false,
            },
            Node::Block(block) => self.block(block, cx),
        }
    }

    fn block(&mut self, block: &Block, cx: &Context<'_>) -> Shape {
        let shapes: Vec<Shape> = block
            .block
            .iter()
            .map(|node| self.shape(node, cx))
            .collect();
        let mut whole = self.sequence(&shapes, block.count_kept(), block.shuffle);
        if block.count_copies(cx.design) > 1 {
            self.join(&whole.last, &whole.first);
        }
        whole.nullable |= block.guarded;
        whole
    }

    /// Children of which `kept` are walked, in their order or in any.
    fn sequence(&mut self, shapes: &[Shape], kept: usize, shuffled: bool) -> Shape {
        let count = shapes.len();
        // If too few other children are left, some children of the range are walked too: can all of these be passed
        // over?
        let passed = |range: std::ops::Range<usize>, others: usize, room: usize| {
            let must = kept.saturating_sub(others + room);
            shuffled || shapes[range].iter().filter(|shape| shape.nullable).count() >= must
        };
        let mut whole = Shape {
            first: BTreeSet::new(),
            last: BTreeSet::new(),
            nullable: shapes.iter().filter(|shape| shape.nullable).count() >= kept,
        };
        for (at, shape) in shapes.iter().enumerate() {
            if passed(0..at, 1, count - 1 - at) {
                whole.first.extend(&shape.first);
            }
            if passed(at + 1..count, 1, at) {
                whole.last.extend(&shape.last);
            }
            if kept < 2 {
                continue;
            }
            for (next, other) in shapes.iter().enumerate().skip(at + 1) {
                if passed(at + 1..next, 2, at + count - 1 - next) {
                    self.join(&shape.last, &other.first);
                }
                if shuffled {
                    self.join(&other.last, &shape.first);
                }
            }
        }
        whole
    }
}

struct Context<'a> {
    is_end: &'a dyn Fn(u16) -> bool,
    design: &'a Design,
}
