//! Search and rescue: agents with tools clear the way to victims and rescue them.
//!
//! Source: CoGrid 0.3.2, `envs/search_rescue/`. There, the rescue itself is described and not written: by its rules,
//! victims, rubble and doors are obstacles. The corrected rules do what is described.

mod map;
mod params;

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::contract::ParamError;
use crate::draw::{DrawList, Shape, Sprite};
use crate::grid::{
    Act, Chart, CompiledReward, Draws, EMPTY, Fog, Grid, GridWorld, Interaction, Kind, KindId,
    KindSet, Layout, Motion, Names, Pay, Reward, RuleSet, State, StepDraws, Tables, Use, When,
    WorldPlan,
};
use crate::rng::Rng;
pub use map::MapParams;
pub use params::{Params, Rewards, Role};

/// The environment.
pub type SearchRescue = Grid<World>;

/// The layouts that have a name.
pub const LAYOUTS: [(&str, &[&str]); 2] = [
    (
        "test",
        &[
            "##########",
            "#++      #",
            "#        #",
            "#        #",
            "#       G#",
            "#        #",
            "#T     K #",
            "#XX M ##D#",
            "#GX Y #GG#",
            "##########",
        ],
    ),
    (
        "two_rooms",
        &[
            "###########",
            "#+ G # P X#",
            "#    d   Y#",
            "#T M #XXXX#",
            "######X  R#",
            "#  K #  XX#",
            "#    D   G#",
            "#+  P#XR X#",
            "###########",
        ],
    ),
];

/// The name of the layout that is made for each episode.
pub const GENERATED: &str = "generated";

/// An agent that began to rescue a red victim and waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The cell of the victim.
    pub cell: u16,
    /// The seat that waits.
    pub seat: u8,
    /// Steps that are left.
    pub left: u8,
}

/// The rules that the declarations cannot say.
#[derive(Clone, Debug)]
pub struct World {
    roles: Vec<Role>,
    help_time: u8,
    common: bool,
    map: MapParams,
    seats: usize,
    red: Option<KindId>,
    yellow: Option<KindId>,
    rubble: Option<KindId>,
    victims: KindSet,
}

/// Victims with their rewards, in the order of the events.
const VICTIMS: [&str; 4] = [
    "green_victim",
    "purple_victim",
    "yellow_victim",
    "red_victim",
];
const RED: usize = 3;

fn kind(name: &str, symbol: char) -> Kind {
    Kind::new(name).symbol(symbol).sprite(name)
}

fn picture(name: &str, symbol: char, sprite: &str) -> Kind {
    Kind::new(name).symbol(symbol).sprite(sprite)
}

/// The kinds by the rules of CoGrid, with the numbers that they have there.
fn kinds_cogrid() -> Vec<Kind> {
    vec![
        Kind::new("free_space").walkable(),
        kind("counter", 'C').usage(Use::Surface(Names::Any)),
        picture("door", 'D', "door_locked"),
        Kind::new("floor").walkable(),
        kind("key", 'K').usage(Use::Loose),
        kind("wall", '#').wall(),
        picture("green_victim", 'G', "victim_green"),
        kind("medkit", 'M').usage(Use::Loose),
        kind("pickaxe", 'T').usage(Use::Loose),
        picture("purple_victim", 'P', "victim_purple"),
        picture("red_victim", 'R', "victim_red"),
        kind("rubble", 'X'),
        picture("yellow_victim", 'Y', "victim_yellow"),
    ]
}

fn kinds() -> Vec<Kind> {
    let becomes = |with: Names, into: &str| Use::Becomes {
        with,
        keeps: true,
        into: into.into(),
    };
    let with = |tool: &str| Names::of(&[tool]);
    let door = |name: &str, symbol, sprite| picture(name, symbol, sprite);
    vec![
        kind("wall", '#').wall(),
        kind("counter", 'C').usage(Use::Surface(Names::Any)),
        kind("rubble", 'X')
            .usage(becomes(with("pickaxe"), ""))
            .words("rubble"),
        door("locked_door", 'D', "door_locked").usage(becomes(with("key"), "open_door")),
        door("closed_door", 'd', "door_closed").usage(becomes(Names::AnyHand, "open_door")),
        door("open_door", '/', "door_open")
            .walkable()
            .usage(becomes(Names::AnyHand, "closed_door")),
        kind("key", 'K').usage(Use::Loose),
        kind("medkit", 'M').usage(Use::Loose),
        kind("pickaxe", 'T').usage(Use::Loose),
        picture("green_victim", 'G', "victim_green").usage(becomes(Names::AnyHand, "")),
        picture("purple_victim", 'P', "victim_purple").usage(becomes(Names::AnyHand, "")),
        picture("yellow_victim", 'Y', "victim_yellow").usage(becomes(with("medkit"), "")),
        picture("red_victim", 'R', "victim_red"),
    ]
}

