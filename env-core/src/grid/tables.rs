//! What a plan declares, and the tables that a step reads.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::kind::{EMPTY, Kind, KindId, KindSet, MAX_KINDS, Names, Use};
use super::layout::{Ground, MAX_SIDE};
use super::reward::{Due, Reward, Wage};
use super::state::{Direction, FIXTURE_HEAD};
use crate::contract::{Action, ActionSpec, MAX_SEATS, ParamError};
use serde::{Deserialize, Serialize};

/// Which rules hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rules {
    /// CoGrid 0.3.2, field for field, seeds included.
    #[serde(rename = "cogrid-0.3.2")]
    Cogrid,
    /// The same game with the artefacts mended.
    #[default]
    #[serde(rename = "corrected")]
    Corrected,
}

/// How agents move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionSet {
    /// Up, down, left, right: turn and step at once.
    #[default]
    Cardinal,
    /// Forward, and turning in place.
    Rotation,
}

/// What an action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// Nothing.
    Stay,
    /// Turns, and steps if the way is free.
    Walk(Direction),
    /// Steps to where it looks.
    Forward,
    /// Turns clockwise by so many quarters.
    Turn(u8),
    /// Picks up or drops.
    Reach,
    /// Toggles.
    Toggle,
}

/// What an action does, in one byte and without branches: random actions would mislead every prediction.
///
/// Bits 0 and 1: quarters clockwise, added to the part of the direction that bits 2 and 3 keep (0 for none, 3 for
/// all); bit 4: the agent steps; bit 5: it uses its hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move(u8);

/// Actions of the largest action set, and one more for what is out of range.
pub(super) const MOVES: usize = 8;

impl Move {
    pub(super) const STAY: Self = Self(3 << 2);
    const STEPS: u8 = 1 << 4;
    const ACTS: u8 = 1 << 5;

    fn of(motion: Motion, rules: Rules) -> Self {
        match motion {
            Motion::Stay => Self::STAY,
            Motion::Walk(direction) => Self(direction as u8 | Self::STEPS),
            Motion::Forward => Self(Self::STAY.0 | Self::STEPS),
            // CoGrid: turning does nothing.
            Motion::Turn(_) if rules == Rules::Cogrid => Self::STAY,
            Motion::Turn(quarters) => Self(Self::STAY.0 | quarters & 3),
            Motion::Reach | Motion::Toggle => Self(Self::STAY.0 | Self::ACTS),
        }
    }

    /// The direction after it.
    #[inline]
    pub(super) fn turned(self, facing: Direction) -> Direction {
        Direction::of((facing as u8 & self.0 >> 2) + (self.0 & 3))
    }

    /// Whether the agent steps.
    #[inline]
    pub(super) fn steps(self) -> bool {
        self.0 & Self::STEPS != 0
    }

    /// Whether it uses its hands.
    #[inline]
    pub(super) fn acts(self) -> bool {
        self.0 & Self::ACTS != 0
    }
}

/// The ground of a world.
#[derive(Clone, Debug)]
pub enum Layout {
    /// The same in every episode: one string a row.
    Fixed(Vec<String>),
    /// Made anew for each episode by `GridWorld::generate`.
    Generated {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
        /// The most containers and switches that it makes.
        fixtures: usize,
    },
}

impl Layout {
    /// The same ground in every episode: one string a row.
    pub fn fixed<S: AsRef<str>>(rows: &[S]) -> Self {
        Self::Fixed(rows.iter().map(|row| row.as_ref().into()).collect())
    }
}

/// What a grid world declares.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which rules hold.
    pub rules: Rules,
    /// Number of seats, 1 to [`MAX_SEATS`].
    pub seats: usize,
    /// How agents move.
    pub actions: ActionSet,
    /// Steps after which the episode is truncated.
    pub horizon: u32,
    /// Steps per second; 0 for turns.
    pub tick_hz: u16,
    /// The kinds, in the order of their numbers.
    pub kinds: Vec<Kind>,
    /// The ground.
    pub layout: Layout,
    /// The observation: names of features, in order.
    pub features: Vec<String>,
    /// Rows and columns that `local_view` sees in each direction; none for the whole grid.
    pub view_radius: Option<u8>,
    /// The rewards, in order; each is a kind of event.
    pub rewards: Vec<Reward>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            seats: 2,
            actions: ActionSet::default(),
            horizon: 1000,
            tick_hz: 10,
            kinds: Vec::new(),
            layout: Layout::Fixed(Vec::new()),
            features: [
                "agent_dir",
                "agent_position",
                "can_move_direction",
                "inventory",
            ]
            .map(Into::into)
            .into(),
            view_radius: None,
            rewards: Vec::new(),
        }
    }
}

/// A recipe, its ingredients sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dish {
    /// The ingredients, sorted.
    pub ingredients: Vec<KindId>,
    /// What comes out.
    pub result: KindId,
    /// Steps until it is ready.
    pub time: u8,
}

