//! Measures the cost of a step, a snapshot and an observation of the cramped room on one core.
//!
//! Prints one JSON object a line: `{"name", "value", "unit"}`. A figure is the best of many short rounds,
//! because other work on the machine only ever adds time; results are asserted.
#![allow(
    clippy::disallowed_types,
    reason = "a bench measures time; the core beside it has no clock"
)]

use std::hint::black_box;
use std::time::Instant;

use env_core::digest::digest;
use env_core::envs::overcooked::{Overcooked, Params, RuleSet};
use env_core::rng::Rng;
use env_core::{BatchObserver, Environment, Instance, StepOutcome, World};

type State = <Overcooked as Environment>::State;
/// A way to write the observation of a seat.
type Look<V> = fn(&Overcooked, &State, usize, &mut [V]);

const ROUNDS: u32 = 100;
const EPISODES: u32 = 16;
const HORIZON: u32 = 1000;
const CALLS: u32 = 10_000;

fn env(rules: RuleSet) -> Overcooked {
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

/// The least nanoseconds that one of `count` calls took; a round gets its number.
fn best(count: u32, mut round: impl FnMut(u32)) -> f64 {
    let mut least = f64::INFINITY;
    for number in 0..ROUNDS {
        let start = Instant::now();
        round(number);
        let nanos = start.elapsed().as_nanos() as f64 / f64::from(count);
        least = if nanos < least { nanos } else { least };
    }
    least
}

fn report(name: &str, value: f64, unit: &str) {
    println!(r#"{{"name":"{name}","value":{value:.2},"unit":"{unit}"}}"#);
}

/// Steps with actions that no round repeats, so that no branch predictor knows them.
fn steps(name: &str, rules: RuleSet, expected: u64) {
    let env = env(rules);
    let episodes: Vec<_> = (0..u64::from(ROUNDS * EPISODES)).map(rows).collect();
    let mut digests = 0;
    let nanos = best(EPISODES * HORIZON, |round| {
        let (mut outcome, mut paid) = (StepOutcome::default(), 0.0);
        for seed in round * EPISODES..(round + 1) * EPISODES {
            let mut state = env.reset(u64::from(seed));
            for actions in &episodes[seed as usize] {
                env.step(&mut state, actions, &mut outcome);
                paid += outcome.rewards[0];
            }
            assert!(outcome.over && state.steps == HORIZON);
            digests ^= digest(&state);
        }
        assert!(paid > 0.0, "random cooks put onions into pots");
    });
    assert_eq!(digests, expected, "{name} went another way: {digests:#x}");
    report(&format!("{name}_steps_per_s"), 1e9 / nanos, "1/s");
    report(&format!("{name}_step"), nanos, "ns");
}

/// A world in the middle of an episode.
fn world() -> Instance<Overcooked> {
    let mut world = Instance::new(env(RuleSet::Corrected));
    rows(1)
        .iter()
        .take(200)
        .for_each(|actions| assert!(!world.step(actions).over));
    world
}

fn snapshots() {
    let mut world = world();
    let at = world.digest();
    let save = best(CALLS, |_| {
        (0..CALLS).for_each(|call| black_box(&mut world).save(call as usize & 15))
    });
    let load = best(CALLS, |_| {
        (0..CALLS).for_each(|call| black_box(&mut world).load(call as usize & 15))
    });
    let nanos = best(CALLS, |_| {
        (0..CALLS).for_each(|_| assert_eq!(black_box(&mut world).digest(), at))
    });
    report("overcooked_save", save, "ns");
    report("overcooked_load", load, "ns");
    report("overcooked_digest", nanos, "ns");
    report(
        "overcooked_state",
        size_of_val(world.current()) as f64,
        "bytes",
    );
}

fn observations() {
    let mut world = world();
    let mut values = Vec::new();
    world.observe(0, &mut values);
    let expected = values.clone();
    let nanos = best(CALLS, |_| {
        (0..CALLS).for_each(|_| black_box(&mut world).observe(0, black_box(&mut values)))
    });
    assert!(values == expected && values.len() == 298);
    report("overcooked_observe", nanos, "ns");
}

/// Steps with the observations of both cooks: written completely or updated, as `f32` or one byte per value.
fn observed(name: &str, rules: RuleSet) {
    let wide: [(&str, Look<f32>); 2] = [
        ("observed", Overcooked::observe),
        ("refreshed", Overcooked::refresh),
    ];
    let compact: [(&str, Look<i8>); 2] = [
        ("observed_compact", Overcooked::observe_compact),
        ("refreshed_compact", Overcooked::refresh_compact),
    ];
    for (way, look) in wide {
        observed_as(&format!("{name}_{way}"), rules, look, Overcooked::observe);
    }
    for (way, look) in compact {
        observed_as(
            &format!("{name}_{way}"),
            rules,
            look,
            Overcooked::observe_compact,
        );
    }
}

fn observed_as<V: Copy + Default + PartialEq>(
    name: &str,
    rules: RuleSet,
    look: Look<V>,
    anew: Look<V>,
) {
    let env = env(rules);
    let len = env.spec().observation_len();
    let episodes: Vec<_> = (0..u64::from(ROUNDS)).map(rows).collect();
    let nanos = best(HORIZON, |round| {
        let (mut outcome, mut state) = (StepOutcome::default(), env.reset(u64::from(round)));
        let mut seen = [vec![V::default(); len], vec![V::default(); len]];
        for (seat, seen) in seen.iter_mut().enumerate() {
            anew(&env, &state, seat, seen);
        }
        for actions in &episodes[round as usize] {
            env.step(&mut state, actions, &mut outcome);
            for (seat, seen) in seen.iter_mut().enumerate() {
                look(&env, &state, seat, black_box(seen));
            }
        }
        let mut expected = vec![V::default(); len];
        anew(&env, &state, 1, &mut expected);
        assert!(outcome.over && seen[1] == expected);
    });
    report(&format!("{name}_steps_per_s"), 1e9 / nanos, "1/s");
}

fn main() {
    steps("overcooked", RuleSet::Corrected, 0x574a_2904_c5c3_d527);
    steps("overcooked_cogrid", RuleSet::Cogrid, 0x4221_2541_8a9b_9a99);
    snapshots();
    observations();
    observed("overcooked", RuleSet::Corrected);
    observed("overcooked_cogrid", RuleSet::Cogrid);
}