fn rewards(params: &Params) -> Vec<Reward> {
    if params.rules == RuleSet::Cogrid {
        return Vec::new();
    }
    let Rewards {
        green,
        purple,
        yellow,
        red,
        common,
    } = params.rewards;
    let rescued = |victim: &str| match victim {
        "red_victim" => When::Own,
        _ => When::Does {
            act: Act::Toggle,
            item: Names::AnyHand,
            at: Names::of(&[victim]),
        },
    };
    let paid = VICTIMS.iter().zip([green, purple, yellow, red]);
    paid.map(|(&victim, worth)| Reward {
        common,
        ..Reward::new(victim, worth, rescued(victim)).scored()
    })
    .collect()
}

fn refuse<T>(field: &str, reason: String) -> Result<T, ParamError> {
    Err(ParamError {
        field: field.into(),
        reason,
    })
}

impl World {
    /// Checks whether the role of a seat replaces a tool.
    fn is_skilled(&self, seat: usize, kind: KindId) -> bool {
        match self.roles.get(seat) {
            Some(Role::Medic) => Some(kind) == self.yellow,
            Some(Role::Engineer) => Some(kind) == self.rubble,
            Some(Role::None) | None => false,
        }
    }

    /// Begins to rescue a red victim, or completes it if another agent has begun. Says whether it is rescued.
    fn help(&self, calls: &mut Vec<Call>, seat: u8, cell: u16) -> bool {
        if calls
            .iter()
            .any(|call| call.cell == cell && call.seat != seat)
        {
            return true;
        }
        calls.retain(|call| call.seat != seat || call.cell != cell);
        calls.push(Call {
            cell,
            seat,
            left: self.help_time,
        });
        false
    }
}

impl GridWorld for World {
    const ID: &'static str = "search_rescue";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Search and rescue";
    const TERMINATES: bool = true;

    type Params = Params;
    /// The calls for help, oldest first.
    type Extra = Vec<Call>;

