//! Seats that a person shares with AI partners: the world gets more actions, and each of them stands for a partner's
//! choice in the state before the step.
//!
//! So the input of a person says in every tick who decides: an action of the environment is the person's own, and a mark
//! such as [`HAND_OVER`] is the choice of a partner, which every page and the server's replica compute alike.
//! The partners observe every state, including those in which they do not decide, so that a partner with a memory knows
//! what happened; their states are saved, loaded and digested with the world.
//!
//! This module must not know the keys of the marks, or when a person wants them.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::contract::{ActionSpec, StateError};
use crate::digest::Fnv1a;
use crate::draw::DrawList;
use crate::{Action, Policy, Spec, StepOutcome, World, choose_action};

/// The first letter of the names of marks, which no action of an environment has.
pub const MARK: char = '@';

/// The mark of a single partner: it plays the seat in this tick.
pub const HAND_OVER: &str = "@hand_over";

/// Keeps the random numbers of several partners of one seat apart.
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

/// The partners of one seat, each with its choice in the present state.
struct SharedSeat {
    seat: usize,
    partners: Vec<(Box<dyn Policy>, Action)>,
}

/// A world in which people share seats with AI partners.
pub struct SharedWorld<W> {
    world: W,
    spec: Spec,
    /// The number of the world's own actions.
    own: usize,
    seats: Vec<SharedSeat>,
    played: Vec<Action>,
    proposed: Vec<Action>,
    kept: Vec<Vec<Action>>,
    outcome: StepOutcome,
    observation: Vec<f32>,
    bytes: Vec<u8>,
}

/// Returns whether an action of a specification is a mark.
pub fn is_mark(spec: &Spec, action: Action) -> bool {
    let of = spec.actions.get(usize::from(action));
    of.is_some_and(|of| of.name.starts_with(MARK))
}

/// Counts the environment's own actions, without marks, which are the last ones.
pub fn count_own_actions(spec: &Spec) -> usize {
    let marks = spec.actions.iter().rev();
    let marks = marks.take_while(|of| of.name.starts_with(MARK)).count();
    spec.actions.len() - marks
}

/// The specification of the environment itself, without marks.
pub fn without_marks(spec: &Spec) -> Spec {
    let own = count_own_actions(spec);
    let mut spec = spec.clone();
    spec.actions.truncate(own);
    for actions in &mut spec.seat_actions {
        actions.retain(|action| usize::from(*action) < own);
    }
    spec
}

/// The marks that people have beside the actions of the environment, with their keys: one for a single partner, or one
/// for each of several that propose.
pub fn make_marks(keys: &[String]) -> Vec<ActionSpec> {
    let mark = |(at, key): (usize, &String)| ActionSpec {
        name: match keys.len() {
            1 => HAND_OVER.into(),
            _ => format!("{MARK}proposal_{}", at + 1),
        },
        keys: [key.clone()].into(),
        ..ActionSpec::default()
    };
    keys.iter().enumerate().map(mark).collect()
}

impl<W: World> SharedWorld<W> {
    /// A world before its first state. `seats` has the seats that are shared, each with one partner for every key;
    /// the keys belong to the marks alone.
    pub fn new(world: W, keys: &[String], seats: Vec<(usize, Vec<Box<dyn Policy>>)>) -> Self {
        let mut spec = world.spec().clone();
        let own = spec.actions.len();
        for of in &mut spec.actions {
            of.keys.retain(|key| !keys.contains(key));
        }
        spec.actions.extend(make_marks(keys));
        let marks = own..spec.actions.len();
        for (seat, _) in &seats {
            if let Some(actions) = spec.seat_actions.get_mut(*seat) {
                actions.extend(marks.clone().map(|action| action as Action));
            }
        }
        let noop = spec.noop;
        let shared = |(seat, partners): (usize, Vec<Box<dyn Policy>>)| SharedSeat {
            seat,
            partners: partners.into_iter().map(|one| (one, noop)).collect(),
        };
        Self {
            world,
            spec,
            own,
            seats: seats.into_iter().map(shared).collect(),
            played: Vec::new(),
            proposed: Vec::new(),
            kept: Vec::new(),
            outcome: StepOutcome::default(),
            observation: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Asks every partner for its choice in the present state: once per state, because choosing changes the policy's
    /// own state.
    fn ask_partners(&mut self) {
        for shared in &mut self.seats {
            for (policy, chosen) in &mut shared.partners {
                let world = &mut self.world;
                *chosen = choose_action(world, &mut **policy, shared.seat, &mut self.observation);
            }
        }
    }

    /// Replaces the marks by the choices of the partners.
    fn resolve(&mut self, actions: &[Action]) {
        self.played.clear();
        self.played.extend_from_slice(actions);
        for (seat, action) in self.played.iter_mut().enumerate() {
            let Some(mark) = usize::from(*action).checked_sub(self.own) else {
                continue;
            };
            let shared = self.seats.iter().find(|shared| shared.seat == seat);
            let partner = shared.and_then(|shared| shared.partners.get(mark));
            *action = partner.map_or(self.spec.noop, |(_, chosen)| *chosen);
        }
    }

    fn partners(&mut self) -> impl Iterator<Item = &mut (Box<dyn Policy>, Action)> {
        self.seats
            .iter_mut()
            .flat_map(|shared| shared.partners.iter_mut())
    }

    /// Reads what [`World::state`] has written, into partners and world; they may be changed after an error.
    fn read(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let mut rest = bytes;
        let world = take_part(&mut rest)?;
        self.world.restore(world)?;
        let own = self.own;
        for (policy, chosen) in self.partners() {
            policy.restore(take_part(&mut rest)?)?;
            let (action, left) = rest.split_first_chunk().ok_or(StateError)?;
            (*chosen, rest) = (Action::from_le_bytes(*action), left);
            if usize::from(*chosen) >= own {
                return Err(StateError);
            }
        }
        rest.is_empty().then_some(()).ok_or(StateError)
    }
}

/// Finds the bytes of the world's own state within those of a world with shared seats; `None` if they are not such
/// bytes.
pub fn find_world_state(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes;
    take_part(&mut rest).ok()
}

fn add_part(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&(part.len() as u32).to_le_bytes());
    out.extend_from_slice(part);
}

fn take_part<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], StateError> {
    let (len, left) = rest.split_first_chunk().ok_or(StateError)?;
    let len = usize::try_from(u32::from_le_bytes(*len)).map_err(|_| StateError)?;
    let (part, left) = left.split_at_checked(len).ok_or(StateError)?;
    *rest = left;
    Ok(part)
}

