//! Measures the cost of a batch of the cramped room, on one core and on all, and how it grows.
//!
//! Prints one JSON object per line: `{"name", "value", "unit"}`, and for the points of a curve `"series"` and `"x"` as
//! well. A figure is the best of many short rounds, because other work on the machine only adds time. Actions are
//! uniform, drawn before, and no round repeats them; the earnings of a round are asserted.
#![expect(clippy::disallowed_types, reason = "a bench measures time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use batch::{Arrays, BatchOptions, Infos, Observations, Vector};
use env_core::envs::open;
use env_core::rng::Rng;
use env_core::{Action, World};

const ID: &str = "overcooked";
const HORIZON: usize = 1_000;
/// How long a figure is measured.
const TIME: Duration = Duration::from_millis(600);

fn report(name: &str, value: f64, unit: &str) {
    println!(r#"{{"name":"{name}","value":{value:.2},"unit":"{unit}"}}"#);
}

/// Rows of actions, more than a branch predictor remembers.
struct Actions {
    rows: Vec<Action>,
    width: usize,
    at: usize,
}

impl Actions {
    fn new(width: usize, count: u32) -> Self {
        let mut rng = Rng::new(width as u64);
        let length = (1_usize << 22).div_ceil(width).max(64) * width;
        let rows = (0..length).map(|_| rng.below(count) as Action).collect();
        Self { rows, width, at: 0 }
    }

    fn next(&mut self) -> &[Action] {
        self.at = (self.at + self.width) % self.rows.len();
        &self.rows[self.at..][..self.width]
    }
}

/// The least seconds that one of `count` calls took, of all rounds that there is time for.
fn best(count: usize, mut call: impl FnMut()) -> f64 {
    let (start, mut least) = (Instant::now(), f64::INFINITY);
    while least.is_infinite() || start.elapsed() < TIME {
        let round = Instant::now();
        (0..count).for_each(|_| call());
        least = f64::min(least, round.elapsed().as_secs_f64() / count as f64);
    }
    least
}

/// One instance as a program steps it: a separate environment, episode after episode.
fn single() {
    let mut world = open(ID, "").expect("the default parameters are accepted");
    let seats = usize::from(world.spec().seats);
    let mut actions = Actions::new(seats, world.spec().actions.len() as u32);
    let (mut seed, mut paid, mut over) = (0, 0.0, 0);
    let seconds = best(HORIZON, || {
        let outcome = world.step(actions.next());
        paid += outcome.rewards[0];
        if outcome.over {
            (over, seed) = (over + 1, seed + 1);
            world.reset(seed);
        }
    });
    assert!(paid > 0.0 && over > 10, "random cooks put onions into pots");
    report("one instance, rules only", 1.0 / seconds, "steps/s");
    snapshots(&mut *world);
}

fn snapshots(world: &mut dyn World) {
    let at = world.digest();
    (0..16).for_each(|slot| world.save(slot));
    let mut slot = 0;
    let mut next = || {
        slot = (slot + 1) % 16;
        slot
    };
    let save = best(10_000, || black_box(&mut *world).save(next()));
    let load = best(10_000, || black_box(&mut *world).load(next()));
    assert_eq!(world.digest(), at);
    report("save of a state", save * 1e9, "ns");
    report("load of a state", load * 1e9, "ns");
}

/// The output of a step of a batch beside rewards and ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Look {
    Nothing,
    F32,
    Compact,
}

/// A batch to be measured.
#[derive(Clone, Copy)]
struct Case<'a> {
    id: &'a str,
    params: &'a str,
    instances: usize,
    threads: usize,
    look: Look,
    in_place: bool,
    /// True if masks and infos are written as well.
    more: bool,
}

const CRAMPED_ROOM: Case<'static> = Case {
    id: ID,
    params: "",
    instances: 1_024,
    threads: 1,
    look: Look::Nothing,
    in_place: true,
    more: false,
};

/// The same room by the rules of CoGrid.
const COGRID: &str = r#"{"rules":"cogrid-0.3.2"}"#;