    fn params_schema() -> &'static str {
        include_str!("params.schema.json")
    }

    fn sprites() -> &'static [Sprite] {
        crate::art![
            "floor_light",
            "floor_dark",
            "shade_*",
            "wall",
            "counter",
            "rubble",
            "door_*",
            "key",
            "medkit",
            "pickaxe",
            "victim_*",
            "robot_*",
            "torso_*",
            "hat_*"
        ]
    }

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        let cogrid = params.rules == RuleSet::Cogrid;
        if params.roles.len() > usize::from(params.seats) {
            let (roles, seats) = (params.roles.len(), params.seats);
            return refuse(
                "roles",
                format!("{roles} roles for {seats} seats: leave some out"),
            );
        }
        let layout = if params.layout == Chart::named(GENERATED) {
            if cogrid {
                return refuse(
                    "layout",
                    "CoGrid 0.3.2 generates none: take `corrected` rules".into(),
                );
            }
            params.map.layout(usize::from(params.seats))?
        } else {
            Layout::Fixed(params.layout.rows(&LAYOUTS)?)
        };
        Ok(WorldPlan {
            title: None,
            rules: params.rules,
            seats: params.seats.into(),
            actions: params.actions,
            horizon: params.horizon,
            tick_hz: params.tick_hz,
            kinds: if cogrid { kinds_cogrid() } else { kinds() },
            layout,
            features: params.features.clone(),
            view_radius: params.view_radius,
            fog: Fog::default(),
            rewards: rewards(params),
            figures: None,
            appearance: params.appearance.clone(),
        })
    }

    fn new(params: Params, tables: &Tables) -> Result<Self, ParamError> {
        Ok(Self {
            roles: params.roles,
            help_time: params.help_time.max(1),
            common: params.rewards.common,
            map: params.map,
            seats: params.seats.into(),
            red: tables.id("red_victim"),
            yellow: tables.id("yellow_victim"),
            rubble: tables.id("rubble"),
            victims: tables.set(&Names::of(&VICTIMS), "kinds")?,
        })
    }

    fn start(&self, _tables: &Tables, _draws: &mut Draws) -> Vec<Call> {
        Vec::new()
    }

    fn generate(&self, rng: &mut Rng) -> Vec<String> {
        self.map.generate(self.seats, rng)
    }

    fn valid(&self, tables: &Tables, state: &State<Vec<Call>>) -> bool {
        let fits = |call: &Call| {
            usize::from(call.cell) < tables.cells
                && usize::from(call.seat) < tables.seats
                && call.left <= self.help_time
        };
        state.extra.len() <= tables.seats * tables.cells && state.extra.iter().all(fits)
    }

    fn tick(
        &self,
        _tables: &Tables,
        state: &mut State<Vec<Call>>,
        _random: &mut StepDraws,
        _pay: &mut Pay<'_>,
    ) {
        state.extra.retain_mut(|call| {
            let waits = call.left > 0;
            call.left = call.left.saturating_sub(1);
            waits
        });
    }

    fn act(
        &self,
        _tables: &Tables,
        state: &mut State<Vec<Call>>,
        seat: usize,
        cell: u16,
        motion: Motion,
    ) -> Option<Interaction> {
        let at = state.kind(cell);
        if motion != Motion::Toggle {
            return None;
        }
        let done = Some(at) == self.red && self.help(&mut state.extra, seat as u8, cell);
        if done || self.is_skilled(seat, at) {
            state.set_kind(cell, EMPTY);
        } else if Some(at) != self.red {
            return None;
        }
        let item = state.agents[seat].held;
        Some(Interaction {
            seat: seat as u8,
            act: Act::Toggle,
            item,
            at,
            cell,
        })
    }

    fn may_act(
        &self,
        _tables: &Tables,
        state: &State<Vec<Call>>,
        seat: usize,
        cell: u16,
        motion: Motion,
    ) -> bool {
        let at = state.kind(cell);
        motion == Motion::Toggle && (Some(at) == self.red || self.is_skilled(seat, at))
    }

    fn earn(
        &self,
        tables: &Tables,
        state: &mut State<Vec<Call>>,
        did: &Interaction,
        pay: &mut Pay<'_>,
    ) {
        pay.declared(tables, did);
        if Some(did.at) != self.red || state.kind(did.cell) != EMPTY {
            return;
        }
        let worth = tables.rewards[RED].worth;
        pay.give(tables, RED, did.seat, worth);
        state.extra.retain(|call| {
            let helped = call.cell == did.cell;
            if helped && !self.common {
                pay.give(tables, RED, call.seat, worth);
            }
            !helped
        });
    }

    /// For a victim whom one agent alone cannot carry, everybody who called for help is paid with the one who came. So
    /// an agent that called at each victim and also carries one is paid once more than there are agents.
    fn reward_bounds(&self, tables: &Tables, reward: usize) -> Option<[f64; 2]> {
        let worth = tables.rewards.get(reward)?.worth;
        match reward {
            RED => Some(CompiledReward::bounds([worth; 2], tables.seats + 1)),
            _ => tables.declared_bounds(reward),
        }
    }

    fn terminated(&self, tables: &Tables, state: &State<Vec<Call>>, _seat: usize) -> bool {
        !tables.is_cogrid()
            && !state
                .kinds(tables)
                .iter()
                .any(|&kind| self.victims.has(kind))
    }

    fn draw(&self, tables: &Tables, state: &State<Vec<Call>>, out: &mut DrawList) {
        for call in &state.extra {
            let (row, col) = tables.column_and_row(call.cell);
            let part = f32::from(call.left) / f32::from(self.help_time);
            let ring = Shape::Progress {
                part,
                color: 0xffd2_57ff,
            };
            out.push(0, [col as f32 + 0.05, row as f32 + 0.05, 0.9, 0.9], ring);
        }
    }

    fn describe(&self, tables: &Tables, state: &State<Vec<Call>>, seat: usize, out: &mut String) {
        match self.roles.get(seat) {
            Some(Role::Medic) => *out += "You are a medic: you need no medkit.\n",
            Some(Role::Engineer) => *out += "You are an engineer: you need no pickaxe.\n",
            Some(Role::None) | None => {}
        }
        for call in &state.extra {
            let (row, col) = tables.column_and_row(call.cell);
            let who = if usize::from(call.seat) == seat {
                "You wait"
            } else {
                "Another agent waits"
            };
            let (row, col, left) = (row + 1, col + 1, call.left);
            *out += &format!(
                "{who} for help with the red victim at row {row}, column {col}; steps left: {left}.\n"
            );
        }
    }
}
