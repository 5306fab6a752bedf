//! Worlds that a seed declares: random kinds with random uses on a random ground.

use env_core::conformance::SEEDS;
use env_core::contract::ParamError;
use env_core::grid::{
    Act, ActionSet, Draws, Grid, GridWorld, Kind, KindId, Layout, Names, Recipe, Reward, RuleSet,
    State, Tables, Use, When, WorldPlan,
};
use env_core::rng::Rng;
use serde::{Deserialize, Serialize};

/// The environment.
pub(crate) type Anything = Grid<World>;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Params {
    pub seed: u64,
    /// 0 for the number that the seed determines.
    pub seats: usize,
    pub rules: RuleSet,
    pub actions: ActionSet,
    /// True if the ground is made for each episode.
    pub generated: bool,
}

#[derive(Debug)]
pub(crate) struct World {
    seed: u64,
    seats: usize,
    /// Flags by kind: true if hands can carry it.
    items: Vec<bool>,
    symbols: Vec<char>,
}

const ITEMS: [&str; 4] = ["apple", "brick", "cup", "dish"];
/// Rows and columns, at least as many free cells as seats.
const ROWS: usize = 8;
const COLS: usize = 9;

fn some(rng: &mut Rng) -> Names {
    let (first, second) = (rng.below(4) as usize, rng.below(4) as usize);
    Names::of(&[ITEMS[first], ITEMS[second]])
}

fn container(rng: &mut Rng) -> Use {
    // Few ingredients, so that random hands complete a recipe now and then.
    let capacity = 1 + rng.below(3) as u8;
    let item = |rng: &mut Rng| ITEMS[rng.below(2) as usize].to_owned();
    let recipe = |rng: &mut Rng| Recipe {
        ingredients: (0..capacity).map(|_| item(rng)).collect(),
        result: item(rng),
        time: rng.below(6) as u8,
    };
    Use::Container {
        capacity,
        with: if rng.flip() {
            Names::EmptyHand
        } else {
            some(rng)
        },
        recipes: (0..=rng.below(3)).map(|_| recipe(rng)).collect(),
    }
}

fn kinds(rng: &mut Rng) -> Vec<Kind> {
    let gives = |name: &str| Use::Source(name.into());
    let turns = |with, keeps, into: &str| Use::Becomes {
        with,
        keeps,
        into: into.into(),
    };
    let mut kinds: Vec<Kind> = ITEMS
        .iter()
        .zip('a'..)
        .map(|(name, symbol)| Kind::new(name).symbol(symbol).usage(Use::Loose))
        .collect();
    let mut add = |name: &str, symbol: char, usage: Use| {
        kinds.push(Kind::new(name).symbol(symbol).usage(usage))
    };
    add("heap", 'H', gives(ITEMS[rng.below(4) as usize]));
    add("heap_too", 'I', gives(ITEMS[rng.below(4) as usize]));
    add("shelf", 'S', Use::Surface(Names::Any));
    add("tray", 'T', Use::Surface(some(rng)));
    add(
        "bin",
        'B',
        Use::Sink(if rng.flip() { Names::Any } else { some(rng) }),
    );
    add("oven", 'O', container(rng));
    add("press", 'P', container(rng));
    add(
        "lamp",
        'L',
        Use::Switch {
            time: 1 + rng.below(6) as u8,
        },
    );
    add("gem", 'J', Use::Collect);
    add("crate", 'C', turns(Names::EmptyHand, true, ""));
    add("lock", 'K', turns(some(rng), false, "gate"));
    add("door", 'D', turns(Names::EmptyHand, true, "gate"));
    let open = Kind::new("gate").symbol('G').walkable();
    kinds.push(open.usage(turns(Names::EmptyHand, true, "door")));
    let goal = Kind::new("goal").symbol('g').walkable();
    kinds.push(if rng.below(4) == 0 {
        goal.terminal()
    } else {
        goal
    });
    kinds.push(Kind::new("wall").symbol('#').wall());
    kinds
}

/// Returns the number of things that an event makes; negative if it removes things.
pub(crate) fn change(plan: &WorldPlan, event: &str) -> i64 {
    let usage = |name: &str| {
        plan.kinds
            .iter()
            .find(|kind| kind.name == name)
            .map(|kind| &kind.usage)
    };
    match event.split_once(" ") {
        Some(("take", from)) => i64::from(matches!(usage(from), Some(Use::Source(_)))),
        Some(("deliver", _)) => -1,
        Some(("toggle", at)) => match usage(at) {
            Some(Use::Becomes { keeps: false, .. }) => -1,
            _ => 0,
        },
        Some(("serve", at)) => match usage(at) {
            Some(Use::Container {
                capacity,
                with: Names::EmptyHand,
                ..
            }) => 1 - i64::from(*capacity),
            Some(Use::Container { capacity, .. }) => -i64::from(*capacity),
            _ => panic!("{at} serves"),
        },
        _ => 0,
    }
}

