//! A kitchen as its parameters fix it: the ground, the recipes, the shaped reward and the first state.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::ground::{KitchenGround, Tile, read_jaxmarl_letters, read_letters};
use super::layouts::named_kitchens;
use super::literal::read_literal;
use super::params::{Dialect, Params, Shaped};
use super::recipes::{Fault, Recipes, count, read_number};
use super::state::{Cook, Item, Lying, Pot, Recipe, State};
use crate::contract::ParamError;
use crate::grid::tell_unknown;

/// The name of the kitchens that CEC makes for each episode.
pub const GENERATED: &str = "generated";
/// The sides of CEC's kitchens, cells.
pub const CEC_SIDE: usize = 9;

/// A kitchen.
#[derive(Clone, Debug)]
pub struct Kitchen {
    /// The ground.
    pub ground: KitchenGround,
    /// Cells of a ring that stands around the ground of the original: 1 where its border has floor.
    pub margin: usize,
    /// The recipes.
    pub recipes: Recipes,
    /// The shaped reward.
    pub shaped: Shaped,
    /// The first state.
    pub start: State,
    /// True if every episode has its own ground.
    pub generated: bool,
}

fn refuse<T>(field: &str, reason: impl Into<String>) -> Result<T, ParamError> {
    Err(ParamError {
        field: field.into(),
        reason: reason.into(),
    })
}

impl Kitchen {
    /// Reads the kitchen that the parameters name or write out.
    ///
    /// # Errors
    /// [`ParamError`] for the layout.
    pub fn new(params: &Params) -> Result<Self, ParamError> {
        let rules = params.rules;
        let mut text: Cow<'_, str> = Cow::Borrowed(params.layout.as_str());
        let (mut swapped, mut generated) = (false, false);
        if !text.trim_start().starts_with('{') && !text.contains('\n') {
            let name = text.as_ref();
            generated = name == GENERATED && rules == Dialect::Cec;
            let wanted = if generated { "coord_ring_9" } else { name };
            let Some(named) = named_kitchens(rules).find(|named| named.name == wanted) else {
                let names = named_kitchens(rules).map(|named| named.name);
                return refuse("layout", tell_unknown("layout", name, names));
            };
            swapped = named.swapped;
            text = Cow::Owned(named.text(rules));
        }
        let layout = read_layout(&text, params)?;
        let located = |(key, what): Fault| ParamError {
            field: "layout".into(),
            reason: format!("{key}: {what}"),
        };
        let mut kitchen = build(rules, &layout).map_err(located)?;
        if swapped {
            kitchen.start.cooks.swap(0, 1);
        }
        if generated {
            // Every ground of it has these sides.
            (kitchen.generated, kitchen.margin) = (true, 1);
            kitchen.ground = with_ring(&pad_ground(&kitchen.ground));
        }
        kitchen.shaped = match params.shaped {
            Some(shaped) => shaped,
            None => shaped(rules, &layout).map_err(located)?,
        };
        kitchen.direct(params)?;
        Ok(kitchen)
    }

    /// Turns the cooks as the parameters say.
    fn direct(&mut self, params: &Params) -> Result<(), ParamError> {
        let Some(directions) = &params.directions else {
            return Ok(());
        };
        if directions.len() != self.start.cooks.len() || directions.iter().any(|&way| way > 3) {
            let reason = format!(
                "must have {} numbers, one a cook: 0 north, 1 south, 2 east, 3 west",
                self.start.cooks.len()
            );
            return refuse("directions", reason);
        }
        for (cook, &way) in self.start.cooks.iter_mut().zip(directions) {
            cook.facing = way;
        }
        Ok(())
    }

    /// The ground of an episode.
    pub fn ground<'a>(&'a self, state: &State) -> Cow<'a, KitchenGround> {
        match self.generated {
            true => Cow::Owned(super::generate::ground_of(state)),
            false => Cow::Borrowed(&self.ground),
        }
    }
}

