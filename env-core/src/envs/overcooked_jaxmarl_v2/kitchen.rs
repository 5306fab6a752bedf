//! The facts that the parameters fix: the ground, the starts and the recipes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::items;
use super::layouts::LAYOUTS;
use super::params::{Params, refuse};
use crate::MAX_SEATS;
use crate::contract::ParamError;
use crate::grid::Chart;
use crate::grid::layout::MAX_SIDE;

/// The thing in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// Nothing: cooks walk here.
    Floor,
    /// A counter, which the original calls a wall.
    Counter,
    /// The place where soups are delivered.
    Goal,
    /// A pot.
    Pot,
    /// A display of the wanted recipe.
    Indicator,
    /// A display that shows the recipe for a while after it was pressed.
    Button,
    /// Plates without end.
    Plates,
    /// An ingredient without end, by its number.
    Pile(u8),
}

/// The directions of the original: up, down, right, left, as steps right and down.
pub(super) const DIRECTIONS: [[i32; 2]; 4] = [[0, -1], [0, 1], [1, 0], [-1, 0]];

/// A kitchen.
#[derive(Clone, Debug)]
pub struct Kitchen {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// The thing in each cell, row-major.
    pub tiles: Vec<Tile>,
    /// The start of each seat.
    pub starts: Vec<u16>,
    /// Number of ingredients: the greatest number of a pile, and one more.
    pub ingredients: u8,
    /// The recipes, as items.
    pub recipes: Vec<u32>,
    /// For each cell the part of the kitchen that it belongs to; cells of one part have the same number.
    pub parts: Vec<u16>,
}

/// The tile of a symbol of the original; a start is floor.
fn tile(symbol: char) -> Option<Tile> {
    Some(match symbol {
        ' ' | 'A' => Tile::Floor,
        'W' => Tile::Counter,
        'X' => Tile::Goal,
        'B' => Tile::Plates,
        'P' => Tile::Pot,
        'R' => Tile::Indicator,
        'L' => Tile::Button,
        'O' => Tile::Pile(0),
        '0'..='9' => Tile::Pile(symbol as u8 - b'0'),
        _ => return None,
    })
}

/// Rows of a layout, with the recipes and the order of starts that come with its name.
struct Plan {
    rows: Vec<String>,
    recipes: Vec<[u8; 3]>,
    swapped: bool,
}

fn plan(layout: &Chart) -> Result<Plan, ParamError> {
    let own = |rows: Vec<String>| Plan {
        rows,
        recipes: Vec::new(),
        swapped: false,
    };
    match layout {
        Chart::Rows(rows) => Ok(own(rows.clone())),
        // The original has layouts as texts, with an empty line before and after.
        Chart::Name(text) if text.contains('\n') => {
            let text = text.strip_prefix('\n').unwrap_or(text);
            let text = text.strip_suffix('\n').unwrap_or(text);
            Ok(own(text.split('\n').map(ToString::to_string).collect()))
        }
        Chart::Name(name) => match LAYOUTS.iter().find(|layout| layout.name == name) {
            Some(layout) => Ok(Plan {
                rows: layout.rows.iter().map(|row| (*row).to_string()).collect(),
                recipes: layout.recipes.to_vec(),
                swapped: layout.swapped,
            }),
            None => {
                let known = LAYOUTS.iter().map(|layout| layout.name);
                refuse("layout", crate::grid::tell_unknown("layout", name, known))
            }
        },
    }
}

impl Kitchen {
    /// Reads a kitchen.
    ///
    /// # Errors
    /// [`ParamError`] with what is wrong, and where.
    pub fn new(params: &Params) -> Result<Self, ParamError> {
        let plan = plan(&params.layout)?;
        let mut kitchen = read(&plan.rows)?;
        if plan.swapped != params.swap_agents {
            kitchen.starts.reverse();
        }
        let own = params.recipes.clone();
        let recipes = own.unwrap_or(plan.recipes);
        kitchen.recipes = kitchen.read_recipes(&recipes)?;
        kitchen.parts = kitchen.find_parts();
        Ok(kitchen)
    }

    /// The recipes as items; all that the ingredients make if none are named.
    fn read_recipes(&self, recipes: &[[u8; 3]]) -> Result<Vec<u32>, ParamError> {
        let count = self.ingredients;
        for (number, recipe) in recipes.iter().enumerate() {
            if let Some(far) = recipe.iter().find(|&&ingredient| ingredient >= count) {
                return refuse(
                    &format!("recipes[{number}]"),
                    format!(
                        "there is no ingredient {far}: the kitchen has 0 to {}",
                        count - 1
                    ),
                );
            }
        }
        if !recipes.is_empty() {
            return Ok(recipes
                .iter()
                .map(|&recipe| items::recipe(recipe))
                .collect());
        }
        if !self.tiles.contains(&Tile::Indicator) {
            return refuse(
                "recipes",
                "are missing: a layout without a display (`R`) needs a list such as [[0, 0, 0]]",
            );
        }
        let all = (0..count)
            .flat_map(|a| (a..count).flat_map(move |b| (b..count).map(move |c| [a, b, c])));
        Ok(all.map(items::recipe).collect())
    }

