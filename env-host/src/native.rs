//! A world of this program, behind the contract of hosts: for worlds with secrets, which no page may step.

use env_core::contract::{Action, StepOutcome, World};
use env_core::guest::Sprite;
use protocol::hash::sha256;

use crate::contract::{HostFacts, HostFault, HostStep, HostedWorld, Picture};

/// A native world or an environment module that the server steps.
pub struct NativeHost<W> {
    world: W,
    facts: HostFacts,
    step: HostStep,
    actions: Vec<Action>,
    observation: Vec<f32>,
}

impl<W: World + Send> NativeHost<W> {
    /// A host of a world, with the pictures that its draw lists name.
    pub fn new(world: W, sprites: Vec<Sprite>) -> Self {
        let spec = world.spec().clone();
        let packages = [(spec.id.clone(), spec.version.clone())].into();
        Self {
            facts: HostFacts {
                spec,
                sprites,
                packages,
                ..HostFacts::default()
            },
            world,
            step: HostStep::default(),
            actions: Vec::new(),
            observation: Vec::new(),
        }
    }

    fn finish(&mut self) -> Result<&HostStep, HostFault> {
        if let Some(traceback) = self.world.fault() {
            return Err(HostFault::Threw { traceback });
        }
        let step = &mut self.step;
        step.score = self.world.score();
        step.acting = self.world.acting();
        for seat in 0..usize::from(self.facts.spec.seats) {
            step.seat_scores[seat] = self.world.seat_score(seat);
            step.masks[seat] = self.world.mask(seat);
            self.world.observe(seat, &mut self.observation);
            step.observed[seat] = hash_observation(&self.observation);
        }
        Ok(step)
    }

    fn check(&self) -> Result<(), HostFault> {
        let fault = self.world.fault();
        fault.map_or(Ok(()), |traceback| Err(HostFault::Threw { traceback }))
    }
}

/// The hash of an observation: the first eight bytes of the SHA-256 of its values, little-endian.
pub fn hash_observation(observation: &[f32]) -> u64 {
    let bytes: Vec<u8> = observation
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let hash = sha256(&bytes);
    let first = hash.first_chunk().expect("a SHA-256 has 32 bytes");
    u64::from_le_bytes(*first)
}

impl<W: World + Send> HostedWorld for NativeHost<W> {
    fn facts(&self) -> &HostFacts {
        &self.facts
    }

    fn reset(&mut self, seed: u64) -> Result<&HostStep, HostFault> {
        self.world.reset(seed);
        self.step.outcome.clear();
        self.finish()
    }

    fn step(&mut self, actions: &[Action]) -> Result<&HostStep, HostFault> {
        let spec = &self.facts.spec;
        self.actions.clear();
        self.actions
            .extend((0..usize::from(spec.seats)).map(|seat| {
                let action = actions.get(seat).copied().unwrap_or(spec.noop);
                match spec.has_action(seat, action) {
                    true => action,
                    false => spec.noop,
                }
            }));
        let StepOutcome {
            rewards,
            terminated,
            truncated,
            over,
            events,
            components,
        } = self.world.step(&self.actions);
        let outcome = &mut self.step.outcome;
        outcome.clear();
        outcome.rewards = *rewards;
        (outcome.terminated, outcome.truncated) = (*terminated, *truncated);
        outcome.over = *over;
        outcome.events.extend_from_slice(events);
        outcome.components.extend_from_slice(components);
        self.finish()
    }

    fn picture(&mut self, seat: usize, out: &mut Picture) -> Result<(), HostFault> {
        self.world.draw(Some(seat), out.as_list());
        self.check()
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) -> Result<(), HostFault> {
        self.world.observe(seat, out);
        self.check()
    }

    fn describe(&mut self, seat: usize, out: &mut String) -> Result<(), HostFault> {
        out.clear();
        self.world.describe(seat, out);
        self.check()
    }

    fn point(&mut self, seat: usize, at: [f32; 2]) -> Result<Option<Action>, HostFault> {
        let action = self.world.point(seat, at);
        self.check().map(|()| action)
    }
}

#[cfg(test)]
mod tests {
    use env_core::envs;

    use super::*;

    #[test]
    fn a_native_host_plays_as_the_world_itself() {
        let params = r#"{"horizon":40}"#;
        let mut world = envs::open("overcooked", params).unwrap();
        let mut host = NativeHost::new(envs::open("overcooked", params).unwrap(), Vec::new());
        assert_eq!(host.spec(), world.spec());
        world.reset(7);
        let first = host.reset(7).unwrap().clone();
        let mut observation = Vec::new();
        world.observe(0, &mut observation);
        assert_eq!(first.observed[0], hash_observation(&observation));
        let mut last = first;
        for tick in 0..40_u16 {
            let actions = [tick % 6, (tick + 3) % 6];
            let outcome = world.step(&actions).clone();
            let step = host.step(&actions).unwrap();
            assert_eq!(step.outcome, outcome);
            assert_eq!(step.score, world.score());
            last = step.clone();
        }
        assert!(last.outcome.over);
        let (mut picture, mut list) = (Picture::None, env_core::draw::DrawList::default());
        host.picture(1, &mut picture).unwrap();
        world.draw(Some(1), &mut list);
        assert_eq!(picture, Picture::List(list));
    }

    #[test]
    fn an_action_that_a_seat_lacks_is_the_noop() {
        let open = || NativeHost::new(envs::open("overcooked", "").unwrap(), Vec::new());
        let (mut one, mut two) = (open(), open());
        let noop = one.spec().noop;
        one.reset(3).unwrap();
        two.reset(3).unwrap();
        assert_eq!(one.step(&[999]).unwrap(), two.step(&[noop, noop]).unwrap());
    }
}