fn rewards(kinds: &[Kind]) -> Vec<Reward> {
    let acts = [
        (Act::Take, "take"),
        (Act::Place, "place"),
        (Act::Add, "add"),
        (Act::Serve, "serve"),
        (Act::Deliver, "deliver"),
        (Act::Toggle, "toggle"),
    ];
    let reward = |act, verb: &str, kind: &Kind| {
        let (item, at) = (Names::AnyHand, Names::of(&[&kind.name]));
        Reward::new(
            &format!("{verb} {}", kind.name),
            1.0,
            When::Does { act, item, at },
        )
        .own()
    };
    acts.into_iter()
        .flat_map(|(act, verb)| kinds.iter().map(move |kind| reward(act, verb, kind)))
        .collect()
}

/// Half of it floor, the rest anything; a row of floor has room for everyone.
fn ground(rng: &mut Rng, symbols: &[char]) -> Vec<String> {
    let cell = |rng: &mut Rng| match rng.below(2) {
        0 => ' ',
        _ => symbols[rng.below(symbols.len() as u32) as usize],
    };
    let mut rows: Vec<String> = (0..ROWS)
        .map(|_| (0..COLS).map(|_| cell(rng)).collect())
        .collect();
    for row in [2, 5] {
        rows[row] = " ".repeat(COLS);
    }
    rows
}

impl Params {
    pub(crate) fn plan(&self) -> WorldPlan {
        let mut rng = Rng::new(self.seed);
        let kinds = kinds(&mut rng);
        let symbols: Vec<char> = kinds.iter().filter_map(|kind| kind.symbol).collect();
        let seats = if self.seats == 0 {
            1 + rng.below(16) as usize
        } else {
            self.seats
        };
        WorldPlan {
            rules: self.rules,
            seats,
            actions: self.actions,
            horizon: 150,
            layout: match self.generated {
                true => Layout::Generated {
                    rows: ROWS,
                    cols: COLS,
                    fixtures: ROWS * COLS,
                },
                false => Layout::Fixed(ground(&mut rng, &symbols)),
            },
            rewards: rewards(&kinds),
            kinds,
            ..WorldPlan::default()
        }
    }

    /// So many worlds.
    pub(crate) fn many(count: u64) -> impl Iterator<Item = Self> {
        (0..count).map(|seed| Self {
            seed: seed ^ SEEDS[2],
            actions: if seed % 3 == 0 {
                ActionSet::Rotation
            } else {
                ActionSet::Cardinal
            },
            generated: seed % 4 == 0,
            ..Self::default()
        })
    }
}

impl GridWorld for World {
    const ID: &'static str = "anything";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Anything";
    type Params = Params;
    type Extra = ();

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        Ok(params.plan())
    }

    fn new(params: Params, tables: &Tables) -> Result<Self, ParamError> {
        Ok(Self {
            seed: params.seed,
            seats: tables.seats,
            items: tables
                .kinds
                .iter()
                .map(|kind| kind.usage == Use::Loose)
                .collect(),
            symbols: tables.kinds.iter().filter_map(|kind| kind.symbol).collect(),
        })
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}

    fn generate(&self, rng: &mut Rng) -> Vec<String> {
        ground(rng, &self.symbols)
    }
}

impl World {
    pub(crate) fn name(&self) -> String {
        format!("seed {}, {} seats", self.seed, self.seats)
    }

    /// Everything that hands can carry: on the floor, on surfaces, in containers and in hands.
    pub(crate) fn items(&self, tables: &Tables, state: &State<()>) -> Vec<KindId> {
        let held = state.agents[..tables.seats].iter().map(|agent| agent.held);
        let inside = state
            .fixtures(tables)
            .flat_map(|fixture| fixture.contents().iter().copied());
        let lying = state
            .kinds(tables)
            .iter()
            .chain(state.values(tables))
            .copied();
        let is_item = |kind: &KindId| {
            kind.checked_sub(1)
                .is_some_and(|kind| self.items[usize::from(kind)])
        };
        let mut items: Vec<KindId> = held.chain(inside).chain(lying).filter(is_item).collect();
        items.sort_unstable();
        items
    }
}
