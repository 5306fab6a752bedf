//! Policies whose actions come late, or are at times random.

use env_core::{Action, Policy, Spec, envs};
use policy::Partners;

fn spec() -> Spec {
    let world =
        envs::open("overcooked", r#"{"layout": "cramped_room"}"#).expect("known parameters");
    world.spec().clone()
}

fn open(name: &str, spec: &Spec) -> Box<dyn Policy> {
    let mut policy = Partners::default()
        .open(name, spec)
        .expect("a known policy");
    policy.reset(1, 9);
    policy
}

fn acts(policy: &mut dyn Policy, ticks: usize) -> Vec<Action> {
    (0..ticks).map(|_| policy.act(&[])).collect()
}

#[test]
fn actions_come_late_by_the_ticks_in_the_name() {
    let spec = spec();
    let on_time = acts(&mut *open("random", &spec), 40);
    let late = acts(&mut *open("random~d3n0", &spec), 40);
    assert_eq!(late[..3], [spec.noop; 3]);
    assert_eq!(late[3..], on_time[..37]);
}

#[test]
fn noise_replaces_as_many_actions_as_the_name_says() {
    let spec = spec();
    let still = acts(&mut *open("idle~d0n0", &spec), 1_000);
    assert!(still.iter().all(|action| *action == spec.noop));
    let noisy = acts(&mut *open("idle~d0n300", &spec), 10_000);
    let moved = noisy.iter().filter(|action| **action != spec.noop).count();
    // One in six of 3,000 random actions is again the no-op.
    let expected = 3_000 - 3_000 / spec.actions.len();
    assert!(moved.abs_diff(expected) < 200, "{moved} {expected}");
}

#[test]
fn imperfections_are_saved_loaded_and_restored_with_the_policy() {
    let spec = spec();
    let mut policy = open("random~d2n400", &spec);
    acts(&mut *policy, 17);
    policy.save(0);
    let mut bytes = Vec::new();
    policy.state(&mut bytes);
    let digest = policy.digest();
    let first = acts(&mut *policy, 30);
    assert_ne!(policy.digest(), digest);
    policy.load(0);
    assert_eq!(
        (policy.digest(), acts(&mut *policy, 30)),
        (digest, first.clone())
    );
    let mut other = open("random~d2n400", &spec);
    other.restore(&bytes).unwrap();
    assert_eq!((other.digest(), acts(&mut *other, 30)), (digest, first));
    let before = other.digest();
    for wrong in [&bytes[..bytes.len() - 1], &[], &[9; 40]] {
        assert!(other.restore(wrong).is_err());
        assert_eq!(other.digest(), before);
    }
    // One more action is on its way than this policy has.
    assert!(open("random~d1n400", &spec).restore(&bytes).is_err());
}
