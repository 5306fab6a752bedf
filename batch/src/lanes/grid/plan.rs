//! Finds the grids that lanes can play, and lays their tables out as lanes read them.

use env_core::Action;
use env_core::grid::{
    Act, CompiledWhen, EMPTY, Grid, GridWorld, KindId, KindSet, Motion, RuleSet, Tables,
};
use env_core::grid::{state::Direction, tables::Hand};

use crate::lanes::MOST_SEATS;

/// A cell that holds a thing, or nothing: free floor, a surface. Its number in a block is its place in the list.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) cell: u8,
    /// The kind of the surface; [`EMPTY`] for floor.
    pub(super) kind: KindId,
}

/// Cells of a kind that give things.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) cells: Vec<u8>,
    pub(super) kind: KindId,
    pub(super) gives: KindId,
}

/// Cells of a kind that consume things.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    pub(super) cells: Vec<u8>,
    pub(super) kind: KindId,
    pub(super) accepts: Vec<KindId>,
}

/// A recipe of one ingredient, as often as the container holds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dish {
    pub(super) ingredient: KindId,
    pub(super) result: KindId,
    pub(super) time: u8,
}

/// A container.
#[derive(Clone, Debug)]
pub(super) struct Pot {
    pub(super) cell: u8,
    pub(super) kind: KindId,
    pub(super) capacity: u8,
    pub(super) idle: u8,
    pub(super) with: Vec<KindId>,
    pub(super) dishes: Vec<Dish>,
}

/// The acts that a reward is paid for: act, item and the kind that it is done to.
#[derive(Clone, Debug)]
pub(super) struct LaneReward {
    pub(super) does: Vec<(u8, KindId, KindId)>,
    pub(super) worth: f32,
    pub(super) common: bool,
    pub(super) scored: bool,
}

/// Everything that a step of a block reads.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Agents, 1 to [`MOST_SEATS`].
    pub(crate) seats: usize,
    pub(super) cols: u8,
    pub(super) cells: usize,
    pub(super) horizon: u32,
    /// Things that may lie somewhere or be held.
    pub(super) things: KindSet,
    /// The kind in each cell that is not floor; [`EMPTY`] for floor.
    pub(super) ground: Vec<KindId>,
    /// First the floor, then the surfaces, kind by kind.
    pub(super) places: Vec<Place>,
    /// How many of the places are floor.
    pub(super) floors: usize,
    pub(super) sources: Vec<Source>,
    pub(super) sinks: Vec<Sink>,
    /// In reading order, as in the memory of a state.
    pub(super) pots: Vec<Pot>,
    pub(super) rewards: Vec<LaneReward>,
}

/// Bits of an act; 0 for none.
pub(super) const fn code(act: Act) -> u8 {
    1 + act as u8
}

/// The moves of lanes: what the first actions of the cardinal set do.
pub(super) const WALKS: [Direction; 4] = [
    Direction::Up,
    Direction::Down,
    Direction::Left,
    Direction::Right,
];
/// The action that picks up and drops.
pub(super) const REACH: u8 = 4;
/// Actions of every grid that lanes play.
pub(super) const ACTIONS: usize = 7;
/// The action that does nothing in every grid that lanes play.
pub(super) const STAY: Action = 6;

impl Plan {
    /// Makes the plan of a grid; `None` if lanes cannot play it.
    ///
    /// Lanes play one to four agents by the corrected rules in a closed room of at most 255 cells whose things are declared:
    /// floor, loose things, surfaces, sources, sinks and containers with recipes of one ingredient.
    pub(crate) fn new<W: GridWorld, C>(grid: &Grid<W, C>) -> Option<Self> {
        let tables = grid.tables();
        let ground = &tables.ground.as_ref()?.kinds;
        let walks = WALKS.map(Motion::Walk);
        if tables.rules != RuleSet::Corrected
            || !(1..=MOST_SEATS).contains(&tables.seats)
            || tables.cells > 255
            || tables.rewards.len() > 32
            || !grid.world().is_declared()
            || !tables.serves_everyone()
            || tables.motions[..]
                != [
                    walks[0],
                    walks[1],
                    walks[2],
                    walks[3],
                    Motion::Reach,
                    Motion::Toggle,
                    Motion::Stay,
                ]
        {
            return None;
        }
        let mut plan = Self {
            seats: tables.seats,
            cols: tables.cols as u8,
            cells: tables.cells,
            horizon: grid.horizon(),
            things: things(tables, ground)?,
            ground: ground.clone(),
            places: Vec::new(),
            floors: 0,
            sources: Vec::new(),
            sinks: Vec::new(),
            pots: Vec::new(),
            rewards: Vec::new(),
        };
        plan.furnish(tables)?;
        plan.rewards = tables
            .rewards
            .iter()
            .map(|reward| plan.lane_reward(tables, reward))
            .collect::<Option<_>>()?;
        Some(plan)
    }

