//! States of ours as records and back, for every world of which there are recordings.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use env_core::Environment;
use env_core::MAX_SEATS;
use env_core::envs::goal_finding::{self, Collected};
use env_core::envs::kitchen::params::Variant;
use env_core::envs::kitchen::{self, Cooking, KitchenOrder, MAX_ORDERS};
use env_core::envs::search_rescue::{self, Call};
use env_core::grid::{
    Agent, CogridRules, Declared, Direction, EMPTY, Grid, GridWorld, KindId, State, Tables,
};

use crate::recording::{Header, Record};

/// Fields of a record by their names, `x.` before those of the further state.
pub(crate) type Fields = BTreeMap<String, Vec<i64>>;

/// A world of which there are recordings.
pub(crate) trait Recorded: GridWorld {
    /// The rules of CoGrid that the recordings were made by.
    type Cogrid: CogridRules<Self>;

    /// Reads the world's part of the state from a record.
    fn read(
        &self,
        tables: &Tables,
        state: &State<Self::Extra>,
        record: &Record,
    ) -> Result<Self::Extra>;

    /// Writes the fields of a record that show the world's part of the state.
    fn show(
        &self,
        tables: &Tables,
        state: &State<Self::Extra>,
        header: &Header,
        fields: &mut Fields,
    );

    /// The number that CoGrid draws without a seed, as a record has it.
    fn choice(&self, _record: &Record) -> Option<u32> {
        None
    }

    /// Puts that number into the first state of a seed.
    fn choose(&self, _extra: &mut Self::Extra, _choice: u32) {}

    /// Uniform numbers that a step draws.
    fn rolls(&self) -> usize {
        0
    }
}

/// Further state of a record.
fn further<'a>(record: &'a Record, name: &str, len: usize) -> Result<&'a [i64]> {
    let values = record
        .x
        .get(name)
        .with_context(|| format!("field `x.{name}` is missing"))?;
    ensure!(
        values.len() == len,
        "field `x.{name}` has {} entries and needs {len}",
        values.len()
    );
    Ok(values)
}

fn number<T: TryFrom<i64>>(value: i64, name: &str) -> Result<T> {
    T::try_from(value).map_err(|_| anyhow::anyhow!("field `{name}`: {value} is out of range"))
}

impl Recorded for goal_finding::World {
    type Cogrid = goal_finding::CogridGoals;

    fn read(
        &self,
        tables: &Tables,
        _state: &State<Collected>,
        record: &Record,
    ) -> Result<Collected> {
        let mut collected = Collected::default();
        if record.x.contains_key("goals_collected") {
            let goals = further(record, "goals_collected", tables.seats)?;
            for (ours, &recorded) in collected.goals.iter_mut().zip(goals) {
                *ours = number(recorded, "x.goals_collected")?;
            }
        }
        Ok(collected)
    }

    fn show(
        &self,
        tables: &Tables,
        state: &State<Collected>,
        header: &Header,
        fields: &mut Fields,
    ) {
        // A goal that stays is not counted there.
        if header.reset.x.contains_key("goals_collected") {
            let goals = state.extra.goals[..tables.seats]
                .iter()
                .map(|&count| count.into());
            fields.insert("x.goals_collected".into(), goals.collect());
        }
    }
}

impl Recorded for search_rescue::World {
    type Cogrid = Declared;

    fn read(
        &self,
        _tables: &Tables,
        _state: &State<Vec<Call>>,
        _record: &Record,
    ) -> Result<Vec<Call>> {
        Ok(Vec::new())
    }

    fn show(
        &self,
        _tables: &Tables,
        _state: &State<Vec<Call>>,
        _header: &Header,
        _fields: &mut Fields,
    ) {
    }
}

/// The buttons of a kitchen: their numbers among the fixtures, and their timers.
fn buttons(tables: &Tables, state: &State<kitchen::Extra>) -> Vec<(usize, u8)> {
    let button = tables.id("button_indicator");
    let fixtures = state.fixtures(tables).enumerate();
    fixtures
        .filter(|(_, fixture)| Some(fixture.kind()) == button)
        .map(|(index, fixture)| (index, fixture.timer()))
        .collect()
}

impl<V: Variant> Recorded for Cooking<V> {
    type Cogrid = kitchen::CogridKitchen;