/// A container, its names resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its kind.
    pub kind: KindId,
    /// How many ingredients it holds.
    pub capacity: u8,
    /// What a hand must hold to take the result.
    pub with: KindSet,
    /// What can go in.
    pub accepts: KindSet,
    /// What can be made.
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
    /// It gives these.
    Source(KindId),
    /// The container with this index.
    Container(u8),
    /// It consumes these.
    Sink(KindSet),
    /// It lights for so many steps.
    Switch(u8),
    /// A toggle turns it into another kind.
    Becomes {
        /// What the hand must hold.
        with: KindSet,
        /// Whether the hand keeps it.
        keeps: bool,
        /// What it becomes.
        into: KindId,
    },
}

/// The tables of a world.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Which rules hold.
    pub rules: Rules,
    /// Number of seats.
    pub seats: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Number of cells.
    pub cells: usize,
    /// The ground of every episode; none if it is made anew for each.
    pub ground: Option<Ground>,
    /// The kinds; the first has the number 1.
    pub kinds: Vec<Kind>,
    /// What a hand can do, by kind.
    pub hands: [Hand; MAX_KINDS],
    /// Kinds that agents can stand on.
    pub walkable: KindSet,
    /// Kinds that are walls.
    pub walls: KindSet,
    /// Kinds on which an agent is done.
    pub terminal: KindSet,
    /// The containers, in the order of their kinds.
    pub containers: Vec<Container>,
    /// What each action does.
    pub motions: Vec<Motion>,
    /// The same for the hot path.
    pub(super) moves: [Move; MOVES],
    /// The action that does nothing.
    pub noop: Action,
    /// The rewards, their names resolved.
    pub wages: Vec<Wage>,
    /// Whether a reward is paid for standing somewhere.
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

pub(super) fn refuse<T>(field: &str, reason: String) -> Result<T, ParamError> {
    Err(ParamError {
        field: field.into(),
        reason,
    })
}

impl Tables {
    /// Compiles a plan.
    ///
    /// # Errors
    /// [`ParamError`] with what is wrong in it.
    pub fn new(plan: &Plan) -> Result<Self, ParamError> {
        check(plan)?;
        let ground = match &plan.layout {
            Layout::Fixed(rows) => Some(Ground::read(rows, &plan.kinds)?),
            Layout::Generated { .. } => None,
        };
        let (rows, cols) = match (&plan.layout, &ground) {
            (Layout::Generated { rows, cols, .. }, _) => (*rows, *cols),
            (_, Some(ground)) => (ground.rows, ground.cols),
            (_, None) => (0, 0),
        };
        let motions = motions(plan.actions);
        let mut moves = [Move::STAY; MOVES];
        for (place, &motion) in moves.iter_mut().zip(&motions) {
            *place = Move::of(motion, plan.rules);
        }
        let mut tables = Self {
            rules: plan.rules,
            seats: plan.seats,
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
            wages: Vec::new(),
            wired: EMPTY,
            fronts: fronts(rows, cols),
            stride: FIXTURE_HEAD,
            fixtures: 0,
        };
        tables.resolve()?;
        tables.wages = plan
            .rewards
            .iter()
            .map(|reward| reward.resolve(&tables))
            .collect::<Result<_, _>>()?;
        tables.stands = tables
            .wages
            .iter()
            .any(|wage| matches!(wage.due, Due::Stands(_)));
        tables.count_fixtures(&plan.layout);
        tables.check_starts()?;
        Ok(tables)
    }

    /// The number of a kind.
    pub fn id(&self, name: &str) -> Option<KindId> {
        let index = self.kinds.iter().position(|kind| kind.name == name)?;
        Some(index as KindId + 1)
    }