impl Case<'_> {
    /// Values of the observation of a seat.
    fn values(&self) -> usize {
        let world = env_core::envs::open(self.id, self.params).expect("the case is possible");
        world.spec().observation_len()
    }

    /// Steps per second, every instance counted.
    fn measure(&self) -> f64 {
        let Self {
            instances,
            threads,
            in_place,
            ..
        } = *self;
        let options = BatchOptions {
            instances,
            threads,
            in_place,
            ..BatchOptions::default()
        };
        let mut batch = batch::open(self.id, self.params, options).expect("the case is possible");
        let (rows, values) = (
            instances * usize::from(batch.spec().seats),
            batch.spec().observation_len(),
        );
        let f32s = if self.look == Look::F32 {
            rows * values
        } else {
            0
        };
        let bytes = if self.look == Look::Compact {
            rows * values
        } else {
            0
        };
        let (mut dense, mut compact) = (vec![0.0; f32s], vec![0; bytes]);
        let (mut rewards, mut ends) = (vec![0.0; rows], [vec![0; rows], vec![0; rows]]);
        let mut actions = Actions::new(rows, batch.spec().actions.len() as u32);
        let (mut masks, mut returns) =
            (vec![0; rows * batch.spec().actions.len()], vec![0.0; rows]);
        let (mut lengths, mut events) = (
            vec![0; instances],
            vec![0.0; rows * batch.spec().events.len()],
        );
        let mut steps = 0;
        let mut step = |batch: &mut dyn Vector| {
            let [terminated, truncated] = &mut ends;
            let mut arrays = Arrays::new(&mut rewards, terminated, truncated);
            arrays.observations = match self.look {
                Look::Nothing => Observations::None,
                Look::F32 => Observations::F32(&mut dense),
                Look::Compact => Observations::Compact(&mut compact),
            };
            if self.more {
                arrays.masks = Some(&mut masks);
                arrays.infos = Some(Infos {
                    episode_return: &mut returns,
                    episode_length: &mut lengths,
                    events: &mut events,
                });
            }
            batch.step(actions.next(), arrays).expect("the arrays fit");
            steps += 1;
        };
        // The first steps fill the arrays and warm the caches.
        (0..3).for_each(|_| step(&mut *batch));
        let calls = (20_000 / rows).clamp(1, 10_000);
        let seconds = best(calls, || step(&mut *batch));
        // One more step starts the next episode.
        let length = batch.episode(instances - 1).map(|episode| episode.length);
        let expected = steps % (HORIZON as u32 + 1);
        assert_eq!(length, Ok(expected), "every instance made every step");
        instances as f64 / seconds
    }
}

