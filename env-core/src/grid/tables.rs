//! The tables that a step reads: a plan, compiled.

use alloc::format;
use alloc::vec::Vec;

use super::appearance::Appearance;
use super::kind::{EMPTY, Kind, KindId, KindSet, MAX_KINDS, Names, Use};
use super::layout::GridGround;
use super::motion::{MOVES, Motion, Move, describe_action, list_motions};
use super::plan::{Layout, WorldPlan, check_plan};
use super::refusal::refuse;
use super::reward::{CompiledReward, CompiledWhen};
use super::rules::RuleSet;
use super::seats::seat_bits;
use super::state::{Direction, FIXTURE_HEAD};
use crate::contract::{Action, ActionSpec, ParamError};

/// A recipe, its ingredients sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dish {
    /// The ingredients, sorted.
    pub ingredients: Vec<KindId>,
    /// The result.
    pub result: KindId,
    /// Steps until it is ready.
    pub time: u8,
}

/// A container, its names resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its kind.
    pub kind: KindId,
    /// The number of ingredients that it holds.
    pub capacity: u8,
    /// The kinds of which a hand must hold one to take the result.
    pub with: KindSet,
    /// The kinds that can go in.
    pub accepts: KindSet,
    /// The recipes.
    pub dishes: Vec<Dish>,
    /// Its timer while it is not full: the longest time of its recipes.
    pub idle: u8,
}

/// A use, its names resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hand {
    /// Nothing happens.
    Inert,
    /// Free floor.
    Floor,
    /// It can be picked up.
    Loose,
    /// A pick-up takes it away.
    Collect,
    /// It holds one of these.
    Surface(KindSet),
    /// It gives things of this kind.
    Source(KindId),
    /// The container with this index.
    Container(u8),
    /// It consumes these.
    Sink(KindSet),
    /// It lights for this many steps.
    Switch(u8),
    /// A toggle turns it into another kind.
    Becomes {
        /// The kinds of which the hand must hold one.
        with: KindSet,
        /// True if the hand keeps it.
        keeps: bool,
        /// The kind that it becomes.
        into: KindId,
    },
}

/// The tables of a world.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Which rules hold.
    pub rules: RuleSet,
    /// Number of seats.
    pub seats: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Number of cells.
    pub cells: usize,
    /// The ground of every episode; `None` if it is made for each.
    pub ground: Option<GridGround>,
    /// The kinds; the first has the number 1.
    pub kinds: Vec<Kind>,
    /// The acts that hands can do, by kind.
    pub hands: [Hand; MAX_KINDS],
    /// Kinds that agents can stand on.
    pub walkable: KindSet,
    /// Kinds that are walls.
    pub walls: KindSet,
    /// Kinds on which an agent is done.
    pub terminal: KindSet,
    /// The containers, in the order of their kinds.
    pub containers: Vec<Container>,
    /// The effect of each action.
    pub motions: Vec<Motion>,
    /// The same for the hot path.
    pub(super) moves: [Move; MOVES],
    /// The action that does nothing.
    pub noop: Action,
    /// Rows and columns that people in the fog see in each direction; `None` if they see everything.
    pub view_radius: Option<u8>,
    /// Bit `s` is set if the person of seat `s` is in the fog.
    pub fog: u16,
    /// Bit `s` of a kind is set if hands of seat `s` can use it.
    pub(super) reach: [u16; MAX_KINDS],
    /// The looks and names of its agents.
    pub appearance: Appearance,
    /// The rewards, their names resolved.
    pub rewards: Vec<CompiledReward>,
    /// True if a reward is paid for standing somewhere.
    pub(super) stands: bool,
    /// By the rules of CoGrid: the container that hands reach, [`EMPTY`] for none.
    pub(super) wired: KindId,
    /// The cell in front of each cell, by direction; at the border the cell itself.
    fronts: Vec<[u16; 4]>,
    /// Bytes of a fixture in the memory of a state.
    pub(super) stride: usize,
    /// Number of fixtures in the memory of a state.
    pub(super) fixtures: usize,
}