    /// A kind by its number; none for [`EMPTY`].
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
                Ok(set.with(self.named(name, field)?))
            }),
        }
    }

    /// The kind with a name, for a world that declared it.
    ///
    /// # Errors
    /// [`ParamError`] if no kind has the name.
    pub fn named(&self, name: &str, field: &str) -> Result<KindId, ParamError> {
        self.id(name).map_or_else(
            || {
                let known = self.kinds.iter().map(|kind| kind.name.as_str());
                refuse(field, super::unknown("kind", name, known))
            },
            Ok,
        )
    }

    /// The cell in front of a cell; at the border the cell itself.
    #[inline]
    pub fn front(&self, cell: u16, facing: Direction) -> u16 {
        self.fronts[usize::from(cell)][facing as usize]
    }

    /// Row and column of a cell.
    pub fn place(&self, cell: u16) -> (usize, usize) {
        let cols = self.cols.max(1);
        (usize::from(cell) / cols, usize::from(cell) % cols)
    }

    /// Whether the rules of CoGrid hold.
    #[inline]
    pub fn is_cogrid(&self) -> bool {
        self.rules == Rules::Cogrid
    }

    /// What the action of a seat does; what is out of range or missing does nothing.
    #[inline]
    pub(super) fn move_of(&self, actions: &[Action], seat: usize) -> Move {
        let action = actions.get(seat).copied().unwrap_or(Action::MAX);
        self.moves[usize::from(action).min(MOVES - 1)]
    }

    /// The motion of an action; what is out of range or missing does nothing.
    pub fn motion_of(&self, actions: &[Action], seat: usize) -> Motion {
        let motion = actions
            .get(seat)
            .and_then(|&action| self.motions.get(usize::from(action)));
        motion.copied().unwrap_or(Motion::Stay)
    }

    /// Where the fixture with a number begins in the memory of a state.
    #[inline]
    pub(super) fn fixture_place(&self, index: usize) -> usize {
        2 * self.cells + index * self.stride
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
            Use::Source(name) => Hand::Source(self.named(name, &field)?),
            Use::Sink(names) => Hand::Sink(self.set(names, &field)?),
            Use::Switch { time } => Hand::Switch((*time).max(1)),
            Use::Becomes { with, keeps, into } => Hand::Becomes {
                with: self.set(with, &field)?,
                keeps: *keeps,
                into: if into.is_empty() {
                    EMPTY
                } else {
                    self.named(into, &field)?
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
            let named = recipe
                .ingredients
                .iter()
                .map(|name| self.named(name, field));
            let mut ingredients = named.collect::<Result<Vec<_>, _>>()?;
            ingredients.sort_unstable();
            dishes.push(Dish {
                ingredients,
                result: self.named(&recipe.result, field)?,
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

    /// Whether a kind has a record in the memory of a state.
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

    /// The action space.
    pub fn action_specs(&self) -> Vec<ActionSpec> {
        self.motions.iter().map(|&motion| action(motion)).collect()
    }
}

fn check(plan: &Plan) -> Result<(), ParamError> {
    if !(1..=MAX_SEATS).contains(&plan.seats) {
        return refuse("seats", format!("must be 1 to {MAX_SEATS}"));
    }
    if plan.horizon == 0 || plan.horizon > 1 << 24 {
        return refuse("horizon", format!("must be 1 to {} steps", 1 << 24));
    }
    if plan.tick_hz > 60 {
        return refuse(
            "tick_hz",
            "must be 1 to 60 steps per second, or 0 for turns".into(),
        );
    }
    if plan.kinds.len() >= MAX_KINDS {
        return refuse(
            "kinds",
            format!("there may be at most {} kinds", MAX_KINDS - 1),
        );
    }
    for (index, kind) in plan.kinds.iter().enumerate() {
        let taken = kind.symbol.and_then(|symbol| match symbol {
            '+' => Some("start cells"),
            ' ' | '.' => Some("free floor"),
            _ => None,
        });
        if let Some(of) = taken {
            let symbol = kind.symbol.unwrap_or_default();
            return refuse(
                &format!("kinds.{}", kind.name),
                format!("the symbol `{symbol}` is that of {of}: take another"),
            );
        }
        let twin = plan.kinds[..index].iter().find(|other| {
            other.name == kind.name || (kind.symbol.is_some() && other.symbol == kind.symbol)
        });
        if let Some(twin) = twin {
            return refuse(
                "kinds",
                format!(
                    "`{}` and `{}` have the same name or symbol: rename one",
                    twin.name, kind.name
                ),
            );
        }
    }
    if let Layout::Generated {
        rows,
        cols,
        fixtures,
    } = plan.layout
        && !((1..=MAX_SIDE).contains(&rows)
            && (1..=MAX_SIDE).contains(&cols)
            && fixtures <= rows * cols)
    {
        return refuse("layout", format!("needs 1 to {MAX_SIDE} rows and columns"));
    }
    Ok(())
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

/// Source: CoGrid 0.3.2, `core/actions.py:77-93`.
fn motions(set: ActionSet) -> Vec<Motion> {
    use Motion::{Forward, Reach, Stay, Toggle, Turn, Walk};
    match set {
        ActionSet::Cardinal => [
            Direction::Up,
            Direction::Down,
            Direction::Left,
            Direction::Right,
        ]
        .map(Walk)
        .into_iter()
        .chain([Reach, Toggle, Stay])
        .collect(),
        ActionSet::Rotation => [Forward, Reach, Toggle, Stay, Turn(3), Turn(1)].into(),
    }
}

fn action(motion: Motion) -> ActionSpec {
    let (name, momentary, keys): (_, _, &[&str]) = match motion {
        Motion::Walk(Direction::Up) => ("move_up", false, &["ArrowUp", "KeyW"]),
        Motion::Walk(Direction::Down) => ("move_down", false, &["ArrowDown", "KeyS"]),
        Motion::Walk(Direction::Left) => ("move_left", false, &["ArrowLeft", "KeyA"]),
        Motion::Walk(Direction::Right) => ("move_right", false, &["ArrowRight", "KeyD"]),
        Motion::Forward => ("move_forward", false, &["ArrowUp", "KeyW"]),
        Motion::Turn(3) => ("rotate_left", true, &["ArrowLeft", "KeyA"]),
        Motion::Turn(_) => ("rotate_right", true, &["ArrowRight", "KeyD"]),
        Motion::Reach => ("pick_up_or_drop", true, &["Space", "KeyE"]),
        Motion::Toggle => ("toggle", true, &["KeyQ", "ShiftLeft"]),
        Motion::Stay => ("noop", false, &[]),
    };
    ActionSpec {
        name: name.into(),
        momentary,
        keys: keys.iter().map(|&key| key.into()).collect(),
    }
}
