//! The laws that every environment keeps, as a check that anyone can run on theirs:
//! `conformance::check::<MyEnvironment>([Params::default()])`.
//!
//! It plays seeded random episodes; the same build gives the same verdict every time.

pub mod sane;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use crate::contract::{Action, Environment, MAX_SEATS, Outcome, Spec, World};
use crate::digest::{Fnv1a, digest};
use crate::draw::{DrawList, Shape};
use crate::envs::build;
use crate::instance::Instance;
use crate::rng::Rng;

/// Seeds of the episodes that are played for each set of parameters.
const SEEDS: [u64; 4] = [0, 1, 0x5eed, u64::MAX];
/// Steps that are played past the end.
const PAST_THE_END: u32 = 5;
/// Longest episode that is played, steps; a longer horizon is not reached.
const LONGEST: u32 = 5_000;

/// A law that an environment breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law}: {detail}")]
pub struct Violation {
    /// The law, as a sentence.
    pub law: &'static str,
    /// Where and how it is broken.
    pub detail: String,
}

type Verdict = Result<(), Violation>;

fn law(holds: bool, law: &'static str, detail: impl FnOnce() -> String) -> Verdict {
    if holds {
        Ok(())
    } else {
        Err(Violation {
            law,
            detail: detail(),
        })
    }
}

/// Checks an environment with each of these parameters.
///
/// # Errors
/// The first [`Violation`].
///
/// # Panics
/// Where the environment itself does, which is a violation too.
pub fn check<E: Environment>(variants: impl IntoIterator<Item = E::Params>) -> Verdict {
    statics::<E>()?;
    E::new(E::Params::default()).map(drop).or_else(|error| {
        law(false, "the default parameters are accepted", || {
            error.to_string()
        })
    })?;
    for params in variants {
        let place = format!("with {params:?}");
        let text = serde_json::to_string(&params).map_err(|error| Violation {
            law: "parameters are written as JSON",
            detail: format!("{place}: {error}"),
        })?;
        let open = || {
            build::<E>(text.as_bytes()).map_err(|error| Violation {
                law: "parameters survive JSON and are accepted",
                detail: format!("{place}: {error}"),
            })
        };
        let spec = open()?.spec();
        law(
            E::new(params.clone()).is_ok_and(|env| env.spec() == spec),
            "parameters survive JSON",
            || place.clone(),
        )?;
        sane_spec::<E>(&spec)?;
        for seed in SEEDS {
            let place = format!("{place}, seed {seed}");
            Play {
                first: Instance::new(open()?),
                second: Instance::new(open()?),
                spec: &spec,
                place,
            }
            .run(seed)?;
        }
    }
    Ok(())
}

fn statics<E: Environment>() -> Verdict {
    let schema = serde_json::from_str::<serde_json::Value>(E::params_schema());
    law(
        schema.is_ok_and(|schema| schema.is_object()),
        "the schema of the parameters is a JSON object",
        String::new,
    )?;
    let mut names = BTreeSet::new();
    for sprite in E::sprites() {
        law(
            names.insert(sprite.name),
            "sprites have different names",
            || sprite.name.into(),
        )?;
        law(
            sprite.svg.contains("viewBox"),
            "a sprite has a viewBox",
            || sprite.name.into(),
        )?;
    }
    Ok(())
}

fn sane_spec<E: Environment>(spec: &Spec) -> Verdict {
    let known = spec.id == E::ID && spec.version == E::VERSION && !spec.title.is_empty();
    law(
        known,
        "the spec says the id and the version of the environment, and a title",
        || spec.id.clone(),
    )?;
    let seats = usize::from(spec.seats);
    law(
        (1..=MAX_SEATS).contains(&seats),
        "there are 1 to 16 seats",
        || seats.to_string(),
    )?;
    law(
        usize::from(spec.noop) < spec.actions.len(),
        "the no-op is an action",
        || spec.noop.to_string(),
    )?;
    law(spec.horizon > 0, "the horizon is at least 1", String::new)?;
    law(
        spec.observation_len() > 0,
        "there is something to observe",
        String::new,
    )?;
    let (mut names, mut keys) = (BTreeSet::new(), BTreeSet::new());
    for action in &spec.actions {
        law(
            names.insert(&action.name),
            "actions have different names",
            || action.name.clone(),
        )?;
        for key in &action.keys {
            law(keys.insert(key), "a key has one action", || key.clone())?;
        }
    }
    let mut names = BTreeSet::new();
    for name in spec
        .observation
        .iter()
        .map(|field| &field.name)
        .chain(&spec.events)
    {
        law(
            names.insert(name),
            "observation fields and events have different names",
            || name.clone(),
        )?;
    }
    Ok(())
}

/// One random episode, played twice side by side.
struct Play<'a, E: Environment> {
    first: Instance<E>,
    second: Instance<E>,
    spec: &'a Spec,
    place: String,
}