impl<W: World> World for SharedWorld<W> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn reset(&mut self, seed: u64) {
        self.world.reset(seed);
        for shared in &mut self.seats {
            for (at, (policy, _)) in (0_u64..).zip(&mut shared.partners) {
                policy.reset(shared.seat, seed.wrapping_add(APART.wrapping_mul(at)));
            }
        }
        self.played.clear();
        self.ask_partners();
    }

    fn step(&mut self, actions: &[Action]) -> &StepOutcome {
        self.resolve(actions);
        let outcome = self.world.step(&self.played);
        self.outcome.clone_from(outcome);
        if !self.outcome.over {
            self.ask_partners();
        }
        &self.outcome
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        self.world.observe(seat, out);
    }

    fn mask(&mut self, seat: usize) -> u64 {
        let is_shared = self.seats.iter().any(|shared| shared.seat == seat);
        let own = self.own.min(64) as u32;
        let marks = u64::MAX.checked_shl(own).unwrap_or(0);
        let mask = self.world.mask(seat);
        if is_shared { mask | marks } else { mask }
    }

    fn save(&mut self, slot: usize) {
        self.world.save(slot);
        if self.kept.len() <= slot {
            self.kept.resize_with(slot + 1, Vec::new);
        }
        let mut kept = core::mem::take(&mut self.kept[slot]);
        kept.clear();
        for (policy, chosen) in self.partners() {
            policy.save(slot);
            kept.push(*chosen);
        }
        self.kept[slot] = kept;
    }

    fn load(&mut self, slot: usize) {
        self.world.load(slot);
        let Some(kept) = self.kept.get_mut(slot) else {
            return;
        };
        let kept = core::mem::take(kept);
        for ((policy, chosen), before) in self.partners().zip(&kept) {
            policy.load(slot);
            *chosen = *before;
        }
        self.kept[slot] = kept;
    }

    fn digest(&mut self) -> u64 {
        let mut digest = Fnv1a::EMPTY.with(&self.world.digest().to_le_bytes());
        for (policy, chosen) in self.partners() {
            digest = digest.with(&policy.digest().to_le_bytes());
            digest = digest.with(&chosen.to_le_bytes());
        }
        digest.value()
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        out.clear();
        let mut bytes = core::mem::take(&mut self.bytes);
        self.world.state(&mut bytes);
        add_part(out, &bytes);
        for (policy, chosen) in self.partners() {
            policy.state(&mut bytes);
            add_part(out, &bytes);
            out.extend_from_slice(&chosen.to_le_bytes());
        }
        self.bytes = bytes;
    }

    fn is_canonical(&self) -> bool {
        self.world.is_canonical()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let mut before = Vec::new();
        self.state(&mut before);
        let restored = self.read(bytes);
        if restored.is_err() {
            // The bytes were written just now, so they are a state.
            let _ = self.read(&before);
        }
        restored
    }

    fn acting(&mut self) -> u16 {
        self.world.acting()
    }

    fn score(&mut self) -> i64 {
        self.world.score()
    }

    fn seat_score(&mut self, seat: usize) -> i64 {
        self.world.seat_score(seat)
    }

    fn draw(&mut self, seat: Option<usize>, out: &mut DrawList) {
        self.world.draw(seat, out);
    }

    fn point(&mut self, seat: usize, at: [f32; 2]) -> Option<Action> {
        self.world.point(seat, at)
    }

    fn describe(&mut self, seat: usize, out: &mut String) {
        self.world.describe(seat, out);
    }

    fn choose(&mut self, seat: usize) -> Option<Action> {
        self.world.choose(seat)
    }

    fn played(&self) -> Option<&[Action]> {
        Some(&self.played)
    }

    fn proposals(&mut self, seat: usize) -> &[Action] {
        self.proposed.clear();
        let shared = self.seats.iter().find(|shared| shared.seat == seat);
        let partners = shared.map_or(&[][..], |shared| &shared.partners);
        self.proposed
            .extend(partners.iter().map(|(_, chosen)| *chosen));
        &self.proposed
    }

    fn infos(&self) -> Option<String> {
        self.world.infos()
    }

    fn inject(&mut self, draws: &[u32]) {
        self.world.inject(draws);
    }

    fn fault(&self) -> Option<String> {
        self.world.fault()
    }
}