    fn read(
        &self,
        tables: &Tables,
        state: &State<kitchen::Extra>,
        record: &Record,
    ) -> Result<kitchen::Extra> {
        let mut extra = kitchen::Extra::default();
        if let Some(orders) = &self.params().orders {
            let places = usize::from(orders.max_active);
            let soups = further(record, "order_recipe", places)?;
            let times = further(record, "order_timer", places)?;
            for (order, (&soup, &left)) in extra.orders.iter_mut().zip(soups.iter().zip(times)) {
                *order = KitchenOrder {
                    soup: number(soup.saturating_add(1), "x.order_recipe")?,
                    left: number(left, "x.order_timer")?,
                };
            }
            extra.expired = number(
                further(record, "order_n_expired", 1)?[0],
                "x.order_n_expired",
            )?;
        }
        if !self.params().targets.is_empty() {
            extra.target = number(further(record, "target_recipe", 1)?[0], "x.target_recipe")?;
            extra.delivered = further(record, "delivery_occurred", 1)?[0] != 0;
            let lit = buttons(tables, state)
                .into_iter()
                .filter(|&(_, timer)| timer > 0);
            extra.lit = lit.fold(0, |bits, (index, _)| bits | 1 << (index & 63));
        }
        Ok(extra)
    }

    fn show(
        &self,
        tables: &Tables,
        state: &State<kitchen::Extra>,
        _header: &Header,
        fields: &mut Fields,
    ) {
        let extra = &state.extra;
        let mut add = |name: &str, values: Vec<i64>| fields.insert(format!("x.{name}"), values);
        if let Some(orders) = &self.params().orders {
            let orders = &extra.orders[..usize::from(orders.max_active).min(MAX_ORDERS)];
            add(
                "order_recipe",
                orders
                    .iter()
                    .map(|order| i64::from(order.soup) - 1)
                    .collect(),
            );
            add(
                "order_timer",
                orders.iter().map(|order| order.left.into()).collect(),
            );
            add("order_n_expired", vec![extra.expired.into()]);
        }
        if !self.params().targets.is_empty() {
            add("target_recipe", vec![extra.target.into()]);
            add("delivery_occurred", vec![extra.delivered.into()]);
            let timers = buttons(tables, state)
                .into_iter()
                .map(|(_, timer)| timer.into());
            add("button_timer", timers.collect());
        }
    }

    fn choice(&self, record: &Record) -> Option<u32> {
        let target = record.x.get("target_recipe")?.first()?;
        u32::try_from(*target)
            .ok()
            .filter(|_| !self.params().targets.is_empty())
    }

    fn choose(&self, extra: &mut kitchen::Extra, choice: u32) {
        extra.target = choice as u8;
    }

    fn rolls(&self) -> usize {
        let orders = self.params().orders.as_ref();
        orders.map_or(0, |orders| usize::from(orders.max_active))
    }
}

/// The state that a record shows; its generator is of no matter, because every draw is injected.
pub(crate) fn read<W: Recorded>(
    grid: &Grid<W, W::Cogrid>,
    record: &Record,
) -> Result<State<W::Extra>> {
    let tables = grid.tables();
    let mut state = grid.reset(0);
    for (cell, (&kind, &value)) in (0..).zip(record.otm.iter().zip(&record.osm)) {
        let before = state.kind(cell);
        let kind = known(tables, kind, "otm")?;
        ensure!(
            before == kind || state.fixture_in(tables, cell).is_none(),
            "field `otm` has something else in place of a {}",
            tables.kind(before).map_or("", |kind| kind.name.as_str())
        );
        state.set_kind(cell, kind);
        state.set_value(tables, cell, number(value, "osm")?);
    }
    for (seat, agent) in state.agents[..tables.seats].iter_mut().enumerate() {
        *agent = read_agent(tables, record, seat)?;
    }
    for container in &tables.containers {
        read_containers(
            tables,
            &mut state,
            record,
            container.kind,
            container.capacity,
        )?;
    }
    if let Some(timers) = record.x.get("button_timer") {
        let button = tables.id("button_indicator");
        let places = places(tables, &state, button);
        let timers_here = further(record, "button_timer", places.len())?;
        debug_assert_eq!(timers, timers_here);
        for (index, &timer) in places.into_iter().zip(timers_here) {
            state.set_fixture(tables, index, number(timer, "x.button_timer")?, &[]);
        }
    }
    state.extra = grid.world().read(tables, &state, record)?;
    ensure!(grid.valid(&state), "the record is no state of this world");
    Ok(state)
}

fn known(tables: &Tables, kind: i64, name: &str) -> Result<KindId> {
    let id: KindId = number(kind, name)?;
    ensure!(
        id == EMPTY || tables.kind(id).is_some(),
        "field `{name}`: {kind} is no type of thing"
    );
    Ok(id)
}

