//! Overcooked V2 of JaxMARL.

use anyhow::{Context as _, Result, ensure};
use env_core::envs::overcooked_jaxmarl_v2::{
    Cell, Cook, LAYOUTS, OvercookedJaxmarlV2, Params, STAY, State,
};
use env_core::grid::Chart;
use env_core::{Action, Environment as _};

use super::{Dialect, Fields, Header, Step, Way, check_settings, setting};
use crate::host::Frame;
use crate::translate::supported;

/// The first event that is shaped reward.
const FIRST_SHAPED: u16 = 3;

/// A kitchen.
pub(super) struct Kitchens {
    params: Params,
    env: OvercookedJaxmarlV2,
}

/// The settings of the original that ours has under the same name, as flags.
fn flag(header: &Header, name: &str) -> Result<bool> {
    Ok(setting(header, name)?.unwrap_or(false))
}

impl Kitchens {
    pub(super) fn new(header: &Header) -> Result<Self> {
        check_settings(
            header,
            &[
                "layout",
                "possible_recipes",
                "swap_agents",
                "max_steps",
                "agent_view_size",
                "start_cooking_interaction",
                "negative_rewards",
                "sample_recipe_on_delivery",
                "indicate_successful_delivery",
                "random_agent_positions",
                "random_reset",
            ],
        )?;
        let layout: String =
            setting(header, "layout")?.context("field `config.layout` is missing")?;
        let plain = Params::default();
        let params = Params {
            layout: Chart::Name(layout),
            recipes: setting(header, "possible_recipes")?,
            swap_agents: flag(header, "swap_agents")?,
            view_radius: setting(header, "agent_view_size")?,
            start_cooking_interaction: flag(header, "start_cooking_interaction")?,
            negative_rewards: flag(header, "negative_rewards")?,
            sample_recipe_on_delivery: flag(header, "sample_recipe_on_delivery")?,
            indicate_successful_delivery: flag(header, "indicate_successful_delivery")?,
            random_agent_positions: flag(header, "random_agent_positions")?,
            random_reset: flag(header, "random_reset")?,
            horizon: setting(header, "max_steps")?.unwrap_or(plain.horizon),
            ..plain
        };
        let env = supported(OvercookedJaxmarlV2::new(params.clone()))?;
        Ok(Self { params, env })
    }

    /// The parameters that name the layout instead of having its text, if it is one of ours.
    fn by_name(&self, header: &Header) -> Option<Params> {
        let name = header.env.rsplit('-').next()?;
        LAYOUTS.iter().find(|layout| layout.name == name)?;
        Some(Params {
            layout: Chart::named(name),
            recipes: None,
            swap_agents: false,
            ..self.params.clone()
        })
    }

    /// The state that a record shows; its generator is of no matter, because every draw is injected.
    fn read(&self, x: &Fields) -> Result<State> {
        let kitchen = self.env.kitchen();
        let field = |name: &str, len: usize| -> Result<&[i64]> {
            let values = x
                .get(name)
                .with_context(|| format!("field `x.{name}` is missing"))?;
            ensure!(
                values.len() == len,
                "field `x.{name}` has {} entries and needs {len}",
                values.len()
            );
            Ok(values)
        };
        let mut state = self.env.reset(0);
        let seats = state.cooks.len();
        let places = field("pos", 2 * seats)?.chunks_exact(2);
        let hands = field("dir", seats)?.iter().zip(field("inv", seats)?);
        for (cook, (place, (&facing, &held))) in state.cooks.iter_mut().zip(places.zip(hands)) {
            *cook = Cook {
                cell: u16::try_from(place[1] * kitchen.cols as i64 + place[0])?,
                facing: u8::try_from(facing)?,
                held: u32::try_from(held)?,
            };
        }
        let cells = field("items", kitchen.cells())?.iter();
        let timers = field("timer", kitchen.cells())?;
        for (cell, (&items, &timer)) in state.cells.iter_mut().zip(cells.zip(timers)) {
            *cell = Cell {
                items: u32::try_from(items)?,
                timer: u8::try_from(timer)?,
            };
        }
        state.recipe = u32::try_from(field("recipe", 1)?[0])?;
        ensure!(
            self.env.valid(&state),
            "the record is no state of this kitchen"
        );
        Ok(state)
    }
}

impl Dialect for Kitchens {
    fn id(&self) -> &'static str {
        OvercookedJaxmarlV2::ID
    }

    fn ways(&self, header: &Header, steps: &[Step]) -> Result<Vec<Way>> {
        let recipe = |step: &Step| -> Result<Vec<u32>> {
            let recipe = step.x.get("recipe").and_then(|recipe| recipe.first());
            Ok(vec![u32::try_from(
                *recipe.context("field `x.recipe` is missing")?,
            )?])
        };
        let draws: Vec<Vec<u32>> = steps.iter().map(recipe).collect::<Result<_>>()?;
        let start = self.read(&header.reset.x).context("field `reset`")?;
        let mut ways = vec![Way {
            words: "from the recorded start",
            params: serde_json::to_string(&self.params)?,
            start: Some(postcard::to_allocvec(&start)?),
            draws: draws.clone(),
            starts_alike: true,
        }];
        let is_random = self.params.random_reset || self.params.random_agent_positions;
        if !is_random && self.env.kitchen().recipes.len() == 1 {
            ways.push(Way {
                words: "from the start of the layout",
                params: serde_json::to_string(
                    &self.by_name(header).unwrap_or(self.params.clone()),
                )?,
                start: None,
                draws,
                starts_alike: true,
            });
        }
        Ok(ways)
    }

    fn show(&self, state: &[u8]) -> Result<Fields> {
        let state: State = postcard::from_bytes(state).context("the state cannot be read back")?;
        let kitchen = self.env.kitchen();
        let cooks = || state.cooks.iter();
        let place = |cook: &Cook| kitchen.column_and_row(cook.cell).map(|at| at as i64);
        let fields: [(&str, Vec<i64>); 8] = [
            ("pos", cooks().flat_map(place).collect()),
            ("dir", cooks().map(|cook| cook.facing.into()).collect()),
            ("inv", cooks().map(|cook| cook.held.into()).collect()),
            (
                "items",
                state.cells.iter().map(|cell| cell.items.into()).collect(),
            ),
            (
                "timer",
                state.cells.iter().map(|cell| cell.timer.into()).collect(),
            ),
            ("recipe", vec![state.recipe.into()]),
            ("delivered", vec![state.delivered.into()]),
            ("step", vec![i64::from(state.steps)]),
        ];
        Ok(fields
            .map(|(name, values)| (name.to_owned(), values))
            .into())
    }

    fn noop(&self) -> Action {
        STAY
    }

    fn shaped(&self, frame: &Frame) -> Option<Vec<f32>> {
        let mut sums = vec![0.0; self.env.kitchen().starts.len()];
        let events = frame.outcome.events.iter();
        for event in events.filter(|event| event.kind >= FIRST_SHAPED) {
            sums[usize::from(event.seat)] += event.value;
        }
        Some(sums)
    }

    fn observation_len(&self) -> usize {
        self.env.spec().observation_len()
    }
}
