//! The kitchens that come with `overcooked-ai` and with ZSC-Eval.

use super::{Named, named};

/// Values and times that many of them share.
const BY_INGREDIENT: &str =
    "'onion_value': 21, 'tomato_value': 13, 'onion_time': 15, 'tomato_time': 7";

/// The kitchens of the package.
///
/// Source: `overcooked-ai` 1.1.0, `data/layouts`.
#[rustfmt::skip]
pub(super) const PACKAGE: &[Named] = &[
    named("asymmetric_advantages", "XXXXXXXXX/O XSXOX S/X   P 1 X/X2  P   X/XXXDXDXXX", "ooo"),
    named("asymmetric_advantages_tomato", "XTXXXXXOX/D XOXTX S/X   P 1 X/X2  X   X/XXXSXDXXX", "ooo oot ttt t").bonus("ttt oot").more(BY_INGREDIENT),
    named("bonus_order_test", "XXPXX/O  2T/X1  X/XDXSX", "ooo ttt to").bonus("to ttt").more("'recipe_values': [10, 20, 15], 'recipe_times': [20, 15, 10]"),
    named("bottleneck", "XXOXDXX/X 1X2 X/X  X  X/X     X/XSXXPPX", "ooo"),
    named("centre_objects", "XXXXXXX/X  1  X/X P S X/X     X/X D O X/X  2  X/XXXXXXX", "ooo"),
    named("centre_pots", "XXXOSSX/X  1  X/X P P X/X  2  X/XDDOXXX", "ooo"),
    named("coordination_ring", "XXXPX/X 1 P/D2X X/O   X/XOSXX", "ooo"),
    named("corridor", "XXXXXOXXDXXXXX/X  1  XX  2  X/X     XX     X/X  XXXXXXXX  X/X            X/X  XXXXXXXX  X/X     XX     X/X     XX     X/XXXXXSXXPPXXXX", "ooo"),
    named("counter_circuit", "XXXPDPXXX/X   2   X/X XXXXX X/X   1   X/XXXOSTXXX", "ott oot ot").bonus("ot").more(BY_INGREDIENT),
    named("counter_circuit_o_1order", "XXXPPXXX/X  2   X/D XXXX S/X  1   X/XXXOOXXX", "ooo"),
    named("cramped_corridor", "XTPXXXXSX/D      2X/XXXX XXXX/D      1X/XOPXXXXSX", "t ooo ttt to tt").bonus("to t tt").more(BY_INGREDIENT),
    named("cramped_room", "XXPXX/O  2O/X1  X/XDXSX", "ooo"),
    named("cramped_room_o_3orders", "XXPXX/O  2X/X1  X/XDXSX", "ooo oo o").more("'recipe_values': [20, 9, 4], 'recipe_times': [20, 20, 20]"),
    named("cramped_room_single", "XXPXX/O   O/X1  X/XDXSX", "ooo"),
    named("cramped_room_tomato", "XXPXX/O  2T/X1  X/XDXSX", "ooo ttt to").bonus("to").more("'tomato_value': 10, 'onion_value': 15, 'tomato_time': 10, 'onion_time': 10"),
    named("five_by_five", "XDPXX/X   S/O 2 X/X1  D/XOXPX", "ooo"),
    named("forced_coordination", "XXXPX/O X1P/O2X X/D X X/XXXSX", "ooo"),
    named("forced_coordination_tomato", "XXXPX/T X1P/O2X X/S X X/XXXDX", "ooo ott oot ttt").more("'recipe_values': [10, 10, 10, 15], 'recipe_times': [10, 10, 10, 10]"),
    named("inverse_marshmallow_experiment", "XOXXXXXXXXXOX/X     X     X/XXXX  D  XXXX/XXS 2 P 1 SXX/XXXXXTXTXXXXX", "o t oto ooo ttt").bonus("ooo").more(BY_INGREDIENT),
    named("large_room", "XXXPXXX/O    2O/X     X/X     X/X     X/X1    X/XDXXXSX", "ooo"),
    named("long_cook_time", "XOXXXXXXXXXXX/X XXXXXXXXXXX/X  1        X/X           P/X  2        X/X DXXXXXXXXXX/XSXXXXXXXXXXX", "ooo oo o").more("'recipe_values': [10, 10, 10], 'recipe_times': [100, 100, 100]"),
    named("m_shaped_s", "XPXXX/O X2O/X1  X/XDXSX", "ooo"),
    named("marshmallow_experiment", "XXXXXXXXXXXXX/O   DTXTD   O/XX    P    XX/S   2 P 1   S/XXXXXTXTXXXXX", "ooo ttt").bonus("ooo").more(BY_INGREDIENT),
    named("marshmallow_experiment_coordination", concat!("XXXXXXXXXXXOX/X    XTTX   X/X", "XX  P    XX", "X/S  2 P 1    X/XXXXDXTTXXXXX"), "ooo ttt").bonus("ooo").more(BY_INGREDIENT),
    named("mdp_test", "XXPXX/O  2O/T1  T/XDPSX", "o ooo oto").bonus("oto").more("'tomato_value': 5, 'onion_value': 10, 'tomato_time': 2, 'onion_time': 2"),
    named("multiplayer_schelling", "XXSPDXX/X  1  X/X  X  X/O3   4O/X  X  X/X  2  X/XXDPSXX", "ooo"),
    named("pipeline", "XXXPDPXXX/X       X/X XXXXX X/X X     X/X XXXXX X/X  1 2  X/XXXOSOXXX", "ooo oo o").bonus("oo").more(BY_INGREDIENT),
    named("scenario1_s", "XXOXDXX/X 1X2 X/X  X  X/X     X/XSXXPPX", "ooo"),
    named("scenario2", "XXXXXOXXXX/S        O/D    1 2 X/XXXXXXPXXX", "ooo"),
    named("scenario2_s", "XXOXXXX/S     O/D 1 2 X/XXXPXXX", "ooo"),
    named("scenario3", "XXXXXOXXXX/S     XXPX/X    1   X/D XXXXXX X/X     2  O/XXXXXXXXXX", "ooo"),
    named("scenario4", "XXXXXOXXXX/S      XPX/D    1   X/XXXXXXXX X/XXXXXX2  O/XXXXXXXXXX", "ooo"),
    named("schelling", "XXSPDXX/X  1  X/X  X  X/O     O/X  X  X/X  2  X/XXDPSXX", "ooo"),
    named("schelling_s", "XSPDX/X 1 X/O   O/X 2 X/XDPSX", "ooo"),
    named("simple_o", "XXPXX/X  2X/X1  O/XXDSX", "ooo").more("'recipe_values': [20], 'recipe_times': [5]"),
    named("simple_o_t", "XXPXX/T  2T/X1  O/XXDSX", "ooo ttt").more("'recipe_values': [20, 15], 'recipe_times': [5, 5]"),
    named("simple_tomato", "XXPXX/T  2T/X1  O/XXDSX", "ttt"),
    named("small_corridor", "XXXXXOXDXXXXX/X  1  X  2  X/X  XXXXXXX  X/X           X/XSXXXXXXXXPPX", "ooo"),
    named("soup_coordination", "XXXDTXOXXXX/X    X    X/S 2  P  1 S/X    X    X/XXXXOXTDXXX", "oot ttt ot t o").bonus("t too ttt o").more(BY_INGREDIENT),
    named("tutorial_0", "XXPXXXX/O   2 S/XXPDXXX/O   1 S/XXXXXXX", "ooo").more(BY_INGREDIENT),
    named("tutorial_1", "XXPXXXX/O   2 S/XTPDXXX/O   1 S/XXXXXXX", "ott ot").more("'start_state': {'players': [{'position': [4, 3], 'orientation': [-1, 0], 'held_object': None}, {'position': [4, 1], 'orientation': [0, -1], 'held_object': None}], 'objects': [{'name': 'soup', 'position': [2, 2], '_ingredients': [{'name': 'onion', 'position': [2, 2]}, {'name': 'onion', 'position': [2, 2]}], '_cooking_tick': -1, 'is_cooking': False, 'is_ready': False, 'is_idle': True, 'cook_time': -1}], 'bonus_orders': [], 'all_orders': [{'ingredients': ['onion', 'tomato']}, {'ingredients': ['onion', 'tomato', 'tomato']}]}, 'onion_value': 21, 'tomato_value': 13, 'onion_time': 15, 'tomato_time': 7"),
    named("tutorial_2", "XXPXXXX/O   2 S/XTPDXXX/O   1 S/XXXXXXX", "").more(BY_INGREDIENT),
    named("tutorial_3", "XXPXXXX/O   2 S/XTPDXXX/O   1 S/XXXXXXX", "").bonus("ott").more("'order_bonus': float('inf'), 'onion_value': 21, 'tomato_value': 13, 'onion_time': 15, 'tomato_time': 7"),
    named("unident", "XXXXXXXXXXX/O XXSXOXX S/X    P  1 X/X2   P    X/XXXXDXDXXXX", "ooo"),
    named("you_shall_not_pass", "XXXXXSSSXXXXX/XXTSSS SSSOXX/P 1       2 P/XXDSSSSSSSDXX", "o t oot tto ttt oo").bonus("oot tto").more(BY_INGREDIENT),
];

