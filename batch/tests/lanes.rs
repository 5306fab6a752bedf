//! Grids that are played in lanes equal those that are stepped one by one, bit for bit.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use batch::{Arrays, Autoreset, BatchOptions, Infos, Observations, Vector};
use env_core::contract::ParamError;
use env_core::grid::{
    Act, Draws, Grid, GridWorld, Kind, Layout, Names, Recipe, Reward, Tables, Use, When, WorldPlan,
};
use env_core::rng::Rng;
use env_core::{Action, Environment};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// A kitchen that only declares.
#[derive(Debug)]
struct Kitchen;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Params {
    seats: usize,
    layout: Vec<String>,
    horizon: u32,
    capacity: u8,
    time: u8,
    common: bool,
}

fn recipe(ingredient: &str, result: &str, params: &Params, time: u8) -> Recipe {
    Recipe {
        ingredients: vec![ingredient.into(); usize::from(params.capacity)],
        result: result.into(),
        time,
    }
}

fn kinds(params: &Params) -> Vec<Kind> {
    let loose = |name, symbol| Kind::new(name).symbol(symbol).usage(Use::Loose);
    let pot = Use::Container {
        capacity: params.capacity,
        with: Names::of(&["plate"]),
        recipes: vec![
            recipe("onion", "onion_soup", params, params.time),
            recipe("tomato", "tomato_soup", params, params.time / 2),
        ],
    };
    vec![
        Kind::new("wall").symbol('#').wall(),
        Kind::new("counter")
            .symbol('C')
            .usage(Use::Surface(Names::Any)),
        Kind::new("table")
            .symbol('A')
            .usage(Use::Surface(Names::Any)),
        loose("onion", 'o'),
        loose("tomato", 't'),
        loose("plate", 'p'),
        loose("onion_soup", 's'),
        loose("tomato_soup", 'm'),
        Kind::new("onion_stack")
            .symbol('O')
            .usage(Use::Source("onion".into())),
        Kind::new("tomato_stack")
            .symbol('T')
            .usage(Use::Source("tomato".into())),
        Kind::new("plate_stack")
            .symbol('=')
            .usage(Use::Source("plate".into())),
        Kind::new("pot").symbol('U').usage(pot),
        Kind::new("zone")
            .symbol('@')
            .usage(Use::Sink(Names::of(&["onion_soup", "tomato_soup"]))),
        Kind::new("bin").symbol('X').usage(Use::Sink(Names::Any)),
    ]
}

impl GridWorld for Kitchen {
    const ID: &'static str = "kitchen";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Kitchen";
    type Params = Params;
    type Extra = ();

    fn params_schema() -> &'static str {
        "{}"
    }

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        let does = |act, item: &[&str], at: Names| When::Does {
            act,
            item: Names::of(item),
            at,
        };
        let at = |name: &str| Names::of(&[name]);
        let soups = ["onion_soup", "tomato_soup"];
        let any = |act| When::Does {
            act,
            item: Names::Any,
            at: Names::Any,
        };
        let mut rewards = vec![
            Reward::new("delivery", 20.1, does(Act::Deliver, &soups, at("zone"))).scored(),
            Reward::new("onion_in_pot", 3.3, does(Act::Add, &["onion"], at("pot"))),
            Reward::new("soup_in_dish", 5.7, does(Act::Serve, &soups, at("pot"))).scored(),
            Reward::new(
                "waste",
                -0.7,
                does(Act::Deliver, &["plate", "onion_soup"], at("bin")),
            )
            .own(),
            Reward::new("lifted", 0.013, any(Act::Take)).own(),
            Reward::new(
                "placed",
                0.017,
                does(Act::Place, &["onion", "plate"], at("table")),
            )
            .scored(),
        ];
        rewards
            .iter_mut()
            .for_each(|reward| reward.common &= params.common);
        Ok(WorldPlan {
            seats: params.seats,
            horizon: params.horizon,
            kinds: kinds(params),
            layout: Layout::Fixed(params.layout.clone()),
            rewards,
            ..WorldPlan::default()
        })
    }

    fn new(_: Params, _: &Tables) -> Result<Self, ParamError> {
        Ok(Self)
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}

    fn is_declared(&self) -> bool {
        true
    }
}

const LAYOUTS: [&[&str]; 5] = [
    &["CCUCC", "O   O", "C   C", "C=C@C"],
    &["CAUAC", "O+p @", "T s+X", "CA=UC"],
    &["#UOU#", "=+ +T", "##@##"],
    &[
        "#######", "#+ o  #", "O  #  @", "U p#  =", "T  t +U", "#AA#CC#",
    ],
    // Never a lane's: it is open.
    &["OU@", "+=+"],
];

/// The output of a step when nobody observes.
#[derive(Clone, Debug, PartialEq)]
struct Written {
    rewards: Vec<u32>,
    ends: [Vec<u8>; 2],
    returns: Vec<u32>,
    lengths: Vec<u32>,
    events: Vec<u32>,
    observations: Vec<u32>,
}

/// A batch and the arrays of its caller.
struct Player {
    batch: Box<dyn Vector>,
    rewards: Vec<f32>,
    ends: [Vec<u8>; 2],
    returns: Vec<f32>,
    lengths: Vec<u32>,
    events: Vec<f32>,
    observations: Vec<f32>,
}