impl Tables {
    /// Compiles a plan.
    ///
    /// # Errors
    /// [`ParamError`] with what is wrong in it.
    pub fn new(plan: &WorldPlan) -> Result<Self, ParamError> {
        check_plan(plan)?;
        let ground = match &plan.layout {
            Layout::Fixed(rows) => Some(GridGround::read(rows, &plan.kinds)?),
            Layout::Generated { .. } => None,
        };
        let (rows, cols) = match (&plan.layout, &ground) {
            (Layout::Generated { rows, cols, .. }, _) => (*rows, *cols),
            (_, Some(ground)) => (ground.rows, ground.cols),
            (_, None) => (0, 0),
        };
        let motions = list_motions(plan.actions);
        let mut moves = [Move::STAY; MOVES];
        for (place, &motion) in moves.iter_mut().zip(&motions) {
            *place = Move::of(motion, plan.rules);
        }
        let mut tables = Self {
            rules: plan.rules,
            seats: plan.seats,
            view_radius: plan.view_radius,
            fog: match plan.view_radius {
                Some(_) => plan.fog.fogged_seats(plan.seats)?,
                None => 0,
            },
            reach: [u16::MAX; MAX_KINDS],
            rows,
            cols,
            cells: rows * cols,
            ground,
            kinds: plan.kinds.clone(),
            hands: [Hand::Inert; MAX_KINDS],
            walkable: KindSet::EMPTY_HAND,
            walls: KindSet::default(),
            terminal: KindSet::default(),
            containers: Vec::new(),
            noop: motions
                .iter()
                .position(|&motion| motion == Motion::Stay)
                .unwrap_or(0) as Action,
            motions,
            moves,
            stands: false,
            appearance: plan.appearance.clone(),
            rewards: Vec::new(),
            wired: EMPTY,
            fronts: fronts(rows, cols),
            stride: FIXTURE_HEAD,
            fixtures: 0,
        };
        tables.resolve()?;
        tables.rewards = plan
            .rewards
            .iter()
            .map(|reward| reward.resolve(&tables))
            .collect::<Result<_, _>>()?;
        tables.stands = tables
            .rewards
            .iter()
            .any(|paid| matches!(paid.due, CompiledWhen::Stands(_)));
        tables.count_fixtures(&plan.layout);
        tables.check_starts()?;
        Ok(tables)
    }

    /// The number of a kind.
    pub fn id(&self, name: &str) -> Option<KindId> {
        let index = self.kinds.iter().position(|kind| kind.name == name)?;
        Some(index as KindId + 1)
    }

    /// Returns a kind by its number; `None` for [`EMPTY`].
    pub fn kind(&self, id: KindId) -> Option<&Kind> {
        self.kinds.get(usize::from(id).checked_sub(1)?)
    }

    /// The kinds with these names.
    ///
    /// # Errors
    /// [`ParamError`] for a name that no kind has.
    pub fn set(&self, names: &Names, field: &str) -> Result<KindSet, ParamError> {
        match names {
            Names::Any => Ok(KindSet::ANY),
            Names::AnyHand => Ok(KindSet(u64::MAX)),
            Names::EmptyHand => Ok(KindSet::EMPTY_HAND),
            Names::Of(names) => names.iter().try_fold(KindSet::default(), |set, name| {
                Ok(set.with(self.find_kind(name, field)?))
            }),
        }
    }

    /// The kind with a name, for a world that declared it.
    ///
    /// # Errors
    /// [`ParamError`] if no kind has the name.
    pub fn find_kind(&self, name: &str, field: &str) -> Result<KindId, ParamError> {
        self.id(name).map_or_else(
            || {
                let known = self.kinds.iter().map(|kind| kind.name.as_str());
                refuse(field, super::refusal::tell_unknown("kind", name, known))
            },
            Ok,
        )
    }

    /// The kind with a name that comes into being during an episode: one without a record in the memory of a state.
    fn made(&self, name: &str, field: &str) -> Result<KindId, ParamError> {
        let id = self.find_kind(name, field)?;
        match self.kind(id).map(|kind| &kind.usage) {
            Some(Use::Container { .. } | Use::Switch { .. }) => refuse(
                field,
                format!(
                    "`{name}` is a container or a switch, which only the layout puts somewhere: \
                     name another kind, or give `{name}` another use"
                ),
            ),
            _ => Ok(id),
        }
    }

