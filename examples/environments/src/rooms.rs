//! Rooms behind doors, gates and blocks, and mazes: several layouts, things that only some hands can use,
//! a button that opens a gate for others, an act of the world's own, and a ground that is made anew for each episode.

use env_core::contract::ParamError;
use env_core::draw::Sprite;
use env_core::grid::*;
use env_core::rng::Rng;
use serde::{Deserialize, Serialize};

/// The environment.
pub type Rooms = Grid<World>;

/// Layouts by name; `maze` is another name, for a maze of its own in each episode.
pub const LAYOUTS: [(&str, &[&str]); 3] = [
    (
        "key",
        &[
            "#########",
            "#+  #   #",
            "#   L  g#",
            "#+ K#   #",
            "#########",
        ],
    ),
    (
        "gate",
        &[
            "#########",
            "#+  #   #",
            "# b D Gg#",
            "#+  #   #",
            "#########",
        ],
    ),
    (
        "block",
        &[
            "#########",
            "#+  #   #",
            "#   B  g#",
            "#+  #   #",
            "#########",
        ],
    ),
];

/// Rows and columns of a maze; odd, so that walls lie between rooms.
const SIDE: usize = 11;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Name of a layout, or its rows.
    pub layout: Chart,
    /// Number of agents.
    pub seats: usize,
}

impl Default for Params {
    fn default() -> Self {
        let (layout, seats) = (Chart::named("key"), 2);
        Self { layout, seats }
    }
}

/// The facts that the parameters fix.
#[derive(Debug)]
pub struct World {
    gate: KindId,
    open_gate: KindId,
    block: KindId,
}

fn kinds() -> Vec<Kind> {
    let turns = |with, keeps, into: &str| Use::Becomes {
        with,
        keeps,
        into: into.into(),
    };
    let key = || Names::of(&["key"]);
    let door = |name: &str, sprite: &str| Kind::new(name).sprite(sprite).on("wall");
    vec![
        Kind::new("goal")
            .symbol('g')
            .walkable()
            .terminal()
            .sprite("goal"),
        Kind::new("block").symbol('B').sprite("block"),
        Kind::new("wall").symbol('#').wall().on("wall"),
        Kind::new("key").symbol('K').usage(Use::Loose).sprite("key"),
        // A toggle with the key in the hand unlocks it, and the key is gone.
        door("locked_door", "door_locked")
            .symbol('L')
            .usage(turns(key(), false, "open_door")),
        // A toggle with an empty hand opens it, and closes it again.
        door("closed_door", "door_closed").symbol('D').usage(turns(
            Names::EmptyHand,
            true,
            "open_door",
        )),
        door("open_door", "door_open").walkable().usage(turns(
            Names::EmptyHand,
            true,
            "closed_door",
        )),
        Kind::new("button")
            .symbol('b')
            .usage(Use::Switch { time: 12 })
            .sprite("button")
            .lit("button_lit"),
        door("gate", "door_closed").symbol('G'),
        door("open_gate", "door_open").walkable(),
    ]
}

impl World {
    /// Where a block goes that an agent pushes: on, if there is free floor.
    fn pushed(&self, tables: &Tables, state: &State<()>, seat: usize, cell: u16) -> Option<u16> {
        let next = tables.cell_in_front(cell, state.agents[seat].facing);
        let free = state.kind(next) == EMPTY && !state.occupied(tables, next);
        (state.kind(cell) == self.block && free).then_some(next)
    }
}

impl GridWorld for World {
    const ID: &'static str = "rooms";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Rooms";
    type Params = Params;
    type Extra = ();

    fn sprites() -> &'static [Sprite] {
        env_core::art![
            "floor_*",
            "shade_*",
            "goal",
            "wall",
            "block",
            "key",
            "door_*",
            "button",
            "button_lit",
            "robot_*",
            "torso_*",
            "hat_*"
        ]
    }

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        let layout = match &params.layout {
            Chart::Name(name) if name == "maze" => Layout::Generated {
                rows: SIDE,
                cols: SIDE,
                fixtures: 0,
            },
            chart => Layout::Fixed(chart.rows(&LAYOUTS)?),
        };
        let on_goal = When::Stands(Names::of(&["goal"]));
        Ok(WorldPlan {
            seats: params.seats,
            horizon: 300,
            kinds: kinds(),
            layout,
            rewards: vec![Reward::new("goal", 1.0, on_goal).scored()],
            ..WorldPlan::default()
        })
    }

    fn new(_: Params, tables: &Tables) -> Result<Self, ParamError> {
        Ok(Self {
            gate: tables.find_kind("gate", "kinds")?,
            open_gate: tables.find_kind("open_gate", "kinds")?,
            block: tables.find_kind("block", "kinds")?,
        })
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}

    /// Gates are open while a button is lit; one in which somebody stands does not close.
    fn tick(&self, tables: &Tables, state: &mut State<()>, _: &mut StepDraws, _: &mut Pay<'_>) {
        let lit = state.fixtures(tables).any(|fixture| fixture.timer() > 0);
        let (from, to) = if lit {
            (self.gate, self.open_gate)
        } else {
            (self.open_gate, self.gate)
        };
        for cell in 0..tables.cells as u16 {
            if state.kind(cell) == from && !state.occupied(tables, cell) {
                state.set_kind(cell, to);
            }
        }
    }

    /// A pick-up pushes the block in front, whatever the hand holds.
    fn act(
        &self,
        tables: &Tables,
        state: &mut State<()>,
        seat: usize,
        cell: u16,
        motion: Motion,
    ) -> Option<Interaction> {
        let next = self
            .pushed(tables, state, seat, cell)
            .filter(|_| motion == Motion::Reach)?;
        state.set_kind(cell, EMPTY);
        state.set_kind(next, self.block);
        let (seat, act, item, at) = (seat as u8, Act::Place, self.block, EMPTY);
        Some(Interaction {
            seat,
            act,
            item,
            at,
            cell: next,
        })
    }

    fn may_act(
        &self,
        tables: &Tables,
        state: &State<()>,
        seat: usize,
        cell: u16,
        motion: Motion,
    ) -> bool {
        motion == Motion::Reach && self.pushed(tables, state, seat, cell).is_some()
    }

    /// A maze without loops: from room to room, and back where there is no new one.
    fn generate(&self, rng: &mut Rng) -> Vec<String> {
        let mut rows = vec![vec!['#'; SIDE]; SIDE];
        let mut way = vec![(1, 1)];
        rows[1][1] = '+';
        while let Some(&(row, col)) = way.last() {
            let step = |direction: Direction, far: i32| {
                let (down, right) = direction.vector();
                let at = (row as i32 + down * far, col as i32 + right * far);
                let inside = |at: i32| 0 < at && at < SIDE as i32;
                (inside(at.0) && inside(at.1)).then_some((at.0 as usize, at.1 as usize))
            };
            let is_new = |&(row, col): &(usize, usize)| rows[row][col] == '#';
            let mut next = Direction::ALL;
            rng.shuffle(&mut next);
            let chosen = next.into_iter().find_map(|direction| {
                Some((step(direction, 1)?, step(direction, 2).filter(is_new)?))
            });
            match chosen {
                Some((wall, room)) => {
                    (rows[wall.0][wall.1], rows[room.0][room.1]) = (' ', ' ');
                    way.push(room);
                }
                None => drop(way.pop()),
            }
        }
        rows[SIDE - 2][SIDE - 2] = 'g';
        rows.into_iter().map(String::from_iter).collect()
    }
}
