//! What a step, a snapshot and an observation of the cramped room cost on one core.
//!
//! Prints one JSON object a line: `{"name", "value", "unit"}`. A figure is the best of several rounds,
//! because other work on the machine only ever adds time; each round's result is asserted.

use std::hint::black_box;
use std::time::Instant;

use env_core::digest::digest;
use env_core::envs::overcooked::{Overcooked, Params, Rules};
use env_core::rng::Rng;
use env_core::{Environment, Instance, Outcome, World};

const ROUNDS: u32 = 9;
const EPISODES: u64 = 500;
const HORIZON: u32 = 1000;
const CALLS: u32 = 200_000;

fn env(rules: Rules) -> Overcooked {
    Overcooked::new(Params {
        rules,
        horizon: HORIZON,
        ..Params::default()
    })
    .expect("these parameters are accepted")
}

/// Uniform actions of an episode.
fn rows(seed: u64) -> Vec<[u16; 2]> {
    let mut rng = Rng::new(seed);
    (0..HORIZON)
        .map(|_| [(); 2].map(|()| rng.below(7) as u16))
        .collect()
}

/// The least nanoseconds that one of `count` calls took, and the result that every round gave.
fn best<T: PartialEq + std::fmt::Debug>(count: u64, mut round: impl FnMut() -> T) -> (f64, T) {
    let expected = round();
    let times = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        let result = round();
        let nanos = start.elapsed().as_nanos() as f64 / count as f64;
        assert_eq!(result, expected, "a round differs from the first");
        nanos
    });
    (
        times.fold(
            f64::INFINITY,
            |least, nanos| if nanos < least { nanos } else { least },
        ),
        expected,
    )
}

fn report(name: &str, value: f64, unit: &str) {
    println!(r#"{{"name":"{name}","value":{value:.2},"unit":"{unit}"}}"#);
}

fn steps(name: &str, rules: Rules) {
    let env = env(rules);
    let episodes: Vec<_> = (0..16).map(rows).collect();
    let (nanos, (digests, paid)) = best(EPISODES * u64::from(HORIZON), || {
        let (mut outcome, mut digests, mut paid) = (Outcome::default(), 0_u64, 0.0);
        for seed in 0..EPISODES {
            let mut state = env.reset(seed);
            for actions in &episodes[seed as usize % episodes.len()] {
                env.step(&mut state, actions, &mut outcome);
                paid += outcome.rewards[0];
            }
            assert!(outcome.over && state.steps == HORIZON);
            digests ^= digest(&state);
        }
        (digests, paid)
    });
    assert!(
        digests != 0 && paid > 0.0,
        "random cooks put onions into pots"
    );
    report(&format!("{name}_steps_per_s"), 1e9 / nanos, "1/s");
    report(&format!("{name}_step"), nanos, "ns");
}

fn snapshots() {
    let mut world = Instance::new(env(Rules::Corrected));
    rows(1)
        .iter()
        .take(200)
        .for_each(|actions| drop(world.step(actions).over));
    let at = world.digest();
    let (save, _) = best(u64::from(CALLS), || {
        (0..CALLS).for_each(|call| black_box(&mut world).save(call as usize & 15))
    });
    let (load, _) = best(u64::from(CALLS), || {
        (0..CALLS).for_each(|call| black_box(&mut world).load(call as usize & 15))
    });
    assert_eq!(world.digest(), at);
    report("overcooked_save", save, "ns");
    report("overcooked_load", load, "ns");
    report(
        "overcooked_state",
        size_of_val(world.current()) as f64,
        "bytes",
    );
    let (nanos, _) = best(u64::from(CALLS), || {
        (0..CALLS).fold(0, |sum, _| sum ^ black_box(&mut world).digest())
    });
    report("overcooked_digest", nanos, "ns");
}

fn observations() {
    let mut world = Instance::new(env(Rules::Corrected));
    rows(1)
        .iter()
        .take(200)
        .for_each(|actions| drop(world.step(actions).over));
    let mut values = Vec::new();
    let (nanos, sum) = best(u64::from(CALLS), || {
        let mut sum = 0.0_f64;
        for call in 0..CALLS {
            black_box(&mut world).observe(call as usize & 1, &mut values);
            sum += f64::from(values[call as usize % 892]);
        }
        sum
    });
    assert!(values.len() == 892 && sum != 0.0);
    report("overcooked_observe", nanos, "ns");
}

fn main() {
    steps("overcooked", Rules::Corrected);
    steps("overcooked_cogrid", Rules::Cogrid);
    snapshots();
    observations();
}
