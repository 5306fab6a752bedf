//! Imperfections of a policy: its actions come late, or are at times random.
//!
//! They are part of the name under which a policy plays, so that pages and replicas need nothing else to repeat them:
//! `cook~d3n50` does what `cook` chose three ticks ago, and in 50 of 1,000 ticks a random action.

use env_core::contract::StateError;
use env_core::{Action, Policy, Spec};
use serde::{Deserialize, Serialize};

use crate::state::{Digest, Slots, SplitMix, read, write};

/// Keeps the random numbers apart from those of the policy itself, which has the same seat and seed.
const OWN_STREAM: u64 = u64::from_le_bytes(*b"imperfec");

/// The imperfections of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imperfection {
    /// Ticks from an observation to the action that was chosen for it, beyond those of a perfect policy.
    pub delay_ticks: u8,
    /// Ticks in 1,000 in which a random action replaces the chosen one.
    pub noise_permille: u16,
}

impl Imperfection {
    /// Splits a name into that of the perfect policy and the imperfections.
    pub fn split(name: &str) -> (String, Self) {
        let perfect = || (name.to_owned(), Self::default());
        let (front, hash) = match crate::sha256_of(name) {
            Some(hash) => (&name[..name.len() - hash.len() - 1], Some(hash)),
            None => (name, None),
        };
        let Some((base, own)) = front.rsplit_once('~') else {
            return perfect();
        };
        let Some(found) = Self::parse(own) else {
            return perfect();
        };
        let base = hash.map_or_else(|| base.to_owned(), |hash| crate::policy_name(base, hash));
        (base, found)
    }

    /// The name of a policy with these imperfections, which [`Self::split`] takes apart; the perfect ones leave it.
    pub fn join(self, base: &str) -> String {
        let (front, hash) = match crate::sha256_of(base) {
            Some(hash) => (&base[..base.len() - hash.len() - 1], Some(hash)),
            None => (base, None),
        };
        if self == Self::default() {
            return base.to_owned();
        }
        let front = format!("{front}~d{}n{}", self.delay_ticks, self.noise_permille);
        hash.map_or_else(|| front.clone(), |hash| crate::policy_name(&front, hash))
    }

    /// Reads `d3n50`.
    fn parse(text: &str) -> Option<Self> {
        let (delay, noise) = text.strip_prefix('d')?.split_once('n')?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let found = Self {
            delay_ticks: delay.parse().ok()?,
            noise_permille: noise.parse().ok().filter(|noise| *noise <= 1_000)?,
        };
        (is_number(delay) && is_number(noise)).then_some(found)
    }
}

/// The state beside that of the policy itself.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Own {
    /// The actions that are still to come, and the index of the next one.
    late: Vec<Action>,
    next: u8,
    rng: SplitMix,
}

impl Clone for Own {
    fn clone(&self) -> Self {
        let late = self.late.clone();
        Self { late, ..*self }
    }

    /// Takes no memory, because it happens in every tick.
    fn clone_from(&mut self, other: &Self) {
        self.late.clone_from(&other.late);
        (self.next, self.rng) = (other.next, other.rng);
    }
}

/// A policy with imperfections.
pub(crate) struct Imperfect {
    policy: Box<dyn Policy>,
    how: Imperfection,
    noop: Action,
    actions: u32,
    own: Own,
    slots: Slots<Own>,
}

impl Imperfect {
    pub(crate) fn new(policy: Box<dyn Policy>, how: Imperfection, spec: &Spec) -> Self {
        let actions = u32::try_from(spec.actions.len()).unwrap_or(u32::from(Action::MAX));
        Self {
            policy,
            how,
            noop: spec.noop,
            actions: actions.clamp(1, 1 << 16),
            own: Own::default(),
            slots: Slots::default(),
        }
    }

    /// The action of this tick, after the policy has chosen one for its observation.
    fn pass(&mut self, chosen: Action) -> Action {
        let own = &mut self.own;
        let action = match own.late.get_mut(usize::from(own.next)) {
            Some(late) => {
                own.next = (own.next + 1) % self.how.delay_ticks.max(1);
                std::mem::replace(late, chosen)
            }
            None => chosen,
        };
        if self.how.noise_permille == 0 {
            return action;
        }
        // Both numbers are drawn in every tick, so that the stream does not depend on what came of them.
        let (is_noise, other) = (own.rng.draw_below(1_000), own.rng.draw_below(self.actions));
        match is_noise < u32::from(self.how.noise_permille) {
            true => Action::try_from(other).unwrap_or(self.noop),
            false => action,
        }
    }
}

impl Policy for Imperfect {
    fn reset(&mut self, seat: usize, seed: u64) {
        self.policy.reset(seat, seed);
        self.own = Own {
            late: vec![self.noop; usize::from(self.how.delay_ticks)],
            next: 0,
            rng: SplitMix::seeded(seat, seed ^ OWN_STREAM),
        };
    }

    fn act(&mut self, observation: &[f32]) -> Action {
        let chosen = self.policy.act(observation);
        self.pass(chosen)
    }

    fn wants_mask(&self) -> bool {
        self.policy.wants_mask()
    }

    fn act_masked(&mut self, observation: &[f32], mask: u64) -> Action {
        let chosen = self.policy.act_masked(observation, mask);
        self.pass(chosen)
    }

    fn save(&mut self, slot: usize) {
        self.policy.save(slot);
        self.slots.save(slot, &self.own);
    }

    fn load(&mut self, slot: usize) {
        self.policy.load(slot);
        self.slots.load(slot, &mut self.own);
    }

    fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        digest.write_word(self.policy.digest());
        digest.write_word(u64::from(self.own.next));
        for action in &self.own.late {
            digest.write_word(u64::from(*action));
        }
        self.own.rng.digest(&mut digest);
        digest.end()
    }

    fn state(&self, out: &mut Vec<u8>) {
        let mut inner = Vec::new();
        self.policy.state(&mut inner);
        write(&(&self.own, inner), out);
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let (own, inner): (Own, Vec<u8>) = read(bytes)?;
        let is_fit = own.late.len() == usize::from(self.how.delay_ticks)
            && own.next < self.how.delay_ticks.max(1)
            && own
                .late
                .iter()
                .all(|action| u32::from(*action) < self.actions);
        if !is_fit {
            return Err(StateError);
        }
        self.policy.restore(&inner)?;
        self.own = own;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imperfections_are_read_from_names() {
        let hash = "5b1f".repeat(16);
        let how = |delay_ticks, noise_permille| Imperfection {
            delay_ticks,
            noise_permille,
        };
        for (name, base, found) in [
            ("cook", "cook", how(0, 0)),
            ("cook~d3n50", "cook", how(3, 50)),
            ("cook~d3n1001", "cook~d3n1001", how(0, 0)),
            ("cook~d+3n5", "cook~d+3n5", how(0, 0)),
            ("cook~d300n5", "cook~d300n5", how(0, 0)),
        ] {
            assert_eq!(
                Imperfection::split(name),
                (base.to_owned(), found),
                "{name}"
            );
        }
        let model = format!("a~b.onnx~d0n7@{hash}");
        let base = format!("a~b.onnx@{hash}");
        assert_eq!(Imperfection::split(&model), (base.clone(), how(0, 7)));
        assert_eq!(Imperfection::split(&base), (base.clone(), how(0, 0)));
        assert_eq!(how(0, 7).join(&base), model);
        assert_eq!(how(0, 0).join(&base), base);
        assert_eq!(how(3, 50).join("cook"), "cook~d3n50");
    }
}
