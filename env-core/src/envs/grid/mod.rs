//! A grid world that is written as data: kinds of thing and their uses, a layout, rewards, ends and pictures.
//!
//! Every part of a plan of the toolkit is a parameter, so a world without its own rules needs no program.

mod map;
mod oddities;
mod params;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use crate::contract::ParamError;
use crate::draw::Sprite;
use crate::grid::{
    Draws, Grid, GridWorld, Kind, KindSet, Motion, Names, RuleSet, State, Tables, Use, WorldPlan,
};
use crate::rng::Rng;
use map::MapPlan;
pub use map::{MapParams, MapThing, Site};
pub use oddities::list_oddities;
pub use params::{Ends, Params};

/// The environment.
pub type GridFile = Grid<World>;

/// The part of the state beside the grid: zero bytes, as many as a kitchen has whose orders are switched off.
/// A kitchen that is written as data then has the digests of the one that is built in.
pub type Extra = [u8; 20];

/// The rules that the declarations of the toolkit do not say: how an episode ends, and how its ground is made.
#[derive(Clone, Debug)]
pub struct World {
    map: Option<MapPlan>,
    gone: KindSet,
    at_score: Option<f32>,
    reaches: bool,
    toggles: bool,
}

impl World {
    /// Checks whether nothing of the kinds is left that must be gone: in no cell, on no surface, in no hand.
    fn is_gone(&self, tables: &Tables, state: &State<Extra>) -> bool {
        let is_left = |&kind: &u8| self.gone.has(kind);
        let agents = &state.agents[..tables.seats];
        self.gone != KindSet::default()
            && !state.kinds(tables).iter().any(is_left)
            && !state.values(tables).iter().any(is_left)
            && !agents.iter().any(|agent| is_left(&agent.held))
    }
}

impl GridWorld for World {
    const ID: &'static str = "grid";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Grid world";
    const TERMINATES: bool = true;
    const CHANGES_GROUND: bool = false;

    type Params = Params;
    type Extra = Extra;

    fn params_schema() -> &'static str {
        include_str!("params.schema.json")
    }

    fn sprites() -> &'static [Sprite] {
        crate::art!["*"]
    }

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        let params = params.clone().or_room();
        params.check()?;
        Ok(WorldPlan {
            layout: params.ground()?,
            kinds: params.kinds.into_iter().map(Kind::called).collect(),
            title: Some(params.title),
            rules: RuleSet::Corrected,
            seats: params.seats.into(),
            actions: params.actions,
            horizon: params.horizon,
            tick_hz: params.tick_hz,
            features: params.features,
            view_radius: params.view_radius,
            fog: params.fog,
            rewards: params.rewards,
            figures: Some(params.figures),
            appearance: params.appearance,
        })
    }

    fn new(params: Params, tables: &Tables) -> Result<Self, ParamError> {
        let has = |of: &dyn Fn(&Use) -> bool| tables.kinds.iter().any(|kind| of(&kind.usage));
        let is_toggled = |of: &Use| matches!(of, Use::Switch { .. } | Use::Becomes { .. });
        let map = match (&tables.ground, &params.map) {
            (None, Some(map)) => Some(MapPlan::new(map, tables)?),
            _ => None,
        };
        let gone = Names::Of(params.ends.when_gone);
        Ok(Self {
            map,
            gone: tables.set(&gone, "ends.when_gone")?,
            at_score: params.ends.at_score,
            reaches: has(&|of| *of != Use::Inert && !is_toggled(of)),
            toggles: has(&is_toggled),
        })
    }

    fn start(&self, _tables: &Tables, _draws: &mut Draws) -> Extra {
        Extra::default()
    }

    fn generate(&self, rng: &mut Rng) -> Vec<String> {
        let map = self.map.as_ref();
        map.map_or_else(Vec::new, |map| map.generate(rng))
    }

    fn valid(&self, _tables: &Tables, state: &State<Extra>) -> bool {
        state.extra == Extra::default()
    }

    fn is_declared(&self) -> bool {
        self.at_score.is_none() && self.gone == KindSet::default()
    }

    fn reward_bounds(&self, tables: &Tables, reward: usize) -> Option<[f64; 2]> {
        tables.declared_bounds(reward)
    }

    fn terminated(&self, tables: &Tables, state: &State<Extra>, seat: usize) -> bool {
        tables.terminal.has(state.kind(state.agents[seat].cell))
            || self.at_score.is_some_and(|score| state.score >= score)
            || self.is_gone(tables, state)
    }

    fn describe(&self, tables: &Tables, state: &State<Extra>, _seat: usize, out: &mut String) {
        if tables.rewards.iter().any(|reward| reward.scored) {
            // Writing into a String cannot fail.
            let _ = writeln!(out, "Score: {}.", self.score(tables, state));
        }
    }

    fn is_of_use(&self, motion: Motion) -> bool {
        match motion {
            Motion::Reach => self.reaches,
            Motion::Toggle => self.toggles,
            Motion::Stay | Motion::Walk(_) | Motion::Forward | Motion::Turn(_) => true,
        }
    }
}