    /// The parts of the kitchen between which nobody walks: each has the number of its greatest cell.
    fn find_parts(&self) -> Vec<u16> {
        let mut parts = vec![u16::MAX; self.tiles.len()];
        for start in (0..self.tiles.len() as u16).rev() {
            let mut found = vec![start];
            while let Some(cell) = found.pop() {
                let at = usize::from(cell);
                if self.tiles[at] != Tile::Floor || parts[at] != u16::MAX {
                    continue;
                }
                parts[at] = start;
                found.extend((0..4).map(|direction| self.step_from(cell, direction)));
            }
        }
        parts
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.rows * self.cols
    }

    /// Column and row of a cell.
    pub fn column_and_row(&self, cell: u16) -> [usize; 2] {
        [usize::from(cell) % self.cols, usize::from(cell) / self.cols]
    }

    fn cell(&self, [x, y]: [usize; 2]) -> u16 {
        (y * self.cols + x) as u16
    }

    /// The next cell in a direction, or the same one at the edge.
    pub fn step_from(&self, cell: u16, direction: u8) -> u16 {
        let [x, y] = self.beyond(cell, direction);
        let inside = |at: i32, size: usize| at.clamp(0, size as i32 - 1) as usize;
        self.cell([inside(x, self.cols), inside(y, self.rows)])
    }

    /// Column and row of the next cell in a direction, maybe outside.
    fn beyond(&self, cell: u16, direction: u8) -> [i32; 2] {
        let ([x, y], [dx, dy]) = (
            self.column_and_row(cell),
            DIRECTIONS[usize::from(direction) & 3],
        );
        [x as i32 + dx, y as i32 + dy]
    }

    /// Returns the cell that hands reach in a direction, and whether their effect there stays.
    ///
    /// Source: how JAX 0.10 indexes: at an open left or upper edge hands reach to the other side, at an open right or
    /// lower edge they see the own cell, and their effect is lost.
    pub fn reach_cell(&self, cell: u16, direction: u8) -> (u16, bool) {
        let [x, y] = self.beyond(cell, direction);
        let (cols, rows) = (self.cols as i32, self.rows as i32);
        let wrapped = |at: i32, size: i32| if at < 0 { size - 1 } else { at.min(size - 1) };
        let place = [wrapped(x, cols) as usize, wrapped(y, rows) as usize];
        (self.cell(place), x < cols && y < rows)
    }

    /// The part of the kitchen that a cell belongs to.
    pub fn part(&self, cell: u16) -> u16 {
        self.parts[usize::from(cell)]
    }

    /// Checks whether a cook at one cell sees another, with a view radius.
    pub fn can_see(&self, radius: Option<u8>, from: u16, cell: u16) -> bool {
        let ([x, y], [other_x, other_y]) = (self.column_and_row(from), self.column_and_row(cell));
        let far = x.abs_diff(other_x).max(y.abs_diff(other_y));
        radius.is_none_or(|radius| far <= usize::from(radius))
    }
}

fn read(rows: &[String]) -> Result<Kitchen, ParamError> {
    // Short rows end with floor, as in the original.
    let cols = rows
        .iter()
        .map(|row| row.chars().count())
        .max()
        .unwrap_or(0);
    if cols == 0 || cols > MAX_SIDE || rows.len() > MAX_SIDE {
        let count = rows.len();
        return refuse(
            "layout",
            format!(
                "needs 1 to {MAX_SIDE} rows of 1 to {MAX_SIDE} symbols; this one has {count} rows of {cols}"
            ),
        );
    }
    let mut kitchen = Kitchen {
        rows: rows.len(),
        cols,
        tiles: Vec::new(),
        starts: Vec::new(),
        ingredients: 0,
        recipes: Vec::new(),
        parts: Vec::new(),
    };
    for (row, symbols) in rows.iter().enumerate() {
        for (col, symbol) in symbols.chars().enumerate() {
            let Some(tile) = tile(symbol) else {
                let reason = format!(
                    "row {}, column {}: there is no symbol `{symbol}`; there is: `W` counter, `A` cook, `X` goal, \
                     `B` plates, `P` pot, `R` display, `L` button, `0` to `9` ingredients, blank floor",
                    row + 1,
                    col + 1
                );
                return refuse(&format!("layout[{row}]"), reason);
            };
            if symbol == 'A' {
                kitchen.starts.push((row * cols + col) as u16);
            }
            if let Tile::Pile(ingredient) = tile {
                kitchen.ingredients = kitchen.ingredients.max(ingredient + 1);
            }
            kitchen.tiles.push(tile);
        }
        kitchen.tiles.resize((row + 1) * cols, Tile::Floor);
    }
    if !(1..=MAX_SEATS).contains(&kitchen.starts.len()) {
        let count = kitchen.starts.len();
        return refuse(
            "layout",
            format!("has {count} cooks (`A`) and needs 1 to {MAX_SEATS}"),
        );
    }
    if kitchen.ingredients == 0 {
        return refuse(
            "layout",
            "has no ingredient: put at least one of `0` to `9`",
        );
    }
    Ok(kitchen)
}
