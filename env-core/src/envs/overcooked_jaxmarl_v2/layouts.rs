//! The layouts of the original, with their recipes.
//!
//! Source: JaxMARL 0.2.0, `overcooked_v2/layouts.py`.

/// A layout of the original.
#[derive(Clone, Copy, Debug)]
pub struct NamedLayout {
    /// Its name.
    pub name: &'static str,
    /// Its recipes; empty for every recipe that its ingredients make.
    pub recipes: &'static [[u8; 3]],
    /// True if the first seat has the last start, and the last seat the first.
    pub swapped: bool,
    /// Its rows.
    pub rows: &'static [&'static str],
}

const fn layout(
    name: &'static str,
    recipes: &'static [[u8; 3]],
    rows: &'static [&'static str],
) -> NamedLayout {
    NamedLayout {
        name,
        recipes,
        swapped: false,
        rows,
    }
}

/// Recipes of three of the first ingredient.
const FIRST: &[[u8; 3]] = &[[0, 0, 0]];
/// Recipes of three of the first ingredient, or three of the second.
const EITHER: &[[u8; 3]] = &[[0, 0, 0], [1, 1, 1]];

/// The layouts, in the order of the original.
#[rustfmt::skip]
pub const LAYOUTS: &[NamedLayout] = &[
    NamedLayout { swapped: true, ..layout("cramped_room", FIRST, &[
        "WWPWW",
        "OA AO",
        "W   W",
        "WBWXW",
    ]) },
    layout("asymm_advantages", FIRST, &[
        "WWWWWWWWW",
        "O WXWOW X",
        "W   P   W",
        "W A PA  W",
        "WWWBWBWWW",
    ]),
    layout("coord_ring", FIRST, &[
        "WWWPW",
        "W A P",
        "BAW W",
        "O   W",
        "WOXWW",
    ]),
    layout("forced_coord", FIRST, &[
        "WWWPW",
        "O WAP",
        "OAW W",
        "B W W",
        "WWWXW",
    ]),
    NamedLayout { swapped: true, ..layout("counter_circuit", FIRST, &[
        "WWWPPWWW",
        "W A    W",
        "B WWWW X",
        "W     AW",
        "WWWOOWWW",
    ]) },
    layout("cramped_room_v2", &[], &[
        "WWPWW",
        "0A A1",
        "W   R",
        "WBWXW",
    ]),
    layout("asymm_advantages_recipes_center", &[], &[
        "WWWWWWWWW",
        "0 WXR01 X",
        "1   P   W",
        "W A PA  W",
        "WWWBWBWWW",
    ]),
    layout("asymm_advantages_recipes_right", &[], &[
        "WWWWWWWWW",
        "0 WXW01 X",
        "1   P   R",
        "W A PA  W",
        "WWWBWBWWW",
    ]),
    layout("asymm_advantages_recipes_left", &[], &[
        "WWWWWWWWW",
        "0 WXW01 X",
        "1   P   R",
        "R A PA  W",
        "WWWBWBWWW",
    ]),
    layout("two_rooms", &[], &[
        "WWWWWB10W",
        "W   W   R",
        "P A W A W",
        "W   W   X",
        "WWWWWWWWW",
    ]),
    layout("two_rooms_both", &[], &[
        "W01BWB10W",
        "W   W   R",
        "P A W A W",
        "W   W   X",
        "WWWWWWWWW",
    ]),
    layout("long_room", FIRST, &[
        "WWWWWWWWWWWWWWW",
        "B            AP",
        "0             X",
        "WWWWWWWWWWWWWWW",
    ]),
    layout("fun_coordination", &[[0, 0, 2], [1, 1, 3]], &[
        "WWWWWWWWW",
        "0   X   2",
        "RA  P  AW",
        "1   B   3",
        "WWWWWWWWW",
    ]),
    layout("more_fun_coordination", &[[0, 1, 1], [0, 2, 2]], &[
        "WWWWWWWWW",
        "W   X   W",
        "RA  P  A1",
        "0   P   2",
        "W   B   W",
        "WWWWWWWWW",
    ]),
    layout("fun_symmetries", EITHER, &[
        "WWWWBWW",
        "2  W  0",
        "R APA X",
        "2  W  1",
        "WWWWBWW",
    ]),
    layout("fun_symmetries_plates", EITHER, &[
        "WWWWWWW",
        "B  W  0",
        "R APA X",
        "B  W  1",
        "WWWWWWW",
    ]),
    layout("fun_symmetries1", EITHER, &[
        "WWWWWBWW",
        "2  WW  0",
        "R AWPA X",
        "2  WW  1",
        "WWWWWBWW",
    ]),
    layout("grounded_coord_simple", EITHER, &[
        "WW2WWWWW",
        "W  WB  0",
        "R ALPA X",
        "W  WB  1",
        "WW2WWWWW",
    ]),
    layout("grounded_coord_ring", EITHER, &[
        "WWW2R2WWW",
        "W       W",
        "W WWLWW W",
        "2 0   B 2",
        "RAXAP X R",
        "2 1   B 2",
        "W WWLWW W",
        "W       W",
        "WWW2R2WWW",
    ]),
    layout("test_time_simple", EITHER, &[
        "WW2WWWWW",
        "W  WB  0",
        "R AWPA X",
        "W  WB  1",
        "WW2WWWWW",
    ]),
    layout("test_time_wide", EITHER, &[
        "WWXBWW",
        "0 A  0",
        "1    1",
        "WPWPWW",
        "3 A  3",
        "W    W",
        "WWRWWW",
    ]),
    layout("demo_cook_simple", EITHER, &[
        "WWWWWR2W0WW",
        "0      W  B",
        "W     APA X",
        "1      W  B",
        "WWWWWR2W1WW",
    ]),
    layout("demo_cook_wide", EITHER, &[
        "WWWWBXBWWWW",
        "WWW0 A 1WWW",
        "WWWWWPWWWWW",
        "W    A    W",
        "0  W3R3W  0",
        "W1WWWWWWW1W",
    ]),
];