    /// The cell in front of a cell; at the border the cell itself.
    #[inline]
    pub fn cell_in_front(&self, cell: u16, facing: Direction) -> u16 {
        self.fronts[usize::from(cell)][facing as usize]
    }

    /// Bytes of a fixture in the memory of a state.
    pub fn fixture_len(&self) -> usize {
        self.stride
    }

    /// Row and column of a cell.
    pub fn column_and_row(&self, cell: u16) -> (usize, usize) {
        let cols = self.cols.max(1);
        (usize::from(cell) / cols, usize::from(cell) % cols)
    }

    /// Checks whether hands of every seat can use every kind.
    pub fn serves_everyone(&self) -> bool {
        self.reach.iter().all(|&seats| seats == u16::MAX)
    }

    /// Checks whether the rules of CoGrid hold.
    #[inline]
    pub fn is_cogrid(&self) -> bool {
        self.rules == RuleSet::Cogrid
    }

    /// The effect of a seat's action; one that is out of range or missing does nothing.
    #[inline]
    pub(super) fn move_of(&self, actions: &[Action], seat: usize) -> Move {
        let action = actions.get(seat).copied().unwrap_or(Action::MAX);
        self.moves[usize::from(action).min(MOVES - 1)]
    }

    /// Returns the motion of an action; an action that is out of range or missing does nothing.
    pub fn motion_of(&self, actions: &[Action], seat: usize) -> Motion {
        let motion = actions
            .get(seat)
            .and_then(|&action| self.motions.get(usize::from(action)));
        motion.copied().unwrap_or(Motion::Stay)
    }

    /// Returns the start of the fixture with a number in the memory of a state.
    #[inline]
    pub(super) fn fixture_place(&self, index: usize) -> usize {
        2 * self.cells + index * self.stride
    }

    /// Returns the least and the greatest sum that a seat gets in a step from a reward that its declaration pays;
    /// `None` if the world pays it. Each agent earns it at most once, because it acts once per step and stands in one
    /// cell.
    pub fn declared_bounds(&self, reward: usize) -> Option<[f64; 2]> {
        let paid = self.rewards.get(reward)?;
        let is_declared = paid.due != CompiledWhen::Own;
        is_declared.then(|| CompiledReward::bounds([paid.worth; 2], self.payments(paid.common)))
    }

    /// Returns how often a seat is paid a reward in a step if each agent earns it once.
    pub fn payments(&self, common: bool) -> usize {
        if common { self.seats } else { 1 }
    }

    /// The longest time of a container or a switch, steps.
    pub(super) fn longest_time(&self) -> u8 {
        let switches = self.hands.iter().map(|hand| match hand {
            Hand::Switch(time) => *time,
            _ => 0,
        });
        let containers = self.containers.iter().map(|container| container.idle);
        switches.chain(containers).max().unwrap_or(0)
    }

    fn resolve(&mut self) -> Result<(), ParamError> {
        self.hands[usize::from(EMPTY)] = Hand::Floor;
        for index in 0..self.kinds.len() {
            let (id, kind) = (index as KindId + 1, self.kinds[index].clone());
            if kind.walkable {
                self.walkable = self.walkable.with(id);
            }
            if kind.wall {
                self.walls = self.walls.with(id);
            }
            if kind.terminal {
                self.terminal = self.terminal.with(id);
            }
            self.hands[usize::from(id)] = self.hand(id, &kind)?;
            if let Some(seats) = &kind.by {
                let field = format!("kinds.{}.by", kind.name);
                self.reach[usize::from(id)] = seat_bits(seats, self.seats, &field)?;
            }
        }
        Ok(())
    }

    fn hand(&mut self, id: KindId, kind: &Kind) -> Result<Hand, ParamError> {
        let field = format!("kinds.{}", kind.name);
        Ok(match &kind.usage {
            Use::Inert => Hand::Inert,
            Use::Loose => Hand::Loose,
            Use::Collect => Hand::Collect,
            Use::Surface(names) => Hand::Surface(self.set(names, &field)?),
            Use::Source(name) => Hand::Source(self.made(name, &field)?),
            Use::Sink(names) => Hand::Sink(self.set(names, &field)?),
            Use::Switch { time } => Hand::Switch((*time).max(1)),
            Use::Becomes { with, keeps, into } => Hand::Becomes {
                with: self.set(with, &field)?,
                keeps: *keeps,
                into: if into.is_empty() {
                    EMPTY
                } else {
                    self.made(into, &field)?
                },
            },
            Use::Container { .. } => {
                let container = self.container(id, kind, &field)?;
                self.stride = self
                    .stride
                    .max(FIXTURE_HEAD + usize::from(container.capacity));
                self.containers.push(container);
                Hand::Container(self.containers.len() as u8 - 1)
            }
        })
    }

