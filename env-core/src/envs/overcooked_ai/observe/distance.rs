//! The number of actions that a cook needs until it faces something.
//!
//! Source: `overcooked-ai` 1.1.0, `planning/planners.py`, `MotionPlanner`: a turn counts as an action;
//! a counter is a goal only if `counter_goals` says so.

use alloc::vec;
use alloc::vec::Vec;

use super::super::ground::{KitchenGround, Tile};
use super::super::state::Cook;

/// Nowhere near.
const FAR: u16 = u16::MAX;

/// Actions from every cell and direction until a cook faces a cell.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    /// By the cell that is faced; empty if it is no goal.
    to: Vec<Vec<u16>>,
}

fn node(cell: u16, facing: u8) -> usize {
    4 * usize::from(cell) + usize::from(facing)
}

impl Distances {
    /// Measures a ground.
    pub(super) fn new(ground: &KitchenGround, counter_goals: bool) -> Self {
        let measure = |cell: u16| match ground.tile(cell) {
            Tile::Floor => Vec::new(),
            Tile::Counter if !counter_goals => Vec::new(),
            _ => measure(ground, cell),
        };
        Self {
            to: (0..ground.cells() as u16).map(measure).collect(),
        }
    }

    /// The first of the nearest of some cells; `None` if the cook can reach none.
    pub(super) fn nearest_cell(
        &self,
        cook: &Cook,
        cells: impl Iterator<Item = u16>,
    ) -> Option<u16> {
        let (mut best, mut least) = (None, FAR);
        for cell in cells {
            let to = self.to.get(usize::from(cell));
            let actions = to.and_then(|to| to.get(node(cook.cell, cook.facing)));
            if let Some(&actions) = actions.filter(|&&actions| actions < least) {
                (best, least) = (Some(cell), actions);
            }
        }
        best
    }
}

/// Searches backwards from all places that face a cell.
fn measure(ground: &KitchenGround, goal: u16) -> Vec<u16> {
    let mut actions = vec![FAR; 4 * ground.cells()];
    let mut queue = Vec::new();
    let opposite = [1, 0, 3, 2];
    let floor_beside = |cell: u16, way: u8| {
        let beside = ground.cell_beside(cell, way);
        beside.filter(|&cell| ground.tile(cell) == Tile::Floor)
    };
    for way in 0..4_u8 {
        if let Some(place) = floor_beside(goal, way) {
            let facing = opposite[usize::from(way)];
            actions[node(place, facing)] = 0;
            queue.push((place, facing));
        }
    }
    let mut at = 0;
    while let Some(&(cell, facing)) = queue.get(at) {
        at += 1;
        let next = actions[node(cell, facing)] + 1;
        // The last action pointed where the cook faces: it turned here, or it came from behind.
        let turned = floor_beside(cell, facing).is_none().then_some(cell);
        let came = floor_beside(cell, opposite[usize::from(facing)]);
        for from in turned.into_iter().chain(came) {
            for before in 0..4 {
                let known = &mut actions[node(from, before)];
                if *known == FAR {
                    *known = next;
                    queue.push((from, before));
                }
            }
        }
    }
    actions
}