impl<E: Environment> Play<'_, E> {
    fn run(&mut self, seed: u64) -> Verdict {
        let mut rng = Rng::new(seed ^ 0xc0f0);
        self.first.reset(seed);
        self.second.reset(seed);
        self.alike("the same seed gives the same first state")?;
        let place = self.place.clone();
        let last = self.spec.horizon.min(LONGEST);
        let (mut ended, mut past) = (None, 0);
        for step in 0..last + PAST_THE_END {
            self.place = format!("{place}, step {step}");
            if rng.below(16) == 0 || step == 0 {
                self.look(&mut rng)?;
                self.go_back(&mut rng)?;
                self.carry_over()?;
                self.damage(&mut rng)?;
                self.act_out_of_range(&mut rng)?;
            }
            let outcome = self.step_both(&mut rng)?;
            sane_outcome(&outcome, self.spec, &self.place)?;
            self.after_the_end(&outcome, &mut ended)?;
            past += u32::from(ended.is_some());
            if past > PAST_THE_END {
                break;
            }
        }
        let open_end = ended.is_some() || self.spec.horizon > LONGEST;
        law(open_end, "an episode is over at its horizon", || {
            self.place.clone()
        })
    }

    fn alike(&mut self, sentence: &'static str) -> Verdict {
        let same = self.first.current() == self.second.current()
            && self.first.digest() == self.second.digest();
        law(same, sentence, || self.place.clone())
    }

    fn actions(&self, rng: &mut Rng) -> Vec<Action> {
        let count = self.spec.actions.len() as u32;
        (0..self.spec.seats)
            .map(|_| rng.below(count) as Action)
            .collect()
    }

    fn step_both(&mut self, rng: &mut Rng) -> Result<Outcome, Violation> {
        let actions = self.actions(rng);
        let before = self.first.current().clone();
        let outcome = self.first.step(&actions).clone();
        let same = outcome == *self.second.step(&actions);
        law(same, "the same step gives the same outcome", || {
            self.place.clone()
        })?;
        self.alike("the same step gives the same state")?;
        let told_apart = before == *self.first.current() || digest(&before) != self.first.digest();
        law(
            told_apart,
            "different states have different digests",
            || self.place.clone(),
        )?;
        law(
            self.first.env().valid(self.first.current()),
            "a state that is reached is valid",
            || self.place.clone(),
        )?;
        Ok(outcome)
    }

    fn after_the_end(&mut self, outcome: &Outcome, ended: &mut Option<i64>) -> Verdict {
        let score = self.first.score();
        if let Some(final_score) = *ended {
            let nothing = outcome.rewards.iter().all(|&reward| reward == 0.0);
            law(outcome.over, "an episode that is over stays over", || {
                self.place.clone()
            })?;
            law(
                nothing && score == final_score,
                "after the end nothing is earned",
                || self.place.clone(),
            )?;
        } else if outcome.over {
            *ended = Some(score);
        }
        Ok(())
    }

    /// Every way of looking gives whole values and changes nothing.
    fn look(&mut self, rng: &mut Rng) -> Verdict {
        let (env, state) = (self.first.env(), self.first.current());
        let mut text = String::new();
        for seat in 0..usize::from(self.spec.seats) {
            let mut values = vec![f32::NAN; self.spec.observation_len()];
            env.observe(state, seat, &mut values);
            let hole = values.iter().position(|value| !value.is_finite());
            let detail = || format!("{}, seat {seat}, value {hole:?}", self.place);
            law(
                hole.is_none(),
                "every value of an observation is written and finite",
                detail,
            )?;
            let mut again = vec![rng.below(1000) as f32; values.len()];
            env.observe(state, seat, &mut again);
            law(
                values == again,
                "an observation depends on the state alone",
                || self.place.clone(),
            )?;
            text.clear();
            env.describe(state, seat, &mut text);
            law(
                !text.trim().is_empty(),
                "every seat is told the state in words",
                || self.place.clone(),
            )?;
        }
        let mut picture = DrawList::default();
        env.draw(state, &mut picture);
        sane_picture(&picture, E::sprites().len(), &self.place)
    }

    /// Saves, goes on, loads, and goes the same way again.
    fn go_back(&mut self, rng: &mut Rng) -> Verdict {
        let slot = rng.below(64) as usize;
        self.first.save(slot);
        let rows: Vec<_> = (0..=rng.below(10)).map(|_| self.actions(rng)).collect();
        let run = |world: &mut Instance<E>| -> Vec<(Outcome, u64)> {
            rows.iter()
                .map(|row| (world.step(row).clone(), world.digest()))
                .collect()
        };
        let there = run(&mut self.first);
        self.first.load(slot);
        let again = run(&mut self.first);
        law(
            there == again,
            "a loaded state goes the same way again",
            || self.place.clone(),
        )?;
        self.first.load(slot);
        self.alike("a loaded state is the saved state")
    }

    /// Takes the state to a fresh instance through its bytes.
    fn carry_over(&mut self) -> Verdict {
        let mut bytes = Vec::new();
        self.first.state(&mut bytes);
        let hashed = Fnv1a::EMPTY.with(&bytes).value() == self.first.digest();
        law(
            hashed,
            "the digest is the hash of the canonical bytes",
            || self.place.clone(),
        )?;
        self.second.reset(!0x0dd);
        law(
            self.second.restore(&bytes).is_ok(),
            "a state is restored from its bytes",
            || self.place.clone(),
        )?;
        self.alike("a restored state is the state")
    }

    /// Bytes that are no state are refused, or are a state that does no harm; never a panic.
    fn damage(&mut self, rng: &mut Rng) -> Verdict {
        let (mut bytes, mut values, mut text) = (Vec::new(), Vec::new(), String::new());
        self.second.save(0);
        self.second.state(&mut bytes);
        let cut = &bytes[..rng.below(bytes.len() as u32) as usize];
        let refused = self.second.restore(cut).is_err();
        law(refused, "bytes that end early are refused", || {
            format!("{}, {} bytes", self.place, cut.len())
        })?;
        self.alike("refused bytes leave the state as it was")?;
        for _ in 0..8 {
            let at = rng.below(bytes.len() as u32) as usize;
            let kept = core::mem::replace(&mut bytes[at], rng.bits() as u8);
            if self.second.restore(&bytes).is_ok() {
                self.second.step(&self.actions(rng));
                self.second.observe(0, &mut values);
                self.second.describe(0, &mut text);
                self.second.draw(&mut DrawList::default());
                let whole = values.iter().all(|value| value.is_finite());
                law(
                    whole,
                    "a state that is accepted is observed in finite values",
                    || self.place.clone(),
                )?;
            }
            bytes[at] = kept;
        }
        self.second.load(0);
        self.alike("a loaded state is the saved state")
    }

    fn act_out_of_range(&mut self, rng: &mut Rng) -> Verdict {
        let noops = vec![self.spec.noop; usize::from(self.spec.seats)];
        let wild: Vec<_> = noops
            .iter()
            .map(|_| self.spec.actions.len() as Action + rng.below(1000) as Action)
            .collect();
        for actions in [&wild[..], &[Action::MAX; MAX_SEATS], &[]] {
            self.first.save(0);
            let outcome = self.first.step(&noops).clone();
            let state = self.first.current().clone();
            self.first.load(0);
            let same = outcome == *self.first.step(actions) && state == *self.first.current();
            self.first.load(0);
            law(
                same,
                "an action that is out of range or missing is the no-op",
                || self.place.clone(),
            )?;
        }
        Ok(())
    }
}