/// Reads a layout file into its keys; rows in JaxMARL's letters are a grid alone.
fn read_layout(text: &str, params: &Params) -> Result<Map<String, Value>, ParamError> {
    let mut layout = Map::new();
    if text.trim_start().starts_with('{') {
        if params.rules.is_onions_only() {
            return refuse(
                "layout",
                "these rules have layouts in rows of letters, such as \"WWPWW\\nOA AO\\nW   W\\nWBWXW\"",
            );
        }
        match read_literal(text) {
            Ok(Value::Object(map)) => layout = map,
            Ok(_) => return refuse("layout", "a layout file is a dict with `grid`"),
            Err(what) => return refuse("layout", what),
        }
    } else {
        layout.insert("letters".into(), text.into());
        if !matches!(params.rules, Dialect::Neurips2019) {
            let soup = serde_json::json!([{"ingredients": ["onion", "onion", "onion"]}]);
            layout.insert("start_all_orders".into(), soup);
        }
    }
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            layout.insert(key.into(), value);
        }
    };
    if params.rules.is_onions_only() {
        for (field, is_set) in [
            ("delivery_reward", params.delivery_reward.is_some()),
            ("cook_time", params.cook_time.is_some()),
        ] {
            if is_set {
                return refuse(field, "these rules have 20 points and 20 steps, fixed");
            }
        }
    }
    set("delivery_reward", params.delivery_reward.map(Value::from));
    set("cook_time", params.cook_time.map(Value::from));
    Ok(layout)
}

fn build(rules: Dialect, layout: &Map<String, Value>) -> Result<Kitchen, Fault> {
    let fault = |what: String| (String::from("grid"), what);
    let (mut ground, mut starts) = match (layout.get("letters"), layout.get("grid")) {
        (Some(Value::String(text)), _) => {
            let rows: Vec<&str> = text.trim_matches('\n').split('\n').collect();
            read_jaxmarl_letters(&rows).map_err(fault)?
        }
        (_, Some(Value::String(grid))) => {
            let rows: Vec<&str> = grid.split('\n').map(str::trim).collect();
            read_letters(&rows).map_err(fault)?
        }
        _ => return Err((String::from("grid"), "is missing".into())),
    };
    if rules.is_onions_only() && starts.len() != 2 {
        return Err(fault("these rules have two cooks".into()));
    }
    if rules == Dialect::Cec && (ground.cols > CEC_SIDE || ground.rows > CEC_SIDE) {
        return Err(fault(format!(
            "is larger than {CEC_SIDE} by {CEC_SIDE} cells"
        )));
    }
    let mut margin = 0;
    if let Some(cell) = ground.open_border() {
        if rules != Dialect::Cec {
            let [x, y] = ground.column_and_row(cell);
            return Err(fault(format!(
                "row {}, column {}: the border must not be floor",
                y + 1,
                x + 1
            )));
        }
        let whole = pad_ground(&ground);
        let moved = starts.iter();
        let moved = moved.map(|&cell| ringed_cell(&whole, padded_cell(&ground, cell)));
        (margin, starts) = (1, moved.collect());
        ground = with_ring(&whole);
    }
    let begun = layout
        .get("start_state")
        .filter(|start| !start.is_null() && rules != Dialect::Zsc && rules != Dialect::Neurips2019);
    let recipes = match rules {
        Dialect::Jaxmarl | Dialect::Cec => Recipes::onions_only(),
        Dialect::Neurips2019 => Recipes::of_2019(layout)?,
        _ => Recipes::of_orders(rules, layout, begun)?,
    };
    let cook = |&cell: &u16| Cook {
        cell,
        ..Cook::default()
    };
    let mut start = State {
        cooks: starts.iter().map(cook).collect(),
        pots: vec![Pot::default(); ground.pots.len()],
        ..State::default()
    };
    if let Some(begun) = begun {
        begin(&mut start, &ground, &recipes, begun)
            .map_err(|what| (String::from("start_state"), what))?;
    }
    Ok(Kitchen {
        ground,
        margin,
        recipes,
        shaped: Shaped {
            placement: 0.0,
            dish: 0.0,
            soup: 0.0,
        },
        start,
        generated: false,
    })
}

/// A cell of a ground, in the ground with a ring around it.
pub(super) fn ringed_cell(ground: &KitchenGround, cell: u16) -> u16 {
    let [x, y] = ground.column_and_row(cell);
    ((y + 1) * (ground.cols + 2) + x + 1) as u16
}

/// The ground in the upper left corner of nine by nine counters.
pub(super) fn pad_ground(ground: &KitchenGround) -> KitchenGround {
    let mut tiles = vec![Tile::Counter; CEC_SIDE * CEC_SIDE];
    for cell in 0..ground.cells() as u16 {
        tiles[usize::from(padded_cell(ground, cell))] = ground.tile(cell);
    }
    KitchenGround::new(CEC_SIDE, tiles)
}