impl Player {
    fn new(batch: Box<dyn Vector>) -> Self {
        let n = batch.instances();
        let rows = n * usize::from(batch.spec().seats);
        let (kinds, values) = (batch.spec().events.len(), batch.spec().observation_len());
        Self {
            batch,
            rewards: vec![9.0; rows],
            ends: [vec![9; rows], vec![9; rows]],
            returns: vec![9.0; rows],
            lengths: vec![9; n],
            events: vec![9.0; rows * kinds],
            observations: vec![9.0; rows * values],
        }
    }

    fn call(&mut self, sees: bool, work: impl FnOnce(&mut dyn Vector, Arrays<'_>)) -> Written {
        let [terminated, truncated] = &mut self.ends;
        let mut arrays = Arrays::new(&mut self.rewards, terminated, truncated);
        arrays.infos = Some(Infos {
            episode_return: &mut self.returns,
            episode_length: &mut self.lengths,
            events: &mut self.events,
        });
        if sees {
            arrays.observations = Observations::F32(&mut self.observations);
        }
        work(&mut *self.batch, arrays);
        let bits = |values: &[f32]| {
            values
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<_>>()
        };
        Written {
            rewards: bits(&self.rewards),
            ends: self.ends.clone(),
            returns: bits(&self.returns),
            lengths: self.lengths.clone(),
            events: bits(&self.events),
            observations: bits(&self.observations),
        }
    }

    fn states(&mut self) -> Vec<(Vec<u8>, batch::Episode)> {
        let mut states = Vec::new();
        for index in 0..self.batch.instances() {
            let mut bytes = Vec::new();
            self.batch.state(index, &mut bytes).unwrap();
            states.push((bytes, self.batch.episode(index).unwrap()));
        }
        states
    }
}

/// Steps both in the same way, with everything that happens to a batch in between, and returns the earnings.
fn compare(params: &Params, options: BatchOptions, seed: u64) -> f32 {
    let grid = || Grid::<Kitchen>::new(params.clone()).unwrap();
    let mut players = [
        batch::of_grid(grid(), options),
        batch::of_environment(grid(), options),
    ]
    .map(|batch| Player::new(batch.unwrap()));
    let (n, mut rng) = (options.instances, Rng::new(seed));
    let mut earned = 0.0;
    for _ in 0..120 {
        let sees = rng.below(16) == 0;
        let kind = rng.below(40);
        let seeds: Vec<u64> = (0..n).map(|_| rng.bits()).collect();
        let which: Vec<bool> = (0..n).map(|_| rng.below(4) == 0).collect();
        let actions: Vec<Action> = (0..params.seats * n)
            .map(|_| [0, 1, 2, 3, 4, 4, 4, 5, 6][rng.below(9) as usize])
            .collect();
        let [ours, theirs] = players.each_mut().map(|player| {
            player.call(sees, |batch, arrays| match kind {
                0 => batch.reset(&seeds, Some(&which), arrays).unwrap(),
                1 => batch.reset(&seeds, None, arrays).unwrap(),
                _ => batch.step(&actions, arrays).unwrap(),
            })
        });
        assert_eq!(ours, theirs);
        if rng.below(24) == 0 {
            let [states, others] = players.each_mut().map(Player::states);
            assert!(states == others, "states");
            let (from, to) = (rng.below(n as u32) as usize, rng.below(n as u32) as usize);
            let (state, episode) = &states[from];
            players
                .iter_mut()
                .for_each(|player| player.batch.restore(to, state, *episode).unwrap());
        }
        earned += players[0].rewards.iter().sum::<f32>();
    }
    let [states, others] = players.each_mut().map(Player::states);
    assert!(states == others, "states at the end");
    earned
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn lanes_equal_single_instances(
        seed: u64, seats in 1..5_usize, layout in 0..LAYOUTS.len(), instances in 14..220_usize, threads in 1..4_usize, mode in 0..3_usize,
        horizon in prop_oneof![1..4_u32, 20..90_u32], capacity in 1..4_u8, time in 0..9_u8, common: bool,
    ) {
        let layout: Vec<String> = LAYOUTS[layout].iter().map(|&row| row.into()).collect();
        let floor = layout.iter().flat_map(|row| row.chars()).filter(|sign| " +".contains(*sign));
        let seats = seats.min(floor.count());
        let autoreset = [Autoreset::NextStep, Autoreset::SameStep, Autoreset::Disabled][mode];
        let options = BatchOptions { instances, threads, autoreset, in_place: false };
        compare(&Params { seats, layout, horizon, capacity, time, common }, options, seed);
    }
}

#[test]
fn lanes_cook_and_deliver() {
    for (seats, layout) in [(1, 2), (2, 2), (3, 3), (4, 3)] {
        let earned = cook(seats, LAYOUTS[layout]);
        assert!(earned > 50.0, "{seats} cooks: {earned}");
    }
}

/// Compares what cooks earn in a room.
fn cook(seats: usize, layout: &[&str]) -> f32 {
    let params = Params {
        seats,
        layout: layout.iter().map(|&row| row.into()).collect(),
        horizon: 100,
        capacity: 1,
        time: 2,
        common: true,
    };
    let options = BatchOptions {
        instances: 130,
        threads: 2,
        ..BatchOptions::default()
    };
    compare(&params, options, 1)
}