fn sane_outcome(outcome: &Outcome, spec: &Spec, place: &str) -> Verdict {
    let seats = usize::from(spec.seats);
    let place = || place.into();
    law(
        outcome.rewards.iter().all(|reward| reward.is_finite()),
        "rewards are finite",
        place,
    )?;
    let empty = outcome.rewards[seats..].iter().all(|&reward| reward == 0.0);
    let bits = u32::from(outcome.terminated | outcome.truncated) >> seats == 0;
    law(
        empty && bits,
        "an outcome speaks of existing seats only",
        place,
    )?;
    for event in &outcome.events {
        let known = usize::from(event.kind) < spec.events.len()
            && event.seat < spec.seats
            && event.value.is_finite();
        law(
            known,
            "an event has a kind, a seat and a finite value",
            || format!("{event:?}, {}", place()),
        )?;
    }
    Ok(())
}

fn sane_picture(picture: &DrawList, sprites: usize, place: &str) -> Verdict {
    let size = [picture.width, picture.height]
        .iter()
        .all(|side| side.is_finite() && *side > 0.0);
    law(size, "a picture has a size", || place.into())?;
    let mut ids = BTreeSet::new();
    for item in &picture.items {
        let detail = || format!("{item:?}, {place}");
        let whole = [item.x, item.y, item.w, item.h]
            .iter()
            .all(|value| value.is_finite());
        law(
            whole && item.w >= 0.0 && item.h >= 0.0,
            "an item has a place and a size",
            detail,
        )?;
        law(
            item.id == 0 || ids.insert(item.id),
            "items have different ids",
            detail,
        )?;
        let shape = match item.shape {
            Shape::Sprite(index) => usize::from(index) < sprites,
            Shape::Progress { part, .. } => (0.0..=1.0).contains(&part),
            _ => true,
        };
        law(
            shape,
            "an item shows an existing sprite, or a part of 0 to 1",
            detail,
        )?;
    }
    Ok(())
}
