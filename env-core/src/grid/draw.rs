//! The picture of a grid: ground, things, what lies on them, what containers hold, agents from back to front.

use alloc::format;
use alloc::vec::Vec;

use super::kind::{EMPTY, KindId};
use super::state::State;
use super::tables::{Tables, refuse};
use crate::MAX_SEATS;
use crate::contract::ParamError;
use crate::draw::{DrawList, Shape, Sprite};

const BACKGROUND: u32 = 0x5c76_86ff;
const AGENTS: [u32; 8] = [
    0xd55e_00ff,
    0x0072_b2ff,
    0x009e_73ff,
    0xcc79_a7ff,
    0xe69f_00ff,
    0x56b4_e9ff,
    0xf0e4_42ff,
    0x3333_33ff,
];

/// Which picture each kind has.
#[derive(Clone, Debug)]
pub struct Pictures {
    sprites: Vec<Option<u16>>,
}

impl Pictures {
    /// Finds the pictures of the kinds.
    ///
    /// # Errors
    /// [`ParamError`] for a kind that names a picture that the world does not bring.
    pub fn new(tables: &Tables, sprites: &[Sprite]) -> Result<Self, ParamError> {
        let find = |kind: &super::Kind| match &kind.sprite {
            None => Ok(None),
            Some(name) => match sprites.iter().position(|sprite| sprite.name == name) {
                Some(index) => Ok(Some(index as u16)),
                None => refuse(
                    "kinds",
                    format!(
                        "`{}` names the picture `{name}`, which the world does not bring",
                        kind.name
                    ),
                ),
            },
        };
        let sprites = tables.kinds.iter().map(find).collect::<Result<_, _>>()?;
        Ok(Self { sprites })
    }

    /// Draws a state.
    pub fn draw<X>(&self, tables: &Tables, state: &State<X>, out: &mut DrawList) {
        out.begin(tables.cols as f32, tables.rows as f32, BACKGROUND);
        for cell in 0..tables.cells as u16 {
            let (row, col) = tables.place(cell);
            let (x, y) = (col as f32, row as f32);
            self.thing(tables, state.kind(cell), [x, y, 1.0, 1.0], 0, out);
            self.thing(
                tables,
                state.value(tables, cell),
                [x + 0.2, y + 0.2, 0.6, 0.6],
                0,
                out,
            );
        }
        for seat in 0..tables.seats {
            let agent = state.agents[seat];
            let (row, col) = tables.place(agent.cell);
            let (x, y) = (col as f32, row as f32);
            let color = AGENTS[seat % AGENTS.len()];
            out.push(
                1 + seat as u32,
                [x + 0.1, y + 0.1, 0.8, 0.8],
                Shape::Ellipse { color },
            );
            self.thing(
                tables,
                agent.held,
                [x + 0.3, y + 0.4, 0.5, 0.5],
                (1 + MAX_SEATS + seat) as u32,
                out,
            );
        }
    }

    fn thing(&self, tables: &Tables, kind: KindId, place: [f32; 4], id: u32, out: &mut DrawList) {
        let Some(declared) = tables.kind(kind).filter(|_| kind != EMPTY) else {
            return;
        };
        let shape = match self.sprites[usize::from(kind) - 1] {
            Some(index) => Shape::Sprite(index),
            None => Shape::Rect {
                radius: 0.1,
                color: declared.color,
            },
        };
        out.push(id, place, shape);
    }
}