/// The kitchens that the repository and the fork `overcooked` have beside.
///
/// Source: `overcooked` 0.2.1, `data/layouts`.
#[rustfmt::skip]
pub(super) const FORK: &[Named] = &[
    named("old_dynamics_cook_test", "XXPXX/O 1 X/X   X/XDXSX", "ooo").more("'start_state': {'players': [{'position': [2, 1], 'orientation': [0, -1], 'held_object': None}], 'objects': [{'name': 'soup', 'position': [2, 0], '_ingredients': [{'name': 'onion', 'position': [2, 0]}], '_cooking_tick': -1, 'is_cooking': False, 'is_ready': False, 'is_idle': True, 'cook_time': -1}], 'bonus_orders': [], 'all_orders': [{'ingredients': ['onion', 'onion', 'onion']}]}"),
    named("old_dynamics_put_test", "XXPXX/O 1 X/X   X/XDXSX", "ooo").more("'start_state': {'players': [{'position': [2, 1], 'orientation': [0, -1], 'held_object': {'name': 'onion', 'position': [2, 1]}}], 'objects': [{'name': 'soup', 'position': [2, 0], '_ingredients': [{'name': 'onion', 'position': [2, 0]}, {'name': 'onion', 'position': [2, 0]}], '_cooking_tick': -1, 'is_cooking': False, 'is_ready': False, 'is_idle': True, 'cook_time': -1}], 'bonus_orders': [], 'all_orders': [{'ingredients': ['onion', 'onion', 'onion']}]}"),
    named("random0", "XXXPX/O X1P/O2X X/D X X/XXXSX", "ooo"),
    named("random3", "XXXPPXXX/X  2   X/D XXXX S/X  1   X/XXXOOXXX", "ooo"),
];

