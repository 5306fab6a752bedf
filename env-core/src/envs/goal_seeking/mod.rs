//! Goal seeking: agents look for the best of several targets, and every step costs.
//!
//! Source: Nguyen and Gonzalez, "Cognitive Machine Theory of Mind", 2020, as CoGrid 0.3.2 means to rebuild it in
//! `envs/goal_seeking/`, which cannot be constructed there.

mod map;

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::contract::{Action, ParamError};
use crate::draw::{DrawList, Shape, Sprite};
use crate::grid::{
    ActionSet, Agent, Appearance, Chart, CompiledReward, Draws, Fog, Grid, GridWorld, Kind, Motion,
    Names, OwnFeature, Pay, Reward, RuleSet, State, Tables, When, WorldPlan,
};
use crate::rng::Rng;
pub use map::MapParams;

/// The environment.
pub type GoalSeeking = Grid<World>;

/// The name of the layout that is made for each episode.
pub const GENERATED: &str = "generated";

/// The most targets.
pub const MAX_TARGETS: usize = 8;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Which rules hold; CoGrid has none that run.
    pub rules: RuleSet,
    /// `generated`, or rows: `A` to `H` targets, `#` wall, `+` start.
    pub layout: Chart,
    /// The contents of a generated layout.
    pub map: MapParams,
    /// Value of each target, from `A` on.
    pub values: Vec<f32>,
    /// Number of agents.
    pub seats: u8,
    /// How agents move.
    pub actions: ActionSet,
    /// Steps after which the episode is truncated.
    pub horizon: u32,
    /// Steps per second; 0 for turns.
    pub tick_hz: u16,
    /// Rewards beside the values.
    pub rewards: Rewards,
    /// The observation: names of features, in order.
    pub features: Vec<String>,
    /// Cells that `local_view` sees in each direction; `None` for the whole grid.
    pub view_radius: Option<u8>,
    /// Its look and its names; changes no rule, state or observation.
    pub appearance: Appearance,
}

/// Rewards beside the values, and who gets them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rewards {
    /// For each step of an agent that has not reached a target.
    pub step: f32,
    /// For a step against a wall, the edge or another agent.
    pub collision: f32,
    /// True if every agent gets the reward that one earns at a target.
    pub common: bool,
}

impl Default for Rewards {
    fn default() -> Self {
        Self {
            step: -0.01,
            collision: -0.05,
            common: false,
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            rules: RuleSet::default(),
            layout: Chart::named(GENERATED),
            map: MapParams::default(),
            values: vec![1.0, 0.75, 0.5, 0.25],
            seats: 1,
            actions: ActionSet::default(),
            horizon: 100,
            tick_hz: 10,
            rewards: Rewards::default(),
            features: ["agent_position", "can_move_direction", "targets"]
                .map(Into::into)
                .into(),
            view_radius: None,
            appearance: Appearance::default(),
        }
    }
}

/// The rules that the declarations cannot say.
#[derive(Clone, Debug)]
pub struct World {
    values: Vec<f32>,
    map: MapParams,
    seats: usize,
}

/// The event of a collision; that of a step is before it, those of the targets after it.
const COLLISION: usize = 1;

/// The symbol of a target, which is also the end of its name.
fn symbol(target: usize) -> char {
    char::from(b'A' + target as u8)
}

fn name(target: usize) -> String {
    format!("target_{}", symbol(target).to_ascii_lowercase())
}

fn check(params: &Params) -> Result<(), ParamError> {
    let refuse = |field: &str, reason: String| {
        Err(ParamError {
            field: field.into(),
            reason,
        })
    };
    if params.rules == RuleSet::Cogrid {
        let reason = "CoGrid 0.3.2 cannot build this environment: take `corrected`";
        return refuse("rules", reason.into());
    }
    if !(1..=MAX_TARGETS).contains(&params.values.len()) {
        return refuse(
            "values",
            format!("needs the values of 1 to {MAX_TARGETS} targets"),
        );
    }
    Ok(())
}

impl GridWorld for World {
    const ID: &'static str = "goal_seeking";
    const VERSION: &'static str = "2.0.0";
    const TITLE: &'static str = "Goal seeking";
    const CHANGES_GROUND: bool = false;

    type Params = Params;
    type Extra = ();

