//! Recordings of CoGrid's Overcooked, in the terms of ours and back.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use env_core::Environment;
use env_core::envs::overcooked::kitchen::{CELLS, COLS, Ground, Kitchen, Layout, POTS, ROWS};
use env_core::envs::overcooked::state::{COOK_STEPS, Chef, Direction, Draws, Item, Pot, State};
use env_core::envs::overcooked::{Overcooked, Params, Rewards, Rules};
use env_core::rng::{Rng, numpy};

use crate::host::Episode;
use crate::recording::{Header, Record};

const ACTIONS: [&str; 7] = [
    "move_up",
    "move_down",
    "move_left",
    "move_right",
    "pick_up_or_drop",
    "toggle",
    "no-op",
];
const FEATURES: [&str; 9] = [
    "agent_dir",
    "overcooked_inventory",
    "next_to_counter",
    "next_to_pot",
    "object_type_masks",
    "ordered_pot_features",
    "dist_to_other_players",
    "agent_position",
    "can_move_direction",
];
/// Classes of the components of the reward, by the kind of our events.
const REWARDS: [&str; 3] = ["DeliveryReward", "OnionInPotReward", "SoupInDishReward"];
const TYPES: [&str; 23] = [
    "",
    "free_space",
    "counter",
    "door",
    "floor",
    "key",
    "wall",
    "delivery_zone",
    "onion",
    "onion_soup",
    "onion_soup_stack",
    "onion_stack",
    "plate",
    "plate_stack",
    "pot",
    "tomato",
    "tomato_soup",
    "tomato_soup_stack",
    "tomato_stack",
    "agent_^",
    "agent_>",
    "agent_v",
    "agent_<",
];

/// Our parameters for a recorded kitchen; `None` if it is not one of ours.
pub(crate) fn params(header: &Header) -> Option<Params> {
    let layout = Layout::ALL
        .into_iter()
        .find(|layout| header.layout == layout.rows())?;
    let rewards = header.rewards.iter().all(|reward| reward.common_reward)
        && header
            .rewards
            .iter()
            .map(|reward| reward.class.as_str())
            .eq(REWARDS);
    let same = header.scope == "overcooked"
        && header.n_agents == 2
        && header.actions == ACTIONS
        && header.features == FEATURES
        && header.types == TYPES
        && header.config.keys().eq(["pickupable_types"]);
    (rewards && same).then(|| Params {
        layout,
        rules: Rules::Cogrid,
        horizon: header.max_steps,
        rewards: Rewards {
            delivery: header.rewards[0].coefficient,
            onion_in_pot: header.rewards[1].coefficient,
            soup_in_dish: header.rewards[2].coefficient,
        },
        ..Params::default()
    })
}

/// Episodes of uniform actions in every kitchen by both rules, the end and some steps after it included.
pub(crate) fn random_episodes() -> impl Iterator<Item = Episode> {
    let kinds = Layout::ALL
        .into_iter()
        .flat_map(|layout| [Rules::Cogrid, Rules::Corrected].map(|rules| (layout, rules)));
    kinds.zip(1..).map(|((layout, rules), seed)| {
        let params = Params {
            layout,
            rules,
            horizon: 300,
            ..Params::default()
        };
        let mut rng = Rng::new(seed);
        Episode {
            environment: Overcooked::ID.into(),
            params: serde_json::to_string(&params).expect("parameters have string keys only"),
            seats: 2,
            seed,
            actions: (0..310)
                .map(|_| vec![rng.below(7) as u16, rng.below(7) as u16])
                .collect(),
            ..Episode::default()
        }
    })
}

fn type_id(item: Item) -> i64 {
    match item {
        Item::Empty => 0,
        Item::Onion => 8,
        Item::Soup => 9,
        Item::Plate => 12,
    }
}

fn item(type_id: i64) -> Result<Item> {
    Ok(match type_id {
        -1 | 0 => Item::Empty,
        8 => Item::Onion,
        9 => Item::Soup,
        12 => Item::Plate,
        other => anyhow::bail!("type {other} is not an item of these kitchens"),
    })
}

/// The cells of a layout with their index in the recorded arrays.
fn cells(kitchen: &Kitchen) -> impl Iterator<Item = (usize, usize)> {
    let (rows, cols) = (usize::from(kitchen.rows), usize::from(kitchen.cols));
    (0..rows * cols).map(move |at| (at, at / cols * COLS + at % cols))
}

