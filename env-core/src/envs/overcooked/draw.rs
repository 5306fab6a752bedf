//! The picture of a kitchen.

use super::Overcooked;
use super::kitchen::{COLS, Ground};
use super::state::State;
use crate::draw::{DrawList, Shape, Sprite};

/// The pictures of the kitchen.
pub(super) const SPRITES: &[Sprite] = &[];

/// Draws floor, counters and cooks.
pub(super) fn draw(env: &Overcooked, state: &State, out: &mut DrawList) {
    let kitchen = env.kitchen();
    out.begin(
        f32::from(kitchen.cols),
        f32::from(kitchen.rows),
        0xf4ed_e4ff,
    );
    for (cell, ground) in kitchen.ground.iter().enumerate() {
        let color = match ground {
            Ground::Floor | Ground::Void => continue,
            Ground::Counter => 0xb08d_62ff,
            Ground::OnionStack => 0xe0c0_40ff,
            Ground::PlateStack => 0xe8e8_f0ff,
            Ground::Pot => 0x4040_48ff,
            Ground::DeliveryZone => 0x60a0_60ff,
        };
        let [x, y] = [(cell % COLS) as f32, (cell / COLS) as f32];
        out.push(0, [x, y, 1.0, 1.0], Shape::Rect { radius: 0.1, color });
    }
    for (seat, chef) in state.chefs.iter().enumerate() {
        let [x, y] = [
            f32::from(chef.cell % COLS as u8),
            f32::from(chef.cell / COLS as u8),
        ];
        let color = [0x2f6f_deff, 0xd9_5f30ff][seat];
        out.push(
            seat as u32 + 1,
            [x + 0.1, y + 0.1, 0.8, 0.8],
            Shape::Rect { radius: 0.4, color },
        );
    }
}
