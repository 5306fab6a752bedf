//! The kitchens that CEC makes for each episode.
//!
//! Source: crossEnvCooperation 71ed348, `overcooked/layouts.py`, `make_*_9x9` with `ik`, and `make_9x9_layout`.
//! The choices are the same; their draws come from our generator.

use alloc::vec;
use alloc::vec::Vec;

use super::ground::{KitchenGround, TILES, Tile};
use super::kitchen::{CEC_SIDE, pad_ground, with_ring};
use super::state::State;

/// Cells of a row of the ground with the ring around it.
pub(super) const RINGED_SIDE: usize = CEC_SIDE + 2;

/// A family of kitchens.
struct Family {
    cols: usize,
    /// The outline.
    walls: &'static [u8],
    /// The walls of which four get one thing of each kind.
    reached: &'static [u8],
    /// The cells where each cook may begin; the same cells twice if they share them.
    starts: [&'static [u8]; 2],
    /// Walls that become floor.
    holes: usize,
}

/// The families: asymmetric advantages, coordination ring, counter circuit, forced coordination, cramped room.
#[rustfmt::skip]
const FAMILIES: [Family; 5] = [
    Family {
        cols: 9,
        walls: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17, 18, 22, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35],
        reached: &[1, 2, 3, 4, 5, 6, 7, 9, 17, 18, 26, 28, 29, 30, 31, 32, 33, 34, 13, 22],
        starts: [&[10, 11, 12, 19, 20, 21], &[14, 15, 16, 23, 24, 25]],
        holes: 2,
    },
    Family {
        cols: 5,
        walls: &[0, 1, 2, 3, 4, 5, 9, 10, 12, 14, 15, 19, 20, 21, 22, 23, 24],
        reached: &[1, 2, 3, 5, 9, 10, 14, 15, 19, 21, 22, 23, 12],
        starts: [&[6, 7, 8, 11, 13, 16, 17, 18]; 2],
        holes: 0,
    },
    Family {
        cols: 8,
        walls: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 18, 19, 20, 21, 23, 24, 31, 32, 33, 34, 35, 36, 37, 38, 39],
        reached: &[1, 2, 3, 4, 5, 6, 8, 15, 16, 18, 19, 20, 21, 23, 24, 31, 33, 34, 35, 36, 37, 38],
        starts: [&[9, 10, 11, 12, 13, 14, 17, 22, 25, 26, 27, 28, 29, 30]; 2],
        holes: 0,
    },
    Family {
        cols: 5,
        walls: &[0, 1, 2, 3, 4, 5, 7, 9, 10, 12, 14, 15, 17, 19, 20, 21, 22, 23, 24],
        reached: &[1, 5, 10, 15, 21, 17, 12, 7, 3, 9, 14, 19, 23],
        starts: [&[6, 11, 16], &[8, 13, 18]],
        holes: 0,
    },
    Family {
        cols: 5,
        walls: &[0, 1, 2, 3, 4, 5, 9, 10, 14, 15, 16, 17, 18, 19],
        reached: &[1, 2, 3, 5, 9, 10, 14, 16, 17, 18],
        starts: [&[6, 7, 8, 11, 12, 13]; 2],
        holes: 0,
    },
];

/// The things of a kitchen, in the order of their draws.
const THINGS: [Tile; 4] = [Tile::Dishes, Tile::Onions, Tile::Pot, Tile::Serving];

/// A kitchen in the making: its tiles, and where the cooks stand.
struct Plan {
    cols: usize,
    tiles: Vec<Tile>,
    starts: [usize; 2],
}

impl Plan {
    fn rows(&self) -> usize {
        self.tiles.len() / self.cols
    }

    /// Rearranges the cells: each goes to the place that `place` returns for its column and row.
    fn rearranged(&self, cols: usize, place: impl Fn(usize, usize) -> [usize; 2]) -> Self {
        let to = |cell: usize| {
            let [x, y] = place(cell % self.cols, cell / self.cols);
            y * cols + x
        };
        let mut tiles = vec![Tile::Floor; self.tiles.len()];
        for (cell, &tile) in self.tiles.iter().enumerate() {
            tiles[to(cell)] = tile;
        }
        Self {
            cols,
            tiles,
            starts: self.starts.map(to),
        }
    }
}

