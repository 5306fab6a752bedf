//! A smithy: sources, a furnace with recipes, benches and a chest. Nothing of it is programmed, all of it is declared.

use env_core::contract::ParamError;
use env_core::grid::*;
use serde::{Deserialize, Serialize};

/// The environment.
pub type Smithy = Grid<World>;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of smiths.
    pub seats: usize,
    /// Steps that the furnace needs for iron; steel takes twice as long.
    pub smelting: u8,
    /// How smiths move.
    pub actions: ActionSet,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            seats: 2,
            smelting: 10,
            actions: ActionSet::default(),
        }
    }
}

/// No rules but those that are declared.
#[derive(Debug)]
pub struct World;

fn kinds(smelting: u8) -> Vec<Kind> {
    let recipe = |ingredients: [&str; 2], result: &str, time| Recipe {
        ingredients: ingredients.map(Into::into).into(),
        result: result.into(),
        time,
    };
    let furnace = Use::Container {
        capacity: 2,
        with: Names::of(&["tongs"]),
        recipes: vec![
            recipe(["ore", "ore"], "iron", smelting),
            recipe(["coal", "ore"], "steel", smelting.saturating_mul(2)),
        ],
    };
    let gives = |kind: &str| Use::Source(kind.into());
    vec![
        Kind::new("bench")
            .symbol('=')
            .usage(Use::Surface(Names::Any))
            .color(0x9a66_35ff),
        Kind::new("chest")
            .symbol('C')
            .usage(Use::Sink(Names::of(&["iron", "steel"])))
            .color(0x80c0_80ff),
        Kind::new("coal")
            .usage(Use::Loose)
            .color(0x3333_33ff)
            .words("coal"),
        Kind::new("coal_heap")
            .symbol('c')
            .usage(gives("coal"))
            .words("a heap of coal"),
        Kind::new("furnace")
            .symbol('F')
            .usage(furnace)
            .color(0xd55e_00ff),
        Kind::new("iron")
            .usage(Use::Loose)
            .color(0xc0c8_d0ff)
            .words("a bar of iron"),
        Kind::new("ore")
            .usage(Use::Loose)
            .color(0x8a5a_34ff)
            .words("ore"),
        Kind::new("ore_heap")
            .symbol('o')
            .usage(gives("ore"))
            .words("a heap of ore"),
        Kind::new("steel")
            .usage(Use::Loose)
            .color(0x7aa0_d0ff)
            .words("a bar of steel"),
        Kind::new("tongs")
            .usage(Use::Loose)
            .color(0x5566_77ff)
            .words("tongs"),
        Kind::new("tongs_rack")
            .symbol('t')
            .usage(gives("tongs"))
            .words("a rack of tongs"),
        Kind::new("wall").symbol('#').wall(),
    ]
}

impl GridWorld for World {
    const ID: &'static str = "smithy";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Smithy";
    type Params = Params;
    type Extra = ();

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        let does = |act, item: &str, at: &str| When::Does {
            act,
            item: Names::of(&[item]),
            at: Names::of(&[at]),
        };
        #[rustfmt::skip]
        let layout = Layout::fixed(&[
            "##F=#F##",
            "o + + =C",
            "c + + ==",
            "##=t####",
        ]);
        Ok(WorldPlan {
            seats: params.seats,
            actions: params.actions,
            horizon: 400,
            kinds: kinds(params.smelting),
            layout,
            rewards: vec![
                Reward::new("iron", 1.0, does(Act::Deliver, "iron", "chest")).scored(),
                Reward::new("steel", 3.0, does(Act::Deliver, "steel", "chest")).scored(),
                Reward::new("ore_added", 0.1, does(Act::Add, "ore", "furnace")).own(),
            ],
            ..WorldPlan::default()
        })
    }

    fn new(_: Params, _: &Tables) -> Result<Self, ParamError> {
        Ok(Self)
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}
}
