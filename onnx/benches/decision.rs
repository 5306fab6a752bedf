//! How long a decision of an AI partner takes: the clone of the example study, beside the cook that it was cloned from.
#![expect(clippy::disallowed_types, reason = "a bench measures time")]

use std::hint::black_box;
use std::time::Instant;

use env_core::{Policy, World, envs};
use policy::Partners;
use policy::network::ActionChoice;

const MODEL: &[u8] = include_bytes!("../../examples/overcooked-coord/cook_clone.onnx");
const DECISIONS: u32 = 600;

fn main() {
    let params = r#"{"layout": "cramped_room", "horizon": 600}"#;
    let mut world = envs::open("overcooked", params).expect("the kitchen is known");
    let network =
        onnx::read(MODEL, world.spec(), ActionChoice::default()).expect("the model is read");
    let bytes = network.encode().expect("what is read can be written");
    let sha256 = "0".repeat(64);
    let mut partners = Partners::default();
    partners
        .add(&sha256, &bytes)
        .expect("what is written can be read");
    let clone = partners.open(&policy::named("clone", &sha256), world.spec());
    let cook = partners.open("cook", world.spec());
    println!("the network has {} bytes", bytes.len());
    for (name, policy) in [("clone", clone), ("cook", cook)] {
        let mut policy = policy.expect("it plays kitchens");
        let best = (0..10).map(|seed| play(&mut *world, &mut *policy, seed));
        let best = best.fold(f64::INFINITY, |best, it| if it < best { it } else { best });
        println!("{name}: {best:.2} us a decision");
    }
}

/// Microseconds a decision, in an episode of a seed.
fn play(world: &mut dyn World, policy: &mut dyn Policy, seed: u64) -> f64 {
    world.reset(seed);
    policy.reset(1, seed);
    let noop = world.spec().noop;
    let (mut seen, mut spent, mut acted) = (Vec::new(), 0.0, 0);
    for _ in 0..DECISIONS {
        world.observe(1, &mut seen);
        let before = Instant::now();
        let action = black_box(policy.act(black_box(&seen)));
        spent += before.elapsed().as_secs_f64();
        acted += u32::from(action != noop);
        world.step(&[noop, action]);
    }
    assert!(acted > 0, "a partner that does nothing measures nothing");
    spent * 1e6 / f64::from(DECISIONS)
}