    fn params_schema() -> &'static str {
        include_str!("params.schema.json")
    }

    fn sprites() -> &'static [Sprite] {
        crate::art![
            "floor_light",
            "floor_dark",
            "shade_*",
            "wall",
            "token",
            "robot_*",
            "torso_*",
            "hat_*"
        ]
    }

    fn is_of_use(&self, motion: Motion) -> bool {
        !matches!(motion, Motion::Reach | Motion::Toggle)
    }

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        check(params)?;
        let (seats, targets) = (usize::from(params.seats), params.values.len());
        let layout = if params.layout == Chart::named(GENERATED) {
            params.map.layout(targets, seats)?
        } else {
            crate::grid::Layout::Fixed(params.layout.rows(&[(GENERATED, &[])])?)
        };
        let wall = Kind::new("wall").symbol('#').wall().sprite("wall");
        let target = |(target, value): (usize, &f32)| {
            let words = format!("target {}, worth {value}", symbol(target));
            Kind::new(&name(target))
                .symbol(symbol(target))
                .walkable()
                .terminal()
                .sprite("token")
                .words(&words)
        };
        let Rewards {
            step,
            collision,
            common,
        } = params.rewards;
        // Every agent pays for its own steps.
        let mut rewards = vec![
            Reward::new("step", step, When::Stands(Names::AnyHand)).own(),
            Reward::new("collision", collision, When::Own).own(),
        ];
        rewards.extend(params.values.iter().enumerate().map(|(target, &value)| {
            let name = name(target);
            let at = When::Stands(Names::of(&[&name]));
            Reward {
                common,
                ..Reward::new(&name, value, at).scored()
            }
        }));
        Ok(WorldPlan {
            title: None,
            rules: params.rules,
            seats,
            actions: params.actions,
            horizon: params.horizon,
            tick_hz: params.tick_hz,
            kinds: core::iter::once(wall)
                .chain(params.values.iter().enumerate().map(target))
                .collect(),
            layout,
            features: params.features.clone(),
            view_radius: params.view_radius,
            fog: Fog::default(),
            rewards,
            figures: None,
            appearance: params.appearance.clone(),
        })
    }

    fn new(params: Params, _tables: &Tables) -> Result<Self, ParamError> {
        Ok(Self {
            values: params.values,
            map: params.map,
            seats: params.seats.into(),
        })
    }

    fn start(&self, _tables: &Tables, _draws: &mut Draws) {}

    fn generate(&self, rng: &mut Rng) -> Vec<String> {
        self.map.generate(self.values.len(), self.seats, rng)
    }

    fn after(
        &self,
        tables: &Tables,
        state: &mut State<()>,
        before: &[Agent],
        actions: &[Action],
        pay: &mut Pay<'_>,
    ) {
        for (seat, from) in before.iter().enumerate() {
            let walks = matches!(
                tables.motion_of(actions, seat),
                Motion::Walk(_) | Motion::Forward
            );
            if walks && state.agents[seat].cell == from.cell && state.done >> seat & 1 == 0 {
                pay.give(
                    tables,
                    COLLISION,
                    seat as u8,
                    tables.rewards[COLLISION].worth,
                );
            }
        }
    }

    /// A collision is paid once to each agent that had one.
    fn reward_bounds(&self, tables: &Tables, reward: usize) -> Option<[f64; 2]> {
        let worth = tables.rewards.get(reward)?.worth;
        match reward {
            COLLISION => Some(CompiledReward::bounds([worth; 2], 1)),
            _ => tables.declared_bounds(reward),
        }
    }

    /// Hundredths of a point, as most targets are worth less than a point.
    fn score(&self, _tables: &Tables, state: &State<()>) -> i64 {
        let hundredths = state.score * 100.0;
        // The nearest whole number.
        let half = if hundredths < 0.0 { -0.5 } else { 0.5 };
        (hundredths + half) as i64
    }

    fn feature(&self, _tables: &Tables, name: &str) -> Option<OwnFeature> {
        (name == "targets").then(|| OwnFeature::agent(&[self.values.len() as u32, 3]))
    }

    fn features() -> &'static [&'static str] {
        &["targets"]
    }

    /// The way to a target, and its value.
    fn feature_range(&self, tables: &Tables, _name: &str) -> Option<[f32; 2]> {
        let side = (tables.rows.max(tables.cols) - 1) as f32;
        let range = self
            .values
            .iter()
            .fold([-side, side], |[least, most], &value| {
                [
                    if value < least { value } else { least },
                    if value > most { value } else { most },
                ]
            });
        Some(range)
    }

    fn observe(
        &self,
        tables: &Tables,
        state: &State<()>,
        _name: &str,
        seat: usize,
        out: &mut [f32],
    ) {
        let (row, col) = tables.column_and_row(state.agents[seat].cell);
        for (target, (out, &value)) in out.chunks_exact_mut(3).zip(&self.values).enumerate() {
            // The wall is the first kind, the targets follow.
            let kind = target as u8 + 2;
            let at = state.kinds(tables).iter().position(|&other| other == kind);
            let (to_row, to_col) = at.map_or((row, col), |cell| tables.column_and_row(cell as u16));
            out[0] = to_row as f32 - row as f32;
            out[1] = to_col as f32 - col as f32;
            out[2] = if at.is_some() { value } else { 0.0 };
        }
    }

    fn draw(&self, tables: &Tables, state: &State<()>, out: &mut DrawList) {
        for cell in 0..tables.cells as u16 {
            let Some(value) = self
                .values
                .get(usize::from(state.kind(cell)).wrapping_sub(2))
            else {
                continue;
            };
            let (row, col) = tables.column_and_row(cell);
            let (text, color) = (value.to_string(), 0x1d25_2cff);
            out.push(
                0,
                [col as f32, row as f32 + 0.33, 1.0, 0.3],
                Shape::Text { text, color },
            );
        }
    }
}