/// The state that a record shows; its generator is of no matter, because every draw is injected.
pub(crate) fn state(kitchen: &Kitchen, record: &Record) -> Result<State> {
    let mut items = [[Item::Empty; COLS]; ROWS];
    ensure!(
        record.otm.len() == record.osm.len(),
        "`otm` and `osm` differ in length"
    );
    for (at, cell) in cells(kitchen) {
        let [object, number] = [&record.otm, &record.osm].map(|map| map.get(at).copied());
        let value = match kitchen.ground[cell] {
            Ground::Pot => Some(0),
            Ground::Floor => object,
            _ => number,
        };
        items[cell / COLS][cell % COLS] = item(value.context("`otm` is too short")?)?;
    }
    let chef = |seat: usize| -> Result<Chef> {
        let [row, col] = *record.pos.get(seat).context("`pos` is too short")?;
        let cell = usize::try_from(row)? * COLS + usize::try_from(col)?;
        ensure!(cell < CELLS, "`pos` is outside of the grid");
        let facing = record
            .dir
            .get(seat)
            .and_then(|&dir| Direction::ALL.get(usize::try_from(dir).ok()?));
        let facing = *facing.context("`dir` is no direction")?;
        Ok(Chef {
            cell: cell as u8,
            facing,
            held: item(*record.inv.get(seat).context("`inv` is too short")?)?,
        })
    };
    let mut pots = [Pot::EMPTY; POTS];
    for (index, pot) in pots.iter_mut().enumerate().take(usize::from(kitchen.pots)) {
        *pot = recorded_pot(kitchen, record, index)?;
    }
    let draws = Draws::Numpy(numpy::Generator::new(0));
    Ok(State {
        steps: 0,
        soups: 0,
        chefs: [chef(0)?, chef(1)?],
        pots,
        items,
        draws,
        injected: None,
    })
}

fn recorded_pot(kitchen: &Kitchen, record: &Record, index: usize) -> Result<Pot> {
    let contents = record
        .x
        .get("pot_contents")
        .and_then(|all| all.chunks_exact(3).nth(index));
    let timer = record.x.get("pot_timer").and_then(|all| all.get(index));
    let onions = contents
        .context("`pot_contents` is too short")?
        .iter()
        .filter(|&&v| v == type_id(Item::Onion));
    let at = cells(kitchen).find(|&(_, cell)| cell == usize::from(kitchen.pot_cells[index]));
    let shown = at
        .and_then(|(at, _)| record.osm.get(at))
        .context("`osm` is too short")?;
    let timer = u8::try_from(*timer.context("`pot_timer` is too short")?)?;
    ensure!(timer <= COOK_STEPS, "`pot_timer` is over {COOK_STEPS}");
    Ok(Pot {
        onions: onions.count() as u8,
        timer,
        shown: u8::try_from(*shown)?,
    })
}

/// What a recording would show of a state: its fields but for the observations.
pub(crate) fn fields(kitchen: &Kitchen, state: &State) -> BTreeMap<String, Vec<i64>> {
    let chefs = || state.chefs.iter();
    let held = |chef: &Chef| {
        if chef.held == Item::Empty {
            -1
        } else {
            type_id(chef.held)
        }
    };
    let place = |chef: &Chef| {
        [
            i64::from(chef.cell) / COLS as i64,
            i64::from(chef.cell) % COLS as i64,
        ]
    };
    let (otm, osm) = cells(kitchen)
        .map(|(_, cell)| maps(kitchen, state, cell))
        .unzip();
    let pots = || &state.pots[..usize::from(kitchen.pots)];
    let contents = |pot: &Pot| {
        [0, 1, 2].map(|slot| {
            if slot < pot.onions {
                type_id(Item::Onion)
            } else {
                -1
            }
        })
    };
    BTreeMap::from([
        ("pos".into(), chefs().flat_map(place).collect()),
        (
            "dir".into(),
            chefs().map(|chef| chef.facing as i64).collect(),
        ),
        ("inv".into(), chefs().map(held).collect()),
        ("otm".into(), otm),
        ("osm".into(), osm),
        (
            "x.pot_contents".into(),
            pots().iter().flat_map(contents).collect(),
        ),
        (
            "x.pot_timer".into(),
            pots().iter().map(|pot| i64::from(pot.timer)).collect(),
        ),
    ])
}

/// Object type and state number of a cell.
fn maps(kitchen: &Kitchen, state: &State, cell: usize) -> (i64, i64) {
    let lying = type_id(state.item(cell as u8));
    match kitchen.ground[cell] {
        Ground::Floor | Ground::Void => (lying, 0),
        Ground::Counter => (2, lying),
        Ground::DeliveryZone => (7, lying),
        Ground::OnionStack => (11, 0),
        Ground::PlateStack => (13, 0),
        Ground::Pot => (14, i64::from(state.pot(kitchen, cell as u8).shown)),
    }
}
