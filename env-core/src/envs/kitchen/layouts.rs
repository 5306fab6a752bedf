//! The kitchens that have a name.
//!
//! `C` counter, `#` wall, `O` onions, `T` tomatoes, `=` plates, `U` pot, `@` delivery zone, `+` start, blank floor;
//! in the kitchens of Overcooked V2 also `B` broccoli, `M` mushrooms, `u` open pot, `X` open delivery zone,
//! `R` recipe indicator, `L` button.

/// A layout with its name.
type Named = (&'static str, &'static [&'static str]);

/// The kitchens of Overcooked; the first six have the numbers that CoGrid gives them.
///
/// Source: Carroll et al., "On the Utility of Learning about Humans for Human-AI Coordination", 2019,
/// in the form that CoGrid 0.3.2 gives them (the five classic ones); CoGrid 0.3.2 (`cramped_mixed_kitchen`).
pub const CLASSIC: &[Named] = &[
    ("cramped_room", &["CCUCC", "O   O", "C   C", "C=C@C"]),
    (
        "asymmetric_advantages",
        &[
            "CCCCCCCCC",
            "O C@COC @",
            "C+  U  +C",
            "C   U   C",
            "CCC=C=CCC",
        ],
    ),
    (
        "coordination_ring",
        &["CCCUC", "C   U", "= C C", "O   C", "CO@CC"],
    ),
    (
        "forced_coordination",
        &["CCCUC", "O+C U", "O C C", "= C+C", "CCC@C"],
    ),
    (
        "counter_circuit",
        &["CCCUUCCC", "C      C", "= CCCC @", "C      C", "CCCOOCCC"],
    ),
    (
        "cramped_mixed_kitchen",
        &["CUCUC", "O+ +T", "C   C", "C=@CC"],
    ),
    // Room for four and for eight: for things that a team does and a pair does not.
    (
        "open_kitchen",
        &[
            "CCOCTCUCC",
            "C+     +C",
            "=  CCC  @",
            "C+     +C",
            "CCUCUCUCC",
        ],
    ),
    (
        "banquet",
        &[
            "CCOOCCCTTCC",
            "C +  +  + C",
            "U         U",
            "U + C=C + U",
            "C   @C@   C",
            "U + C=C + U",
            "U         U",
            "C +  +  + C",
            "CCTTC@COOCC",
        ],
    ),
];

/// The kitchens of Overcooked V2.
///
/// Source: Gessler et al., "OvercookedV2: Rethinking Overcooked for Zero-Shot Coordination", 2025,
/// in the form that CoGrid 0.3.2 gives them.
pub const V2: &[Named] = &[
    (
        "cramped_room_indicator",
        &["CCuCC", "O   T", "=   R", "CCCXC"],
    ),
    (
        "grounded_coord_simple",
        &["CCBCCCCC", "C  C=  O", "R +Lu+ X", "C  C=  T", "CCBCCCCC"],
    ),
    (
        "grounded_coord_ring",
        &[
            "CCCBRBCCC",
            "C       C",
            "C CCLCC C",
            "B O   = B",
            "R+X+u X R",
            "B T   = B",
            "C CCLCC C",
            "C       C",
            "CCCBRBCCC",
        ],
    ),
    (
        "test_time_simple",
        &["CCBCCCCC", "C  C=  O", "R +Cu+ X", "C  C=  T", "CCBCCCCC"],
    ),
    (
        "test_time_wide",
        &[
            "CCX=CC", "O +  O", "T    T", "CuCuCC", "M +  M", "C    C", "CCRCCC",
        ],
    ),
    (
        "demo_cook_simple",
        &[
            "CCCCCRBCOCC",
            "O      C  =",
            "C     +u+ X",
            "T      C  =",
            "CCCCCRBCTCC",
        ],
    ),
    (
        "demo_cook_wide",
        &[
            "CCCC=X=CCCC",
            "CCCO + TCCC",
            "CCCCCuCCCCC",
            "C    +    C",
            "O  CMRMC  O",
            "CTCCCCCCCTC",
        ],
    ),
];

/// The kitchens of one of the two environments.
pub fn of(v2: bool) -> &'static [Named] {
    if v2 { V2 } else { CLASSIC }
}
