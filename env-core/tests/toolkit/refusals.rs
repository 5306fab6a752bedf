//! Refusals of parameters, layouts and plans: their place and their words.

use env_core::conformance::check_batch;
use env_core::contract::{Environment as _, ParamError};
use env_core::envs::{build_environment, open};
use env_core::grid::{
    Act, Chart, Draws, Grid, GridWorld, Kind, Layout, Names, Recipe, Reward, Tables, Use, When,
    WorldPlan,
};
use env_core::rng::Rng;
use serde::{Deserialize, Serialize};

/// A world whose plan and whose grounds are given to it.
type Given = Grid<World>;

#[derive(Debug)]
struct World(Vec<String>);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    flaw: String,
    seats: Option<usize>,
    horizon: Option<u32>,
    layout: Option<Chart>,
    features: Option<Vec<String>>,
    inner: Inner,
    rows: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Inner {
    speed: u8,
    parts: Vec<f32>,
}

impl GridWorld for World {
    const ID: &'static str = "given";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Given";
    type Params = Params;
    type Extra = ();

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        let mut plan = WorldPlan {
            kinds: vec![
                Kind::new("wall").symbol('W').wall(),
                Kind::new("crate")
                    .symbol('C')
                    .usage(Use::Surface(Names::Any)),
                Kind::new("apple").symbol('a').usage(Use::Loose),
                Kind::new("lamp").symbol('L').usage(Use::Switch { time: 3 }),
            ],
            layout: Layout::fixed(&["WWW", "W  ", "WWW"]),
            ..WorldPlan::default()
        };
        if let Some(chart) = &params.layout {
            plan.layout = Layout::Fixed(chart.rows(&[("small", &["  ", "  "])])?);
        }
        if !params.rows.is_empty() {
            plan.layout = Layout::Generated {
                rows: 2,
                cols: 3,
                fixtures: 1,
            };
        }
        plan.seats = params.seats.unwrap_or(plan.seats);
        plan.horizon = params.horizon.unwrap_or(plan.horizon);
        plan.features = params.features.clone().unwrap_or(plan.features);
        flaw(&mut plan, &params.flaw);
        Ok(plan)
    }

    fn new(params: Params, _: &Tables) -> Result<Self, ParamError> {
        Ok(Self(params.rows))
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}

    /// The ground that is given; where the first symbol is `?`, in one of ten episodes.
    fn generate(&self, rng: &mut Rng) -> Vec<String> {
        let rare = self.0.iter().any(|row| row.starts_with('?'));
        if rare && rng.below(10) > 0 {
            return vec!["   ".into(), "   ".into()];
        }
        self.0.clone()
    }
}

fn flaw(plan: &mut WorldPlan, flaw: &str) {
    let makes = |capacity, ingredients: &[&str], result: &str| Use::Container {
        capacity,
        with: Names::EmptyHand,
        recipes: vec![Recipe {
            ingredients: ingredients.iter().map(|&name| name.into()).collect(),
            result: result.into(),
            time: 1,
        }],
    };
    let pot = |capacity, ingredients: &[&str]| makes(capacity, ingredients, "apple");
    let mut kind = |kind: Kind| plan.kinds.push(kind);
    match flaw {
        "twin" => kind(Kind::new("crate")),
        "twin symbol" => kind(Kind::new("other").symbol('C')),
        "floor symbol" => kind(Kind::new("other").symbol('+')),
        "source" => kind(Kind::new("tree").usage(Use::Source("aple".into()))),
        "recipe" => kind(Kind::new("pot").usage(pot(2, &["apple"]))),
        "source of switches" => kind(Kind::new("tree").usage(Use::Source("lamp".into()))),
        "recipe of a switch" => kind(Kind::new("pot").usage(pot(1, &["lamp"]))),
        "recipe for itself" => kind(Kind::new("pot").usage(makes(1, &["apple"], "pot"))),
        "becomes a switch" => kind(Kind::new("bud").usage(Use::Becomes {
            with: Names::EmptyHand,
            keeps: false,
            into: "lamp".into(),
        })),
        "capacity" => kind(Kind::new("pot").usage(pot(9, &["apple"; 9]))),
        "sprite" => kind(Kind::new("pot").sprite("pot")),
        "reward" => {
            let (act, item, at) = (Act::Take, Names::Any, Names::of(&["crates"]));
            plan.rewards
                .push(Reward::new("taken", 1.0, When::Does { act, item, at }));
        }
        "worth" => plan.rewards.push(Reward::new("own", f32::NAN, When::Own)),
        "hz" => plan.tick_hz = 61,
        "many" => (0..64).for_each(|number| plan.kinds.push(Kind::new(&format!("kind_{number}")))),
        "radius" => plan.view_radius = Some(2),
        _ => {}
    }
}

