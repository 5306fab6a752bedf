//! The kitchens that come with overcooked_ai of 2019, JaxMARL and CEC.

use super::{Named, named};

/// The kitchens of the tag `neurips2019`, and from `random0_hard` on those that only ZSC-Eval has.
///
/// Source: overcooked_ai at the tag `neurips2019`; ZSC-Eval f940869, `overcooked`.
#[rustfmt::skip]
pub(super) const NEURIPS2019: &[Named] = &[
    named("corridor", "XXXXXOXXDXXXXX/X  1  XX  2  X/X     XX     X/X  XXXXXXXX  X/X            X/X  XXXXXXXX  X/X     XX     X/X     XX     X/XXXXXSXXPPXXXX", ""),
    named("five_by_five", "XDPXX/X   S/O 2 X/X1  D/XOXPX", ""),
    named("mdp_test", "XXPXX/O  2O/T1  T/XDPSX", ""),
    named("multiplayer_schelling", "XXSPDXX/X  1  X/X  X  X/O3   4O/X  X  X/X  2  X/XXDPSXX", ""),
    named("random0", "XXXPX/O X1P/O2X X/D X X/XXXSX", ""),
    named("random1", "XXXPX/X 1 P/D2X X/O   X/XOSXX", ""),
    named("random2", "XXXPX/O X1P/O2X X/D X X/XXXSX", ""),
    named("random3", "XXXPPXXX/X  2   X/D XXXX S/X  1   X/XXXOOXXX", ""),
    named("scenario1_s", "XXOXDXX/X 1X2 X/X  X  X/X     X/XSXXPPX", ""),
    named("scenario2", "XXXXXOXXXX/S        O/D    1 2 X/XXXXXXPXXX", ""),
    named("scenario2_s", "XXOXXXX/S     O/D 1 2 X/XXXPXXX", ""),
    named("scenario3", "XXXXXOXXXX/S     XXPX/X    1   X/D XXXXXX X/X     2  O/XXXXXXXXXX", ""),
    named("scenario4", "XXXXXOXXXX/S      XPX/D    1   X/XXXXXXXX X/XXXXXX2  O/XXXXXXXXXX", ""),
    named("schelling", "XXSPDXX/X  1  X/X  X  X/O     O/X  X  X/X  2  X/XXDPSXX", ""),
    named("schelling_s", "XSPDX/X 1 X/O   O/X 2 X/XDPSX", ""),
    named("simple", "XXPXX/O  2O/X1  X/XDXSX", ""),
    named("simple_single", "XXPXX/O   O/X1  X/XDXSX", ""),
    named("simple_tomato", "XXPXX/T  2T/X1  O/XXDSX", ""),
    named("small_corridor", "XXXXXOXDXXXXX/X  1  X  2  X/X  XXXXXXX  X/X           X/XSXXXXXXXXPPX", ""),
    named("unident", "XXXXXXXXXXX/O XXSXOXX S/X    P  1 X/X2   P    X/XXXXDXDXXXX", ""),
    named("unident_s", "XXXXXXXXX/O XSXOX S/X   P 1 X/X2  P   X/XXXDXDXXX", ""),
    named("random0_hard", "XXXXXOOX/X   X  P/P  XX 2S/X1 X   X/XDXXXXXX", ""),
    named("random0_medium", "XXXXXXXX/X   O  P/P  X  2S/X1 X   X/XDXXXXXX", ""),
    named("random3_eval", "XXXPPXXX/X  2   X/D XXXX S/X  1   X/XXXOOXXX", ""),
    named("random3_reverse", "XXXXXXX/X  2  X/X XPP X/X OXX X/X OXD X/X  1  X/XXXSXXX", ""),
    named("symm_ot", "XXSXSXX/O1 D 2O/O  P  O/O  X  O/XTXXXTX", ""),
    named("unident_open_s", "XXXXXXOXX/X   P   X/X   P 1 X/D2      X/XSXXXXXXX", ""),
    named("unident_s_hard", "XXXXXXXXX/O XSXOX S/X   P 1 X/X2  X   X/D   P   X/XXXXXDXXX", ""),
];

/// The kitchens of JaxMARL, in its own letters; in `forced_coord` the second cook is the first.
///
/// Source: JaxMARL 0.2.0, `overcooked/layouts.py`.
#[rustfmt::skip]
pub(super) const JAXMARL: &[Named] = &[
    named("cramped_room", "WWPWW/OA AO/W   W/WBWXW", ""),
    named("asymm_advantages", "WWWWWWWWW/O WXWOW X/W   P   W/W A PA  W/WWWBWBWWW", ""),
    named("coord_ring", "WWWPW/W A P/BAW W/O   W/WOXWW", ""),
    named("forced_coord", "WWWPW/O WAP/OAW W/B W W/WWWXW", "").swapped(),
    named("counter_circuit", "WWWPPWWW/W A    W/B WWWW X/W     AW/WWWOOWWW", ""),
];

/// The kitchens of CEC; there they are in the upper left corner of 9 by 9 cells of wall.
///
/// Source: crossEnvCooperation 71ed348, `overcooked/layouts.py`.
#[rustfmt::skip]
pub(super) const CEC: &[Named] = &[
    named("cramped_room_9", "PWPWW/OA AO/W   W/BBWXX", ""),
    named("asymm_advantages_9", "O WXWOW X/W A P A W/W   P   W/WWWBWBWWW", ""),
    named("coord_ring_9", "BWWPW/W A P/B W W/O A W/WOXWX", ""),
    named("counter_circuit_9", "BWWPPWWX/W      W/BAWWWWAX/W      W/WWWOOWWW", ""),
    named("forced_coord_9", "WWWPW/O W P/OAWAW/B W W/BWWXX", ""),
];