fn table() {
    let looks = [
        ("rules only", Look::Nothing, true),
        ("f32 observations, written whole", Look::F32, false),
        ("f32 observations, in place", Look::F32, true),
        ("compact observations, written whole", Look::Compact, false),
        ("compact observations, in place", Look::Compact, true),
    ];
    for (name, look, in_place) in looks {
        for (threads, cores) in [(1, "one core"), (0, "all cores")] {
            let case = Case {
                look,
                in_place,
                threads,
                ..CRAMPED_ROOM
            };
            report(
                &format!("1,024 instances, {name}, {cores}"),
                case.measure(),
                "steps/s",
            );
        }
    }
    for (seats, params) in [
        ("one cook", r#"{"seats":1}"#),
        ("three cooks", r#"{"seats":3}"#),
        ("four cooks", r#"{"seats":4}"#),
    ] {
        let case = Case {
            params,
            ..CRAMPED_ROOM
        };
        let name = format!("1,024 instances of {seats}, rules only, one core");
        report(&name, case.measure(), "steps/s");
    }
    for (name, look, in_place) in &looks[1..] {
        for (threads, cores) in [(1, "one core"), (0, "all cores")] {
            let case = Case {
                params: COGRID,
                look: *look,
                in_place: *in_place,
                threads,
                ..CRAMPED_ROOM
            };
            assert_eq!(case.values(), 892, "CoGrid's whole observation");
            report(
                &format!("CoGrid's rules and its 892 values, 1,024 instances, {name}, {cores}"),
                case.measure(),
                "steps/s",
            );
        }
    }
    for (name, look) in [("f32", Look::F32), ("compact", Look::Compact)] {
        let case = Case {
            look,
            more: true,
            ..CRAMPED_ROOM
        };
        let name =
            format!("1,024 instances, {name} observations in place, masks and infos, one core");
        report(&name, case.measure(), "steps/s");
    }
}

fn point(series: &str, name: &str, x: usize, value: f64) {
    println!(
        r#"{{"series":"{series}","name":"{name}","x":{x},"value":{value:.2},"unit":"steps/s"}}"#
    );
}

/// The curve over the number of instances.
fn sizes() {
    for power in (0..=16).step_by(2) {
        let instances = 1 << power;
        for (name, look) in [
            ("rules only", Look::Nothing),
            ("compact observations", Look::Compact),
        ] {
            let case = Case {
                instances,
                look,
                ..CRAMPED_ROOM
            };
            point("batch size", name, instances, case.measure());
        }
    }
}

/// A room with a stack of onions, one of plates, a pot and a delivery zone in its walls.
fn room(rows: usize, cols: usize) -> String {
    let row = |row: usize| -> String {
        let border = row == 0 || row + 1 == rows;
        let cell = |col: usize| match (row, col) {
            (0, 2) => 'U',
            (1, 0) => 'O',
            (2, 0) => '=',
            (_, 3) if row + 1 == rows => '@',
            _ if border || col == 0 || col + 1 == cols => 'C',
            _ => ' ',
        };
        format!("\"{}\"", (0..cols).map(cell).collect::<String>())
    };
    format!("[{}]", (0..rows).map(row).collect::<Vec<_>>().join(","))
}

/// CoGrid's features but the one that needs another agent.
const FEATURES: &str = r#"["agent_dir","overcooked_inventory","next_to_counter","next_to_pot","ordered_pot_features","agent_position","can_move_direction","object_type_masks"]"#;

/// The curves over the number of agents and the size of the grid.
fn rooms() {
    let looks = [
        ("rules only", Look::Nothing),
        ("compact observations", Look::Compact),
    ];
    for (name, look) in looks {
        for seats in [1, 2, 4, 8, 16] {
            let params = format!(
                r#"{{"seats":{seats},"features":{FEATURES},"layout":{}}}"#,
                room(9, 9)
            );
            let case = Case {
                params: &params,
                look,
                ..CRAMPED_ROOM
            };
            point("agents", name, seats, case.measure());
        }
        for (rows, cols) in [(4, 5), (8, 8), (16, 16), (32, 32), (64, 64)] {
            let params = format!(r#"{{"layout":{}}}"#, room(rows, cols));
            let case = Case {
                params: &params,
                look,
                instances: 256,
                ..CRAMPED_ROOM
            };
            point("grid size", name, rows * cols, case.measure());
        }
    }
}

/// The rules that published agents speak: the cramped room with the observations of each original.
const DIALECTS: [(&str, &str, &str); 7] = [
    ("overcooked-ai-1.1.0", "overcooked_ai", "cramped_room"),
    ("overcooked-ai-old", "overcooked_ai", "cramped_room"),
    ("jaxmarl-0.2.0", "overcooked_ai", "cramped_room"),
    ("cec", "overcooked_ai", "cramped_room_9"),
    ("neurips2019", "overcooked_ai", "simple"),
    ("zsc-eval", "overcooked_ai", "cramped_room"),
    ("jaxmarl-v2", "overcooked_jaxmarl_v2", "cramped_room"),
];

fn dialects() {
    for (name, id, layout) in DIALECTS {
        let rules = match id {
            "overcooked_ai" => format!(r#""rules":"{name}","#),
            _ => String::new(),
        };
        let params = format!(r#"{{{rules}"layout":"{layout}","horizon":{HORIZON}}}"#);
        let case = Case {
            id,
            params: &params,
            ..CRAMPED_ROOM
        };
        let is_compact = open(id, &params).is_ok_and(|world| world.spec().compact);
        for (look, what) in [
            (Look::Nothing, "rules only"),
            (Look::F32, "f32 observations"),
            (Look::Compact, "compact observations"),
        ] {
            if look != Look::Compact || is_compact {
                let name = format!("{name}: 1,024 instances, {what}, one core");
                report(&name, Case { look, ..case }.measure(), "steps/s");
            }
        }
    }
}

fn main() {
    let parts: [(&str, fn()); 5] = [
        ("single", single),
        ("table", table),
        ("sizes", sizes),
        ("rooms", rooms),
        ("dialects", dialects),
    ];
    // Names as arguments choose parts: `cargo bench -p batch -- table`.
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.iter().any(|arg| arg == name);
    let all = !parts.iter().any(|(name, _)| is_wanted(name));
    let chosen = parts.iter().filter(|(name, _)| all || is_wanted(name));
    chosen.for_each(|(_, part)| part());
}
