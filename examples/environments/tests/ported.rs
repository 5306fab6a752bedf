//! The port walks as its original does: episodes that CoGrid played are played again, draw by draw.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

use std::io::{BufRead as _, BufReader};

use env_core::digest::Fnv1a;
use env_core::grid::{Direction, NoParams, State};
use env_core::{Action, Environment as _, StepOutcome};
use example_environments::ported::Ported;
use flate2::read::GzDecoder;
use serde_json::Value;

const RECORDING: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/golden/X-GoalFinding-Simple.jsonl.gz"
);

/// The number of the goal in the recording.
const GOAL: u64 = 5;

/// The hash of an observation, as the recording has it: of its numbers as little-endian bytes.
fn hash(env: &Ported, state: &State<()>, seat: usize) -> String {
    let mut values = vec![0.0; env.spec().observation_len()];
    env.observe(state, seat, &mut values);
    let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
    format!("{:016x}", Fnv1a::EMPTY.with(&bytes).value())
}

fn numbers(value: &Value) -> Vec<u64> {
    let list = value.as_array().unwrap().iter();
    list.map(|number| number.as_u64().unwrap()).collect()
}

#[test]
fn the_port_walks_as_the_original_until_somebody_arrives() {
    let env = Ported::new(NoParams::default()).unwrap();
    let (mut state, mut outcome) = (env.reset(0), StepOutcome::default());
    let (mut steps, mut arrivals, mut running) = (0, 0, false);
    for line in BufReader::new(GzDecoder::new(std::fs::File::open(RECORDING).unwrap())).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let start = &line["reset"];
        if start.is_object() {
            // An episode begins where the recording begins.
            state = env.reset(0);
            for (seat, agent) in state.agents[..2].iter_mut().enumerate() {
                let place = numbers(&start["pos"][seat]);
                agent.cell = (place[0] * 7 + place[1]) as u16;
                agent.facing = Direction::of(numbers(&start["dir"])[seat] as u8);
            }
            running = true;
        } else if running {
            let words = |key: &str| numbers(&line[key]);
            let ranks: Vec<u32> = words("prio").iter().map(|&rank| rank as u32).collect();
            env.inject(&mut state, &ranks);
            let actions: Vec<Action> = words("a").iter().map(|&action| action as Action).collect();
            env.step(&mut state, &actions, &mut outcome);
            for (seat, agent) in state.agents[..2].iter().enumerate() {
                let (row, col) = env.tables().column_and_row(agent.cell);
                assert_eq!(
                    [row as u64, col as u64],
                    *numbers(&line["pos"][seat]),
                    "{line}"
                );
                assert_eq!(agent.facing as u64, words("dir")[seat], "{line}");
                let arrived = outcome.terminated >> seat & 1 == 1;
                assert_eq!(u64::from(arrived), words("te")[seat], "{line}");
                assert_eq!(hash(&env, &state, seat), line["oh"][seat], "{line}");
                arrivals += u32::from(arrived);
            }
            let goal = env.tables().id("goal").unwrap();
            let goals = state
                .kinds(env.tables())
                .iter()
                .filter(|&&kind| kind == goal);
            let recorded = words("otm").into_iter().filter(|&kind| kind == GOAL);
            assert_eq!(goals.count(), recorded.count(), "{line}");
            steps += 1;
            // Whoever arrives is paid here; CoGrid pays the others alone, a step later.
            let paid = if outcome.terminated == 0 { 0.0 } else { 1.0 };
            assert_eq!(outcome.rewards[..2], [paid; 2], "{line}");
            running = outcome.terminated == 0;
        }
    }
    assert!(
        steps > 10 && arrivals > 1,
        "{steps} steps, {arrivals} arrivals"
    );
}