    /// Sorts the cells by what a hand can do with them.
    fn furnish(&mut self, tables: &Tables) -> Option<()> {
        let mut surfaces = Vec::new();
        for (cell, kind) in self.ground.clone().into_iter().enumerate() {
            let hand = tables.hands[usize::from(kind)];
            let (row, col) = (cell / tables.cols, cell % tables.cols);
            let border = row == 0 || col == 0 || row + 1 == tables.rows || col + 1 == tables.cols;
            let cell = cell as u8;
            let floor = matches!(hand, Hand::Floor | Hand::Loose);
            // A kind that is fixed and walkable would need another test of the way.
            if (floor && border) || (!floor && tables.walkable.has(kind)) {
                return None;
            }
            match hand {
                Hand::Floor | Hand::Loose => {
                    self.ground[usize::from(cell)] = EMPTY;
                    self.places.push(Place { cell, kind: EMPTY });
                }
                Hand::Surface(accepts) if self.things.0 & !accepts.0 == 0 => {
                    surfaces.push(Place { cell, kind })
                }
                Hand::Source(gives) => {
                    match self.sources.iter_mut().find(|source| source.kind == kind) {
                        Some(source) => source.cells.push(cell),
                        None => self.sources.push(Source {
                            cells: vec![cell],
                            kind,
                            gives,
                        }),
                    }
                }
                Hand::Sink(accepts) => match self.sinks.iter_mut().find(|sink| sink.kind == kind) {
                    Some(sink) => sink.cells.push(cell),
                    None => self.sinks.push(Sink {
                        cells: vec![cell],
                        kind,
                        accepts: kinds(accepts.0 & self.things.0),
                    }),
                },
                Hand::Container(_) => self.pots.push(self.pot(tables, cell, kind)?),
                Hand::Inert => {}
                Hand::Surface(_) | Hand::Collect | Hand::Switch(_) | Hand::Becomes { .. } => {
                    return None;
                }
            }
        }
        self.floors = self.places.len();
        surfaces.sort_by_key(|surface| surface.kind);
        self.places.append(&mut surfaces);
        Some(())
    }

    fn pot(&self, tables: &Tables, cell: u8, kind: KindId) -> Option<Pot> {
        let container = tables
            .containers
            .iter()
            .find(|container| container.kind == kind)?;
        let mut dishes: Vec<Dish> = Vec::new();
        for dish in &container.dishes {
            let ingredient = *dish.ingredients.first()?;
            if dish.ingredients.iter().any(|&other| other != ingredient) {
                return None;
            }
            // The first recipe of the same ingredients is the one that is made.
            if dishes.iter().all(|other| other.ingredient != ingredient) {
                dishes.push(Dish {
                    ingredient,
                    result: dish.result,
                    time: dish.time,
                });
            }
        }
        let with = kinds_and_nothing(container.with.0 & (self.things.0 | 1));
        Some(Pot {
            cell,
            kind,
            capacity: container.capacity,
            idle: container.idle,
            with,
            dishes,
        })
    }