/// Makes a kitchen: the ground with its ring, and the start cells of the cooks.
///
/// `draw` returns a number below its argument. Its order: the family; four reached walls for dishes, onions, pot and
/// serving; as many other walls for a second of each; the holes; the cooks; quarter turns to the left; whether the
/// kitchen is mirrored, and whether left and right change places or top and bottom.
pub fn generate(mut draw: impl FnMut(u32) -> u32) -> (KitchenGround, [u16; 2]) {
    let family = &FAMILIES[draw(FAMILIES.len() as u32) as usize % FAMILIES.len()];
    let mut pick = |from: &mut Vec<u8>| {
        let at = draw(from.len() as u32) as usize % from.len().max(1);
        from.remove(at)
    };
    let mut walls = family.walls.to_vec();
    let mut reached = family.reached.to_vec();
    let first: [u8; 4] = core::array::from_fn(|_| pick(&mut reached));
    walls.retain(|wall| !first.contains(wall));
    let second: [u8; 4] = core::array::from_fn(|_| pick(&mut walls));
    let holes: Vec<u8> = (0..family.holes).map(|_| pick(&mut walls)).collect();
    let one = pick(&mut family.starts[0].to_vec());
    let mut left = family.starts[1].to_vec();
    left.retain(|&cell| cell != one);
    let starts = [one, pick(&mut left)].map(usize::from);
    let last = family.walls.iter().max().copied().unwrap_or(0);
    let mut tiles = vec![Tile::Floor; usize::from(last) + 1];
    family
        .walls
        .iter()
        .for_each(|&wall| tiles[usize::from(wall)] = Tile::Counter);
    for (cells, &thing) in first.iter().zip(&second).zip(&THINGS) {
        for &cell in [cells.0, cells.1] {
            tiles[usize::from(cell)] = thing;
        }
    }
    holes
        .iter()
        .for_each(|&hole| tiles[usize::from(hole)] = Tile::Floor);
    let mut plan = Plan {
        cols: family.cols,
        tiles,
        starts,
    };
    for _ in 0..draw(4) {
        let (cols, rows) = (plan.cols, plan.rows());
        plan = plan.rearranged(rows, |x, y| [y, cols - 1 - x]);
    }
    let (is_mirrored, is_sideways) = (draw(2) == 1, draw(2) == 1);
    if is_mirrored {
        let (cols, rows) = (plan.cols, plan.rows());
        plan = plan.rearranged(cols, |x, y| match is_sideways {
            true => [cols - 1 - x, y],
            false => [x, rows - 1 - y],
        });
    }
    place(&plan)
}

/// Puts a kitchen into the upper left corner of nine by nine walls, with the ring around them.
fn place(plan: &Plan) -> (KitchenGround, [u16; 2]) {
    let to = |cell: usize| cell / plan.cols * CEC_SIDE + cell % plan.cols;
    let ground = pad_ground(&KitchenGround::new(plan.cols, plan.tiles.clone()));
    // There the cooks are found in reading order.
    let mut starts = plan.starts.map(|cell| to(cell) as u16);
    starts.sort_unstable();
    let starts = starts.map(|cell| super::kitchen::ringed_cell(&ground, cell));
    (with_ring(&ground), starts)
}

/// The ground that a state carries.
pub(super) fn ground_of(state: &State) -> KitchenGround {
    let tile = |&number: &u8| TILES[usize::from(number) % TILES.len()];
    let tiles = state.ground.iter().map(tile).collect();
    KitchenGround::new(usize::from(state.cols).max(1), tiles)
}

/// Writes a ground into a state.
pub(super) fn carry_items(state: &mut State, ground: &KitchenGround) {
    let number = |tile: &Tile| TILES.iter().position(|known| known == tile);
    let numbers = ground.tiles().iter().filter_map(number);
    state.ground = numbers.map(|number| number as u8).collect();
    state.cols = ground.cols as u8;
    state.pots = vec![super::state::Pot::default(); ground.pots.len()];
}