fn refusal(params: &str) -> String {
    build_environment::<Given>(params.as_bytes())
        .map(drop)
        .unwrap_err()
        .to_string()
}

fn assert_refused(cases: &[(&str, &str)]) {
    for (params, expected) in cases {
        let said = refusal(params);
        assert!(
            said.starts_with(expected),
            "{params} is refused with\n  {said}\n  instead of\n  {expected}"
        );
    }
}

#[test]
fn a_layout_is_refused_with_row_and_column() {
    assert_refused(&[
        (
            r#"{"layout":["WW","W?"]}"#,
            "layout[1]: row 2, column 2: no kind has the symbol `?`; there is: `W` wall, `C` crate",
        ),
        (
            r#"{"layout":["  ","WA"]}"#,
            "layout[1]: row 2, column 2: no kind has the symbol `A`; did you mean `a` (apple)",
        ),
        (
            r#"{"layout":["WWW","WW"]}"#,
            "layout[1]: row 2 has 2 symbols and row 1 has 3: make them equally long",
        ),
        (
            r#"{"layout":[]}"#,
            "layout: needs 1 to 64 rows of 1 to 64 symbols; this one has 0 rows of 0",
        ),
        (
            r#"{"layout":["W W"]}"#,
            "layout: has 1 free cells, and there are 2 seats: make room, or take fewer seats",
        ),
        (
            r#"{"seats":5,"layout":["    "]}"#,
            "layout: has 4 free cells, and there are 5 seats",
        ),
        (
            r#"{"layout":"smal"}"#,
            "layout: there is no layout `smal`; did you mean `small`? (there is: small)",
        ),
        (
            r#"{"layout":7}"#,
            "layout: invalid type: integer `7`, expected the name of a layout, or its rows",
        ),
    ]);
    let wide = format!(r#"{{"layout":["{}"]}}"#, " ".repeat(65));
    assert!(
        refusal(&wide).starts_with("layout: needs 1 to 64 rows"),
        "{}",
        refusal(&wide)
    );
}

#[test]
fn a_feature_is_refused_at_its_place() {
    assert_refused(&[
        (
            r#"{"features":["agent_dir","agent_positon"]}"#,
            "features[1]: there is no feature `agent_positon`; did you mean `agent_position`?",
        ),
        (
            r#"{"features":["agent_dir","agent_dir"]}"#,
            "features[1]: `agent_dir` is there twice: take one out",
        ),
        (r#"{"features":["next_to_pot"]}"#, "features[0]: "),
        (
            r#"{"features":["agent_dir",3]}"#,
            "features[1]: invalid type: integer `3`, expected a string",
        ),
        (
            r#"{"flaw":"radius"}"#,
            "view_radius: is of no use without the feature `local_view`",
        ),
    ]);
}

#[test]
fn a_parameter_is_refused_at_its_path() {
    assert_refused(&[
        (
            r#"{"saets":2}"#,
            "saets: there is no parameter `saets`; did you mean `seats`? (there is: flaw, seats, horizon",
        ),
        (
            r#"{"inner":{"sped":2}}"#,
            "inner.sped: there is no parameter `sped`; did you mean `speed`?",
        ),
        (
            r#"{"inner":{"speed":256}}"#,
            "inner.speed: invalid value: integer `256`, expected a whole number from 0 to 255",
        ),
        (
            r#"{"inner":{"parts":[1,2,"x"]}}"#,
            r#"inner.parts[2]: invalid type: string "x", expected a number"#,
        ),
        (r#"{"seats":17}"#, "seats: must be 1 to 16"),
        (
            r#"{"seats":-1}"#,
            "seats: invalid value: integer `-1`, expected a whole number, 0 or more",
        ),
        (r#"{"horizon":0}"#, "horizon: must be 1 to 16777216 steps"),
        ("[]", "params: must be an object, such as {}"),
        ("{", "params: EOF while parsing"),
    ]);
}

#[test]
fn a_plan_is_refused_with_the_kind_that_is_wrong() {
    let cases = [
        (
            "twin",
            "kinds: `crate` and `crate` have the same name or symbol: rename one",
        ),
        (
            "twin symbol",
            "kinds: `crate` and `other` have the same name or symbol: rename one",
        ),
        (
            "floor symbol",
            "kinds.other: the symbol `+` is that of start cells: take another",
        ),
        (
            "source",
            "kinds.tree: there is no kind `aple`; did you mean `apple`?",
        ),
        (
            "recipe",
            "kinds.pot: the recipe of apple has 1 ingredients, and the container holds 2: give it 2",
        ),
        (
            "capacity",
            "kinds.pot: a container holds 1 to 8 ingredients and has a recipe",
        ),
        (
            "source of switches",
            "kinds.tree: `lamp` is a container or a switch, which only the layout puts somewhere: \
             name another kind, or give `lamp` another use",
        ),
        ("recipe of a switch", "kinds.pot: `lamp` is a container"),
        ("recipe for itself", "kinds.pot: `pot` is a container"),
        ("becomes a switch", "kinds.bud: `lamp` is a container"),
        (
            "sprite",
            "kinds.pot: there is no picture `pot` (there is: none)",
        ),
        (
            "reward",
            "rewards.taken: there is no kind `crates`; did you mean `crate`?",
        ),
        (
            "worth",
            "rewards.own: must be a number from -1000000 to 1000000",
        ),
        (
            "hz",
            "tick_hz: must be 1 to 60 steps per second, or 0 for turns",
        ),
        ("many", "kinds: there may be at most 63 kinds"),
    ];
    for (flaw, expected) in cases {
        assert_refused(&[(&format!(r#"{{"flaw":"{flaw}"}}"#), expected)]);
    }
}

#[test]
fn an_unknown_environment_is_refused_with_the_nearest() {
    let refused = |id: &str| open(id, "{}").map(drop).unwrap_err().to_string();
    assert!(
        refused("overcookd").starts_with(
            "environment: there is no environment `overcookd`; did you mean `overcooked`?"
        ),
        "{}",
        refused("overcookd")
    );
    assert!(
        !refused("chess").contains("did you mean"),
        "{}",
        refused("chess")
    );
}

#[test]
fn a_state_whose_empty_places_are_not_fresh_is_refused() {
    let grid = build_environment::<Given>(br#"{"rows":["   ","   "]}"#).unwrap();
    let state = grid.reset(1);
    assert!(grid.valid(&state));
    // One place for a switch, which this ground does not have, behind the kinds and the values of 6 cells.
    assert_eq!(state.memory.len(), 2 * 6 + 6);
    for at in 2 * 6..state.memory.len() {
        let mut other = state.clone();
        other.memory[at] ^= 1;
        assert!(!grid.valid(&other), "byte {at}");
    }
}

#[test]
fn a_ground_that_breaks_its_plan_is_found_by_conformance() {
    let verdict = |rows: &[&str]| {
        let rows = rows.iter().map(|&row| row.into()).collect();
        check_batch::<Given>([Params {
            rows,
            ..Params::default()
        }])
        .map_err(|error| error.to_string())
    };
    verdict(&["   ", " L "]).unwrap();
    for (rows, expected) in [
        (
            &["  ", "  "][..],
            "layout: has 2 rows of 2, and the plan says 2 of 3",
        ),
        (
            &["L L", "   "],
            "layout: has 2 containers and switches, and the plan says at most 1",
        ),
        (
            &["WWW", "WW "],
            "layout: has 1 free cells, and there are 2 seats",
        ),
        (
            &["?  ", "   "],
            "layout[0]: row 1, column 1: no kind has the symbol `?`",
        ),
    ] {
        let said = verdict(rows).unwrap_err();
        assert!(
            said.starts_with("every seed gives an episode: ") && said.contains(expected),
            "{said}"
        );
    }
}