    fn lane_reward(
        &self,
        tables: &Tables,
        reward: &env_core::grid::reward::CompiledReward,
    ) -> Option<LaneReward> {
        let does = match reward.due {
            CompiledWhen::Does { act, item, at } => {
                let (acts, items) = (code(act), kinds(item.0 & self.things.0));
                // An act on free floor is done to nothing, or to the thing that is lifted.
                let places = self
                    .ground
                    .iter()
                    .fold(self.things.0 | 1, |set, &kind| set | 1 << kind);
                let places = kinds_and_nothing(at.0 & places);
                let possible =
                    |&(act, item, at): &(u8, KindId, KindId)| self.happens(tables, act, item, at);
                items
                    .iter()
                    .flat_map(|&item| places.iter().map(move |&at| (acts, item, at)))
                    .filter(possible)
                    .collect()
            }
            // A world whose plan says everything never pays these.
            CompiledWhen::Own => Vec::new(),
            CompiledWhen::Stands(_) => return None,
        };
        // Lanes do not look where an agent looks.
        if reward.facing.is_some() {
            return None;
        }
        Some(LaneReward {
            does,
            worth: reward.worth,
            common: reward.common,
            scored: reward.scored,
        })
    }

    /// Checks whether an act with an item can be done to a kind at all.
    fn happens(&self, tables: &Tables, act: u8, item: KindId, at: KindId) -> bool {
        const TAKE: u8 = code(Act::Take);
        const DROP: u8 = code(Act::Drop);
        const PLACE: u8 = code(Act::Place);
        match (tables.hands[usize::from(at)], act) {
            (Hand::Floor, DROP) | (Hand::Surface(_), TAKE | PLACE) => true,
            (Hand::Loose, TAKE) => item == at,
            (Hand::Source(gives), TAKE) => gives == item,
            (Hand::Sink(accepts), act) => act == code(Act::Deliver) && accepts.has(item),
            (Hand::Container(index), act) => {
                let dishes = &tables.containers[usize::from(index)].dishes;
                (act == code(Act::Add)
                    && dishes.iter().any(|dish| dish.ingredients.contains(&item)))
                    || (act == code(Act::Serve) && dishes.iter().any(|dish| dish.result == item))
            }
            _ => false,
        }
    }
}

/// Returns the things that may ever be held; `None` if one of them is not a loose thing that is in the way.
fn things(tables: &Tables, ground: &[KindId]) -> Option<KindSet> {
    let mut set = KindSet::default();
    for &kind in ground {
        set = match tables.hands[usize::from(kind)] {
            Hand::Loose => set.with(kind),
            Hand::Source(gives) => set.with(gives),
            Hand::Container(index) => {
                let dishes = &tables.containers[usize::from(index)].dishes;
                dishes.iter().fold(set, |set, dish| set.with(dish.result))
            }
            _ => set,
        };
    }
    let movable = |&kind: &KindId| {
        tables.hands[usize::from(kind)] == Hand::Loose && !tables.walkable.has(kind)
    };
    kinds(set.0).iter().all(movable).then_some(set)
}

/// The kinds of a set, the empty hand left out.
fn kinds(set: u64) -> Vec<KindId> {
    (1..64).filter(|kind| set >> kind & 1 == 1).collect()
}

fn kinds_and_nothing(set: u64) -> Vec<KindId> {
    (0..64).filter(|kind| set >> kind & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use env_core::envs::build_environment;
    use env_core::envs::overcooked::Overcooked;

    use super::*;

    #[test]
    fn lanes_play_plain_kitchens_and_no_others() {
        let plan =
            |json: &str| Plan::new(&build_environment::<Overcooked>(json.as_bytes()).unwrap());
        for layout in ["cramped_room", "counter_circuit", "forced_coordination"] {
            assert!(
                plan(&format!(r#"{{"layout":"{layout}"}}"#)).is_some(),
                "{layout}"
            );
        }
        for seats in 1..=4 {
            let json = format!(r#"{{"layout":"counter_circuit","seats":{seats}}}"#);
            assert_eq!(plan(&json).map(|plan| plan.seats), Some(seats));
        }
        let others = [
            r#"{"rules":"cogrid-0.3.2"}"#,
            r#"{"actions":"rotation"}"#,
            r#"{"orders":{"spawn":{"onion_soup":0.1,"tomato_soup":0.1},"max_active":2,"time_limit":50}}"#,
            r#"{"layout":"banquet","seats":5}"#,
        ];
        for json in others {
            assert!(plan(json).is_none(), "{json}");
        }
    }
}
