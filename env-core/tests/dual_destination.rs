//! Dual Destination: laws, and what its executable specification did.

use env_core::conformance::check_batch;
use env_core::envs::dual_destination::{DualDestination, Params};
use env_core::{Environment, StepOutcome};
use serde::Deserialize;

#[derive(Deserialize)]
struct Recorded {
    agents: [[u8; 2]; 2],
    green: [[u8; 2]; 2],
    pink: [[u8; 2]; 2],
    observations: [Vec<f32>; 2],
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    actions: [u16; 2],
    agents: [[u8; 2]; 2],
    reward: f32,
    observations: [Vec<f32>; 2],
}

#[test]
fn it_keeps_the_laws() {
    check_batch::<DualDestination>([false, true].map(|random_reset| Params {
        random_reset,
        ..Params::default()
    }))
    .unwrap();
}

#[test]
fn it_plays_as_its_specification_did() {
    let text = include_str!("../../tests/golden/dialects/dual_destination.json");
    let episodes: Vec<Recorded> = serde_json::from_str(text).unwrap();
    let mut both = 0;
    for recorded in &episodes {
        let env = DualDestination::new(Params {
            agents: recorded.agents,
            green: recorded.green,
            pink: recorded.pink,
            ..Params::default()
        })
        .unwrap();
        let (mut state, mut outcome) = (env.reset(0), StepOutcome::default());
        let look = |state: &_| {
            [0, 1].map(|seat| {
                let mut values = vec![9.0; 100];
                env.observe(state, seat, &mut values);
                values
            })
        };
        assert_eq!(look(&state), recorded.observations);
        for step in &recorded.steps {
            env.step(&mut state, &step.actions, &mut outcome);
            assert_eq!(state.agents, step.agents);
            assert_eq!(outcome.rewards[..2], [step.reward; 2]);
            assert_eq!(look(&state), step.observations);
            both += usize::from(step.reward > 0.0);
        }
    }
    assert!(both > 20, "{both}");
}

#[test]
fn two_agents_may_swap_and_never_share_a_cell() {
    let env = DualDestination::new(Params {
        agents: [[1, 2], [2, 2]],
        ..Params::default()
    })
    .unwrap();
    let (mut state, mut outcome) = (env.reset(0), StepOutcome::default());
    env.step(&mut state, &[0, 2], &mut outcome);
    assert_eq!(state.agents, [[2, 2], [1, 2]]);
    env.step(&mut state, &[2, 4], &mut outcome);
    assert_eq!(state.agents, [[2, 2], [1, 2]]);
}