/// The kitchens that ZSC-Eval has in addition to those of the package.
///
/// Source: ZSC-Eval f940869, `overcooked_new`.
#[rustfmt::skip]
pub(super) const ZSC: &[Named] = &[
    named("corner_onion_tomato", "XTTXXXX/O     X/O  XX X/X1X   X/X X2  D/XXXSPPX", "ooo ttt").more("'recipe_values': [20, 20], 'recipe_times': [20, 20]"),
    named("diff_orders", "XPPPX/O1 2T/O   T/D   D/XXSXX", "ooo ttt ott too").more("'recipe_values': [20, 20, 10, 10], 'recipe_times': [20, 20, 15, 15]"),
    named("distant_tomato", "XXXXX/X T X/X X X/X1X2X/D P D/O P O/XSXSX", "ooo ttt").more("'recipe_values': [20, 20], 'recipe_times': [20, 10]"),
    named("h_far_tomato", "XODXXXX/S  1  X/XPPXXTX/S  2  X/XODXXXX", "ooo ttt").more("'recipe_values': [20, 20], 'recipe_times': [20, 10]"),
    named("many_orders", "XPPPX/O1 2T/O   T/D   D/XXSXX", "ooo ttt ott").more("'recipe_values': [20, 20, 10], 'recipe_times': [20, 20, 10]"),
    named("random0", "XXXPX/O X1P/O2X X/D X X/XXXSX", "ooo"),
    named("random0_m", "XXXPX/O X1P/O2X X/D T X/XXXSX", "ooo oot ott oo ot").more("'recipe_values': [20, 20, 20, 10, 10], 'recipe_times': [20, 20, 20, 10, 10]"),
    named("random0_medium", "XXXXXXXX/X   O  P/P  X  2S/X1 X   X/XDXXXXXX", "ooo"),
    named("random1", "XXXPX/X 1 P/D2X X/O   X/XOSXX", "ooo"),
    named("random1_m", "XXXPX/X 1 P/D2X X/O   X/XTSXX", "ooo oot ott oo ot").more("'recipe_values': [20, 20, 20, 10, 10], 'recipe_times': [20, 20, 20, 10, 10]"),
    named("random3", "XXXPPXXX/X  2   X/D XXXX S/X  1   X/XXXOOXXX", "ooo"),
    named("random3_m", "XXXPPXXX/X  2   X/D XXXX S/X  1   X/XOOXXTTX", "ooo oot ott oo ot").more("'recipe_values': [20, 20, 20, 10, 10], 'recipe_times': [20, 20, 20, 10, 10]"),
    named("symm_onion_tomato", "XXXXX/X T X/X X X/X1X2X/X D X/O P O/XSXSX", "ooo ttt").more("'recipe_values': [20, 20], 'recipe_times': [20, 20]"),
    named("unident_s", "XXXXXXXXX/O XSXOX S/X   P 1 X/X2  P   X/XXXDXDXXX", "ooo"),
    named("unident_s_m", "XTXXXXXTX/O XSXOX S/X   P 1 X/X2  P   X/XXXDXDXXX", "ooo oot ott oo ot").more("'recipe_values': [20, 20, 20, 10, 10], 'recipe_times': [20, 20, 20, 10, 10]"),
];