fn read_agent(tables: &Tables, record: &Record, seat: usize) -> Result<Agent> {
    let [row, col] = record.pos[seat];
    let inside = (0..tables.rows as i64).contains(&row) && (0..tables.cols as i64).contains(&col);
    ensure!(inside, "field `pos` is outside of the grid");
    let dir: usize = number(record.dir[seat], "dir")?;
    let facing = Direction::ALL.get(dir).copied();
    let held = record.inv[seat];
    Ok(Agent {
        cell: (row * tables.cols as i64 + col) as u16,
        facing: facing.with_context(|| format!("field `dir`: {dir} is no direction"))?,
        held: if held == -1 {
            EMPTY
        } else {
            known(tables, held, "inv")?
        },
    })
}

/// The numbers of the fixtures of a kind.
fn places<X>(tables: &Tables, state: &State<X>, kind: Option<KindId>) -> Vec<usize> {
    let fixtures = state.fixtures(tables).enumerate();
    fixtures
        .filter(|(_, fixture)| Some(fixture.kind()) == kind)
        .map(|(index, _)| index)
        .collect()
}

fn read_containers<X>(
    tables: &Tables,
    state: &mut State<X>,
    record: &Record,
    kind: KindId,
    capacity: u8,
) -> Result<()> {
    let name = &tables.kind(kind).context("containers have kinds")?.name;
    let (contents_name, timer_name) = (format!("{name}_contents"), format!("{name}_timer"));
    let places = places(tables, state, Some(kind));
    let capacity = usize::from(capacity);
    let contents = further(record, &contents_name, places.len() * capacity)?;
    let timers = further(record, &timer_name, places.len())?;
    for (index, (slots, &timer)) in places
        .into_iter()
        .zip(contents.chunks_exact(capacity).zip(timers))
    {
        let filled = slots.iter().take_while(|&&slot| slot != -1);
        let items = filled
            .map(|&slot| known(tables, slot, &contents_name))
            .collect::<Result<Vec<_>>>()?;
        ensure!(
            slots[items.len()..].iter().all(|&slot| slot == -1),
            "field `x.{contents_name}` has a gap"
        );
        state.set_fixture(tables, index, number(timer, &timer_name)?, &items);
    }
    Ok(())
}

/// Gives the fields of the record of a state, but for the observations.
pub(crate) fn show<W: Recorded>(
    grid: &Grid<W, W::Cogrid>,
    state: &State<W::Extra>,
    header: &Header,
) -> Fields {
    let tables = grid.tables();
    let agents = || state.agents[..tables.seats.min(MAX_SEATS)].iter();
    let held = |agent: &Agent| {
        if agent.held == EMPTY {
            -1
        } else {
            i64::from(agent.held)
        }
    };
    let place = |agent: &Agent| {
        let (row, col) = tables.column_and_row(agent.cell);
        [row as i64, col as i64]
    };
    let wide = |bytes: &[u8]| bytes.iter().map(|&byte| i64::from(byte)).collect();
    let mut fields = Fields::from([
        ("pos".into(), agents().flat_map(place).collect()),
        (
            "dir".into(),
            agents().map(|agent| agent.facing as i64).collect(),
        ),
        ("inv".into(), agents().map(held).collect()),
        ("otm".into(), wide(state.kinds(tables))),
        ("osm".into(), wide(state.values(tables))),
    ]);
    for container in &tables.containers {
        let name = tables
            .kind(container.kind)
            .map_or("", |kind| kind.name.as_str());
        let (mut contents, mut timers) = (Vec::new(), Vec::new());
        for index in places(tables, state, Some(container.kind)) {
            let fixture = state.fixture(tables, index);
            let items = fixture.contents().iter().map(|&kind| i64::from(kind));
            let slots = items.chain(std::iter::repeat(-1));
            contents.extend(slots.take(container.capacity.into()));
            timers.push(fixture.timer().into());
        }
        fields.insert(format!("x.{name}_contents"), contents);
        fields.insert(format!("x.{name}_timer"), timers);
    }
    // CoGrid: if the first kind of container is not in the layout, the first step puts one that is nowhere there.
    let first = tables.containers.first().map(|container| container.kind);
    if first.is_some() && state.steps > 0 && places(tables, state, first).is_empty() {
        fields.insert("x.pot_contents".into(), vec![-1]);
        fields.insert("x.pot_timer".into(), vec![0]);
    }
    grid.world().show(tables, state, header, &mut fields);
    fields
}

/// The same fields as they are recorded.
pub(crate) fn recorded(record: &Record) -> Fields {
    let further = record.x.iter();
    let mut fields: Fields = further
        .map(|(name, values)| (format!("x.{name}"), values.clone()))
        .collect();
    fields.extend([
        ("pos".into(), record.pos.as_flattened().to_vec()),
        ("dir".into(), record.dir.clone()),
        ("inv".into(), record.inv.clone()),
        ("otm".into(), record.otm.clone()),
        ("osm".into(), record.osm.clone()),
    ]);
    fields
}
