//! States of worlds and of AI partners, as a page takes them up that comes back, driven by bytes.

use std::cell::RefCell;

use env_core::draw::DrawList;
use env_core::envs;
use env_core::{Action, Policy, Spec, World};

thread_local! {
    /// A world of each environment: to open one takes longer than all that is done with it.
    static WORLDS: RefCell<Vec<Box<dyn World + Send>>> =
        RefCell::new(envs::IDS.iter().map(|id| open(id)).collect());
}

/// Steps from a state that was taken.
const STEPS: usize = 8;

/// The state of a world, by the number of its environment, or after those of an AI partner, is refused and nothing
/// changes; or it is taken, told again, and plays on. The first byte chooses.
pub fn state(bytes: &[u8]) {
    take(bytes);
}

/// True if the state was taken.
pub(crate) fn take(bytes: &[u8]) -> bool {
    let Some((&whose, bytes)) = bytes.split_first() else {
        return false;
    };
    let whose = usize::from(whose) % (envs::IDS.len() + policy::NAMES.len());
    WORLDS.with_borrow_mut(|worlds| match worlds.get_mut(whose) {
        Some(world) => take_world(&mut **world, bytes),
        None => {
            let world = &mut *worlds[0];
            let mut partner = call(policy::NAMES[whose - envs::IDS.len()], world.spec());
            take_partner(&mut *partner, world, bytes)
        }
    })
}

/// A world of its first state.
pub(crate) fn open(id: &str) -> Box<dyn World + Send> {
    envs::open(id, "").expect("every environment has defaults")
}

/// An AI partner of its first state, for the first environment.
pub(crate) fn call(name: &str, spec: &Spec) -> Box<dyn Policy> {
    let mut partner = policy::by_name(name, spec).expect("every AI partner plays there");
    partner.reset(1, 1);
    partner
}

fn take_world(world: &mut dyn World, bytes: &[u8]) -> bool {
    world.reset(0);
    let before = world.digest();
    if world.restore(bytes).is_err() {
        assert_eq!(world.digest(), before, "a refused state changed the world");
        return false;
    }
    let (mut told, digest) = (Vec::new(), world.digest());
    world.state(&mut told);
    assert!(world.restore(&told).is_ok() && world.digest() == digest);
    let spec = world.spec().clone();
    let (mut seen, mut words, mut picture) = (Vec::new(), String::new(), DrawList::default());
    for step in 0..STEPS {
        for seat in 0..usize::from(spec.seats) {
            world.observe(seat, &mut seen);
            world.describe(seat, &mut words);
            world.mask(seat);
        }
        world.draw(Some(0), &mut picture);
        world.score();
        let action = |seat| ((step + seat) % spec.actions.len()) as Action;
        let actions: Vec<Action> = (0..usize::from(spec.seats)).map(action).collect();
        if world.step(&actions).over {
            break;
        }
    }
    true
}

fn take_partner(partner: &mut dyn Policy, world: &mut dyn World, bytes: &[u8]) -> bool {
    let before = partner.digest();
    if partner.restore(bytes).is_err() {
        assert_eq!(
            partner.digest(),
            before,
            "a refused state changed the partner"
        );
        return false;
    }
    let (mut told, digest) = (Vec::new(), partner.digest());
    partner.state(&mut told);
    assert!(partner.restore(&told).is_ok() && partner.digest() == digest);
    world.reset(0);
    let (mut seen, actions) = (Vec::new(), world.spec().actions.len());
    for _ in 0..STEPS {
        world.observe(1, &mut seen);
        let action = partner.act(&seen);
        assert!(usize::from(action) < actions);
        world.step(&[0, action]);
    }
    true
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_seeds_are_taken_but_for_the_damaged() {
        for (name, bytes) in crate::seeds("state") {
            assert_eq!(super::take(&bytes), name != "short", "{name}");
        }
    }
}