/// A cell of a ground, in the padded ground.
fn padded_cell(ground: &KitchenGround, cell: u16) -> u16 {
    let [x, y] = ground.column_and_row(cell);
    (y * CEC_SIDE + x) as u16
}

/// The padded ground with a ring around it. Beyond an open border of CEC, things can be put down and taken as on a
/// counter in the north and in the west, unless the opposite end of the row or column is floor; indexes wrap there.
///
/// Source: crossEnvCooperation 71ed348, `process_interact`, `wall_map.at[...]`.
pub(super) fn with_ring(ground: &KitchenGround) -> KitchenGround {
    let (cols, last) = (ground.cols + 2, CEC_SIDE - 1);
    let mut tiles = vec![Tile::Wall; cols * (ground.rows + 2)];
    let wrapped = |x: usize, y: usize| match ground.tile((y * ground.cols + x) as u16) {
        Tile::Floor => Tile::Wall,
        _ => Tile::Counter,
    };
    for at in 0..=last {
        tiles[at + 1] = wrapped(at, last);
        tiles[(at + 1) * cols] = wrapped(last, at);
    }
    for cell in 0..ground.cells() as u16 {
        tiles[usize::from(ringed_cell(ground, cell))] = ground.tile(cell);
    }
    KitchenGround::new(cols, tiles)
}

/// The shaped reward of the rules, or of the layout.
fn shaped(rules: Dialect, layout: &Map<String, Value>) -> Result<Shaped, Fault> {
    let [placement, dish, soup] = match rules {
        Dialect::Cec => [10.0, 3.0, 15.0],
        Dialect::Neurips2019 => [0.0; 3],
        _ => [3.0, 3.0, 5.0],
    };
    let Some(Value::Object(said)) = layout.get("rew_shaping_params") else {
        return Ok(Shaped {
            placement,
            dish,
            soup,
        });
    };
    let read = |key: &str| match read_number(said, key)? {
        Some(value) => Ok(value as f32),
        None => Err((
            String::from("rew_shaping_params"),
            format!("{key} is missing"),
        )),
    };
    Ok(Shaped {
        placement: read("PLACEMENT_IN_POT_REW")?,
        dish: read("DISH_PICKUP_REWARD")?,
        soup: read("SOUP_PICKUP_REWARD")?,
    })
}

/// Puts everything at the place that a `start_state` says.
fn begin(
    state: &mut State,
    ground: &KitchenGround,
    recipes: &Recipes,
    begun: &Value,
) -> Result<(), String> {
    let list = |key: &str| begun.get(key).and_then(Value::as_array);
    let players = list("players").ok_or("`players` is missing")?;
    if players.len() != state.cooks.len() {
        return Err(format!(
            "has {} players, and the grid {} starts",
            players.len(),
            state.cooks.len()
        ));
    }
    for (cook, player) in state.cooks.iter_mut().zip(players) {
        cook.cell = cell(ground, player)?;
        let way = pair(player.get("orientation")).ok_or("an orientation is missing")?;
        let ways = [[0, -1], [0, 1], [1, 0], [-1, 0]];
        let facing = ways.iter().position(|&known| known == way);
        cook.facing = facing.ok_or("an orientation is no direction")? as u8;
        if ground.tile(cook.cell) != Tile::Floor {
            return Err("a player does not stand on floor".into());
        }
        if let Some(held) = player.get("held_object").filter(|held| !held.is_null()) {
            cook.held = item(recipes, held)?;
        }
    }
    for object in list("objects").map_or(&[][..], Vec::as_slice) {
        let cell = cell(ground, object)?;
        match (ground.tile(cell), ground.pot_at(cell)) {
            (Tile::Pot, Some(pot)) => state.pots[pot] = in_pot(recipes, object)?,
            (Tile::Counter, _) if state.item_on(cell) == Item::Nothing => {
                let item = item(recipes, object)?;
                state.lying.push(Lying { cell, item });
            }
            _ => return Err("an object is not in a pot or on a free counter".into()),
        }
    }
    let steps = begun.get("timestep").map_or(Some(0), Value::as_u64);
    state.steps = steps
        .and_then(|steps| u32::try_from(steps).ok())
        .ok_or("`timestep` is no number of steps")?;
    let cells = state.cooks.iter().map(|cook| cook.cell).enumerate();
    for (at, cell) in cells {
        if state.cooks[..at].iter().any(|other| other.cell == cell) {
            return Err("two players stand in one cell".into());
        }
    }
    Ok(())
}