    fn container(&self, id: KindId, kind: &Kind, field: &str) -> Result<Container, ParamError> {
        let Use::Container {
            capacity,
            with,
            recipes,
        } = &kind.usage
        else {
            return refuse(field, "is no container".into());
        };
        if !(1..=8).contains(capacity) || recipes.is_empty() {
            return refuse(
                field,
                "a container holds 1 to 8 ingredients and has a recipe".into(),
            );
        }
        let mut dishes = Vec::new();
        for recipe in recipes {
            if recipe.ingredients.len() != usize::from(*capacity) {
                let (has, needs) = (recipe.ingredients.len(), capacity);
                return refuse(
                    field,
                    format!(
                        "the recipe of {} has {has} ingredients, and the container holds {needs}: give it {needs}",
                        recipe.result
                    ),
                );
            }
            let named = recipe.ingredients.iter().map(|name| self.made(name, field));
            let mut ingredients = named.collect::<Result<Vec<_>, _>>()?;
            ingredients.sort_unstable();
            dishes.push(Dish {
                ingredients,
                result: self.made(&recipe.result, field)?,
                time: recipe.time,
            });
        }
        Ok(Container {
            kind: id,
            capacity: *capacity,
            with: self.set(with, field)?,
            accepts: dishes
                .iter()
                .flat_map(|dish| &dish.ingredients)
                .fold(KindSet::default(), |set, &kind| set.with(kind)),
            idle: dishes.iter().map(|dish| dish.time).max().unwrap_or(0),
            dishes,
        })
    }

    /// Checks whether a kind has a record in the memory of a state.
    pub(super) fn is_fixture(&self, kind: KindId) -> bool {
        matches!(
            self.hands[usize::from(kind)],
            Hand::Container(_) | Hand::Switch(_)
        )
    }

    fn count_fixtures(&mut self, layout: &Layout) {
        self.fixtures = match (layout, &self.ground) {
            (Layout::Generated { fixtures, .. }, _) => *fixtures,
            (_, Some(ground)) => ground
                .kinds
                .iter()
                .filter(|&&kind| self.is_fixture(kind))
                .count(),
            (_, None) => 0,
        };
        // CoGrid: hands reach only the first kind of container of a world, and only if the layout has it.
        self.wired = match (self.containers.first(), &self.ground) {
            (Some(first), Some(ground)) if ground.kinds.contains(&first.kind) => first.kind,
            _ => EMPTY,
        };
    }

    fn check_starts(&self) -> Result<(), ParamError> {
        let Some(ground) = &self.ground else {
            return Ok(());
        };
        let free = ground.kinds.iter().filter(|&&kind| kind == EMPTY).count();
        if free < self.seats {
            return refuse(
                "layout",
                format!(
                    "has {free} free cells, and there are {} seats: make room, or take fewer seats",
                    self.seats
                ),
            );
        }
        Ok(())
    }

    /// The action space. Actions that are of no use have no keys.
    pub fn action_specs(&self, is_of_use: impl Fn(Motion) -> bool) -> Vec<ActionSpec> {
        let own = |&motion: &Motion| {
            let mut spec = describe_action(motion);
            if !is_of_use(motion) {
                spec.keys.clear();
            }
            spec
        };
        self.motions.iter().map(own).collect()
    }
}

fn fronts(rows: usize, cols: usize) -> Vec<[u16; 4]> {
    let clip = |at: usize, change: i32, count: usize| {
        (at as i32 + change).clamp(0, count as i32 - 1) as usize
    };
    (0..rows * cols)
        .map(|cell| {
            Direction::ALL.map(|direction| {
                let (down, right) = direction.vector();
                (clip(cell / cols, down, rows) * cols + clip(cell % cols, right, cols)) as u16
            })
        })
        .collect()
}
