//! Where a kitchen has what: the five classic layouts, and the tables that they give.

use serde::{Deserialize, Serialize};

/// Most rows of a kitchen.
pub const ROWS: usize = 5;
/// Most columns of a kitchen; a cell is `row * COLS + column`, whatever the width of the layout.
pub const COLS: usize = 9;
/// Number of cells.
pub const CELLS: usize = ROWS * COLS;
/// Most pots of a kitchen.
pub const POTS: usize = 2;
/// Seats of a kitchen.
pub const SEATS: usize = 2;

/// The five classic kitchens.
///
/// Source: Carroll et al., "On the Utility of Learning about Humans for Human-AI Coordination", 2019,
/// in the form that CoGrid 0.3.2 gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// One small room; two cooks in each other's way.
    #[default]
    CrampedRoom,
    /// Two rooms that share two pots, each near to what the other is far from.
    AsymmetricAdvantages,
    /// A ring around a counter.
    CoordinationRing,
    /// One side has the ingredients, the other the pots: nobody cooks alone.
    ForcedCoordination,
    /// A long ring around a long counter.
    CounterCircuit,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Self; 5] = [
        Self::CrampedRoom,
        Self::AsymmetricAdvantages,
        Self::CoordinationRing,
        Self::ForcedCoordination,
        Self::CounterCircuit,
    ];

    /// The plan: `C` counter, `O` onions, `=` plates, `U` pot, `@` delivery, `+` start, blank floor.
    pub fn rows(self) -> &'static [&'static str] {
        match self {
            Self::CrampedRoom => &["CCUCC", "O   O", "C   C", "C=C@C"],
            Self::AsymmetricAdvantages => &[
                "CCCCCCCCC",
                "O C@COC @",
                "C+  U  +C",
                "C   U   C",
                "CCC=C=CCC",
            ],
            Self::CoordinationRing => &["CCCUC", "C   U", "= C C", "O   C", "CO@CC"],
            Self::ForcedCoordination => &["CCCUC", "O+C U", "O C C", "= C+C", "CCC@C"],
            Self::CounterCircuit => &["CCCUUCCC", "C      C", "= CCCC @", "C      C", "CCCOOCCC"],
        }
    }
}

/// What a cell is, whatever lies on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ground {
    /// A cook can stand here.
    Floor,
    /// Holds one item.
    Counter,
    /// Gives onions without end.
    OnionStack,
    /// Gives plates without end.
    PlateStack,
    /// Cooks three onions to soup.
    Pot,
    /// Takes soups.
    DeliveryZone,
    /// Outside the layout.
    Void,
}

impl Ground {
    fn of(symbol: u8) -> Self {
        match symbol {
            b'C' => Self::Counter,
            b'O' => Self::OnionStack,
            b'=' => Self::PlateStack,
            b'U' => Self::Pot,
            b'@' => Self::DeliveryZone,
            _ => Self::Floor,
        }
    }
}

/// The tables of a layout.
#[derive(Clone, Debug)]
pub struct Kitchen {
    /// Number of rows.
    pub rows: u8,
    /// Number of columns.
    pub cols: u8,
    /// What each cell is, `[row, column]` row-major with [`COLS`] columns.
    pub ground: [Ground; CELLS],
    /// The cells of the pots, in reading order; the first [`Kitchen::pots`] count.
    pub pot_cells: [u8; POTS],
    /// Number of pots.
    pub pots: u8,
    /// Index of the pot in a cell; 0 where there is none.
    pub pot_at: [u8; CELLS],
    /// The start cell of a seat, if the layout names it.
    pub starts: [Option<u8>; SEATS],
}

impl Kitchen {
    /// Reads a layout.
    pub fn new(layout: Layout) -> Self {
        let rows = layout.rows();
        let mut kitchen = Self {
            rows: rows.len() as u8,
            cols: rows[0].len() as u8,
            ground: [Ground::Void; CELLS],
            pot_cells: [0; POTS],
            pots: 0,
            pot_at: [0; CELLS],
            starts: [None; SEATS],
        };
        for (row, symbols) in rows.iter().enumerate() {
            for (col, &symbol) in symbols.as_bytes().iter().enumerate() {
                kitchen.read(row * COLS + col, symbol);
            }
        }
        kitchen
    }

    fn read(&mut self, cell: usize, symbol: u8) {
        self.ground[cell] = Ground::of(symbol);
        if self.ground[cell] == Ground::Pot {
            self.pot_at[cell] = self.pots;
            self.pot_cells[usize::from(self.pots)] = cell as u8;
            self.pots += 1;
        }
        if symbol == b'+'
            && let Some(start) = self.starts.iter_mut().find(|start| start.is_none())
        {
            *start = Some(cell as u8);
        }
    }

    /// Whether a cell is floor.
    pub fn is_floor(&self, cell: u8) -> bool {
        self.ground.get(usize::from(cell)) == Some(&Ground::Floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_is_closed_and_fits_its_tables() {
        for layout in Layout::ALL {
            let rows = layout.rows();
            assert!(
                rows.len() <= ROWS
                    && rows
                        .iter()
                        .all(|row| row.len() == rows[0].len() && row.len() <= COLS)
            );
            let kitchen = Kitchen::new(layout);
            assert!((1..=POTS as u8).contains(&kitchen.pots));
            for cell in (0..CELLS).filter(|&cell| kitchen.ground[cell] == Ground::Floor) {
                let (row, col) = (cell / COLS, cell % COLS);
                assert!(
                    row > 0 && row + 1 < rows.len() && col > 0 && col + 1 < rows[0].len(),
                    "{layout:?} {row} {col}"
                );
            }
        }
    }
}