fn pair(value: Option<&Value>) -> Option<[i64; 2]> {
    let list = value?.as_array()?;
    let [one, other] = list.as_slice() else {
        return None;
    };
    Some([one.as_i64()?, other.as_i64()?])
}

fn cell(ground: &KitchenGround, thing: &Value) -> Result<u16, String> {
    let [x, y] = pair(thing.get("position")).ok_or("a position is missing")?;
    let inside = |at: i64, side: usize| usize::try_from(at).ok().filter(|&at| at < side);
    let (x, y) = inside(x, ground.cols)
        .zip(inside(y, ground.rows))
        .ok_or_else(|| format!("({x}, {y}) is outside of the grid"))?;
    Ok((y * ground.cols + x) as u16)
}

/// A soup as a layout file has it: its contents, and the steps that it has cooked.
///
/// Source: `overcooked-ai` 1.1.0, `SoupState.from_dict`; files of 2019 have `state`, which is ready after 20 steps.
fn soup(recipes: &Recipes, object: &Value) -> Result<(Recipe, Option<u16>), String> {
    let no_soup = "a soup has 1 to 3 ingredients";
    if let Some(state) = object.get("state").and_then(Value::as_array) {
        let [Value::String(kind), count, steps] = state.as_slice() else {
            return Err("the `state` of a soup has a kind, a number of items and steps".into());
        };
        let (count, steps) = count.as_u64().zip(steps.as_u64()).ok_or(no_soup)?;
        let count = u8::try_from(count).map_err(|_| no_soup)?;
        let contents = match kind.as_str() {
            "tomato" => Recipe {
                onions: 0,
                tomatoes: count,
            },
            _ => Recipe {
                onions: count,
                tomatoes: 0,
            },
        };
        if !(1..=recipes.full).contains(&contents.count()) {
            return Err(no_soup.into());
        }
        let tick = match steps {
            0 => None,
            1..20 => Some(steps as u16),
            _ => Some(recipes.time(contents)),
        };
        return Ok((contents, tick));
    }
    let ingredients = object.get("_ingredients").and_then(Value::as_array);
    let ingredients = ingredients.ok_or("a soup has no `_ingredients`")?;
    let names = ingredients.iter();
    let names = names.map(|thing| {
        thing
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
    });
    let contents = count(names).filter(|recipe| (1..=recipes.full).contains(&recipe.count()));
    let tick = object.get("cooking_tick").map_or(Some(-1), Value::as_i64);
    Ok((
        contents.ok_or(no_soup)?,
        u16::try_from(tick.ok_or("`cooking_tick` is no number")?).ok(),
    ))
}

fn in_pot(recipes: &Recipes, object: &Value) -> Result<Pot, String> {
    let (contents, tick) = soup(recipes, object)?;
    let time = recipes.time(contents);
    let said = object.get("cook_time").and_then(Value::as_i64);
    if tick.is_some() && said.is_some_and(|said| said != i64::from(time)) {
        return Err(format!(
            "a cooking soup has another `cook_time` than its recipe, which takes {time}"
        ));
    }
    if tick.is_some_and(|tick| tick > time) {
        return Err(format!(
            "a soup has cooked longer than the {time} steps that it takes"
        ));
    }
    Ok(Pot {
        contents,
        clock: tick.map_or(0, |tick| tick + 1),
    })
}

fn item(recipes: &Recipes, object: &Value) -> Result<Item, String> {
    match object.get("name").and_then(Value::as_str) {
        Some("onion") => Ok(Item::Onion),
        Some("tomato") => Ok(Item::Tomato),
        Some("dish") => Ok(Item::Dish),
        Some("soup") => match soup(recipes, object)? {
            (contents, Some(tick)) if tick >= recipes.time(contents) => Ok(Item::Soup(contents)),
            _ => Err("a soup outside of a pot must be ready".into()),
        },
        _ => Err("an object is no onion, tomato, dish or soup".into()),
    }
}
