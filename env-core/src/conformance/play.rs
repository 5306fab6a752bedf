//! One random episode, played by two worlds side by side, with checks of every law on the way.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::subject::{CloserLook, Subject};
use super::{ConformanceReport, LawVerdict, sane};
use crate::abi::SLOTS;
use crate::contract::{Action, MAX_SEATS, Spec, StepOutcome, World};
use crate::digest::Fnv1a;
use crate::draw::DrawList;
use crate::rng::Rng;

/// Steps that are played past the end.
const PAST_THE_END: u32 = 5;
/// Longest episode that is played, steps; a longer horizon is not reached.
const LONGEST: u32 = 5_000;
/// Steps from the start that are played once more after the episode.
const ENCORE: usize = 32;

/// An episode.
pub(super) struct Play<'a, W: ?Sized> {
    /// The world that plays; it may have played before.
    first: &'a mut W,
    /// A fresh one, which follows.
    second: &'a mut W,
    spec: &'a Spec,
    sprites: usize,
    look: CloserLook<W>,
    report: &'a mut ConformanceReport,
    seed: u64,
    step: u32,
    rng: Rng,
    /// The latest observation of each seat.
    seen: Vec<Vec<f32>>,
    /// The first steps: actions, outcome, digest.
    opening: Vec<(Vec<Action>, StepOutcome, u64)>,
    /// The score at the end.
    ended: Option<i64>,
}

impl<'a, W: Subject + ?Sized> Play<'a, W> {
    pub(super) fn new(
        first: &'a mut W,
        second: &'a mut W,
        spec: &'a Spec,
        sprites: usize,
        look: CloserLook<W>,
        report: &'a mut ConformanceReport,
    ) -> Self {
        // Nothing has been seen yet: zeros are no earlier observation.
        let seen = vec![Vec::new(); usize::from(spec.seats)];
        Self {
            first,
            second,
            spec,
            sprites,
            look,
            report,
            seed: 0,
            step: 0,
            rng: Rng::new(0),
            seen,
            opening: Vec::new(),
            ended: None,
        }
    }

    pub(super) fn run(mut self, seed: u64) {
        (self.seed, self.rng) = (seed, Rng::new(seed ^ 0xc0f0));
        self.first.reset(seed);
        self.second.reset(seed);
        self.alike("the same seed gives the same first state, whatever was played before");
        let mut past = 0;
        for step in 0..self.spec.horizon.min(LONGEST) + PAST_THE_END {
            self.step = step;
            if step == 0 || self.rng.below(16) == 0 {
                self.look();
                self.look_at_masks();
                self.look_at_turns();
                self.go_back();
                self.carry_over();
                self.damage();
                self.act_out_of_range();
            }
            self.step_both();
            self.report.steps += 1;
            past += u32::from(self.ended.is_some());
            if !self.stands() || past > PAST_THE_END {
                break;
            }
        }
        if self.stands() {
            let open_end = self.ended.is_some() || self.spec.horizon > LONGEST;
            self.law(open_end, "an episode is over at its horizon", String::new);
            self.fill_the_slots();
            self.play_again();
        }
        self.note_fault();
    }

    /// Checks whether no world has broken down.
    fn stands(&self) -> bool {
        self.first.fault().is_none() && self.second.fault().is_none()
    }

    fn note_fault(&mut self) {
        let fault = self.first.fault().or_else(|| self.second.fault());
        let at = (self.seed, self.step);
        self.report
            .note("no call breaks down or breaks the interface", at, fault);
    }

    fn law(&mut self, holds: bool, law: &'static str, what: impl FnOnce() -> String) {
        // The answers of a failed world mean nothing.
        if holds || self.stands() {
            let at = (self.seed, self.step);
            self.report.note(law, at, (!holds).then(what));
        }
    }

    /// Holds a group of laws, under the sentence that sums them up.
    fn group(&mut self, sum: &'static str, verdict: LawVerdict) {
        let what = verdict.as_ref().err().map(ToString::to_string);
        self.law(verdict.is_ok(), sum, || what.unwrap_or_default());
    }

    fn alike(&mut self, sentence: &'static str) {
        let same = self.first.alike(self.second);
        self.law(same, sentence, || "the two states differ".into());
    }

    fn actions(&mut self) -> Vec<Action> {
        let count = self.spec.actions.len() as u32;
        (0..self.spec.seats)
            .map(|_| self.rng.below(count) as Action)
            .collect()
    }

    fn step_both(&mut self) {
        let actions = self.actions();
        let outcome = self.first.step(&actions).clone();
        let other = self.second.step(&actions);
        let same = outcome == *other;
        let what = (!same).then(|| format!("{outcome:?} and {other:?}"));
        self.law(same, "the same step gives the same outcome", || {
            what.unwrap_or_default()
        });
        self.alike("the same step gives the same state");
        self.group(
            "a step gives a whole outcome",
            sane::check_outcome(&outcome, self.spec),
        );
        self.after_the_end(&outcome);
        if self.opening.len() < ENCORE {
            self.opening.push((actions, outcome, self.first.digest()));
        }
    }

    fn after_the_end(&mut self, outcome: &StepOutcome) {
        let score = self.first.score();
        if let Some(final_score) = self.ended {
            let paid = outcome.rewards.iter().any(|&reward| reward != 0.0);
            self.law(
                outcome.over,
                "an episode that is over stays over",
                String::new,
            );
            self.law(
                !paid && score == final_score,
                "after the end nothing is earned",
                || {
                    format!(
                        "rewards {:?}, score {final_score} and then {score}",
                        outcome.rewards
                    )
                },
            );
        } else if outcome.over {
            self.ended = Some(score);
        }
    }

    /// Every way of looking gives whole values and changes nothing.
    fn look(&mut self) {
        let before = mark_of(self.first);
        let mut text = String::new();
        for seat in 0..usize::from(self.spec.seats) {
            self.look_as(seat);
            self.first.describe(seat, &mut text);
            self.law(
                !text.trim().is_empty(),
                "every seat is told the state in words",
                || format!("seat {seat}"),
            );
        }
        let mut picture = DrawList::default();
        for seat in (0..usize::from(self.spec.seats)).map(Some).chain([None]) {
            self.first.draw(seat, &mut picture);
            self.group(
                "a picture can be shown",
                sane::check_picture(&picture, self.sprites),
            );
        }
        self.point_at(&picture);
        self.first.score();
        let same = before == mark_of(self.first);
        self.law(same, "looking changes nothing", String::new);
    }

    fn look_as(&mut self, seat: usize) {
        let mut values = vec![f32::NAN; self.spec.observation_len()];
        self.first.observe(seat, &mut values);
        let verdict = sane::check_observation(&values, self.spec);
        self.group("an observation is whole", verdict);
        let mut again = vec![self.rng.below(1000) as f32; values.len()];
        self.first.observe(seat, &mut again);
        self.law(
            values == again || values.iter().any(|value| value.is_nan()),
            "an observation depends on the state alone",
            || format!("seat {seat}"),
        );
        if values.len() == self.seen[seat].len() {
            let verdict = (self.look)(self.first, seat, &self.seen[seat], &values);
            self.group("every way to an observation gives the same", verdict);
            self.seen[seat] = values;
        }
    }

    /// Points somewhere on a picture as each seat.
    fn point_at(&mut self, picture: &DrawList) {
        let spec = self.spec;
        for seat in 0..usize::from(spec.seats) {
            self.first.seat_score(seat);
            let at =
                [picture.width, picture.height].map(|side| side * self.rng.below(64) as f32 / 64.0);
            let meant = self.first.point(seat, at);
            self.law(
                meant.is_none_or(|action| spec.pointer && spec.has_action(seat, action)),
                "a point means nothing, or an action that the seat has",
                || format!("seat {seat}, {at:?}: {meant:?}"),
            );
        }
    }

    /// Checks that an action has no effect of a seat which does not have it, or which does not act now.
    fn look_at_turns(&mut self) {
        let spec = self.spec;
        let acting = self.first.acting();
        let seats = u16::MAX >> (MAX_SEATS - usize::from(spec.seats));
        self.law(
            self.ended.is_some() || acting & seats != 0,
            "somebody acts until the end",
            String::new,
        );
        for seat in 0..usize::from(spec.seats) {
            let mut row = vec![spec.noop; usize::from(spec.seats)];
            row[seat] = self.rng.below(spec.actions.len() as u32) as Action;
            if acting >> seat & 1 == 1 && spec.has_action(seat, row[seat]) {
                continue;
            }
            let same = self.is_noop(&row);
            self.law(
                same,
                "an action is the no-op of a seat that does not have it or does not act now",
                || format!("seat {seat}, action {}", row[seat]),
            );
        }
    }

    /// Checks that an action which a mask leaves out has no effect.
    fn look_at_masks(&mut self) {
        let spec = self.spec;
        for seat in 0..usize::from(spec.seats) {
            let mask = self.first.mask(seat);
            self.law(
                mask >> spec.noop & 1 == 1,
                "a mask allows the no-op",
                || format!("seat {seat}, mask {mask:#b}"),
            );
            let mut barred = (0..spec.actions.len()).filter(|action| mask >> action & 1 == 0);
            let Some(action) = barred.next() else {
                continue;
            };
            let mut row = vec![spec.noop; usize::from(spec.seats)];
            row[seat] = action as Action;
            let same = self.is_noop(&row);
            self.law(
                same,
                "an action that a mask leaves out is the no-op",
                || {
                    format!(
                        "seat {seat}, action {action} ({})",
                        spec.actions[action].name
                    )
                },
            );
        }
    }

    /// Checks whether a row of actions does the same as no-ops from here.
    fn is_noop(&mut self, row: &[Action]) -> bool {
        let noops = vec![self.spec.noop; usize::from(self.spec.seats)];
        self.first.save(0);
        let outcome = self.first.step(&noops).clone();
        let state = mark_of(self.first);
        self.first.load(0);
        let same = outcome == *self.first.step(row) && state == mark_of(self.first);
        self.first.load(0);
        same
    }

    /// Saves, continues, loads, and makes the same steps again.
    fn go_back(&mut self) {
        let slot = self.rng.below(SLOTS) as usize;
        self.first.save(slot);
        let rows: Vec<_> = (0..=self.rng.below(10)).map(|_| self.actions()).collect();
        let run = |world: &mut W| -> Vec<(StepOutcome, u64)> {
            rows.iter()
                .map(|row| (world.step(row).clone(), world.digest()))
                .collect()
        };
        let there = run(self.first);
        self.first.load(slot);
        let again = run(self.first);
        self.law(
            there == again,
            "a loaded state goes the same way again",
            || format!("slot {slot}, {} steps", rows.len()),
        );
        self.first.load(slot);
        self.alike("a loaded state is the saved state");
    }

    /// Takes the state to the second world through its bytes.
    fn carry_over(&mut self) {
        let bytes = bytes_of(self.first);
        let digest = self.first.digest();
        let hash = Fnv1a::EMPTY.with(&bytes).value();
        self.law(
            hash == digest || !self.first.is_canonical(),
            "the digest is the hash of the canonical bytes",
            || format!("{digest:016x} instead of {hash:016x}"),
        );
        self.second.reset(!self.seed);
        let taken = self.second.restore(&bytes).is_ok();
        self.law(taken, "a state is restored from its bytes", || {
            format!("{} bytes", bytes.len())
        });
        self.alike("a restored state is the state");
    }

    /// Bytes that are no state are refused, or are a state that does no harm.
    fn damage(&mut self) {
        let mut bytes = bytes_of(self.first);
        self.law(!bytes.is_empty(), "a state has bytes", String::new);
        if bytes.is_empty() {
            return;
        }
        self.second.save(0);
        let cut = self.rng.below(bytes.len() as u32) as usize;
        let refused = self.second.restore(&bytes[..cut]).is_err();
        self.law(refused, "bytes that end early are refused", || {
            format!("{cut} of {} bytes", bytes.len())
        });
        self.alike("refused bytes leave the state as it was");
        for _ in 0..8 {
            let at = self.rng.below(bytes.len() as u32) as usize;
            let kept = core::mem::replace(&mut bytes[at], self.rng.bits() as u8);
            if self.second.restore(&bytes).is_ok() {
                self.use_second();
            }
            bytes[at] = kept;
        }
        self.second.load(0);
        self.alike("a loaded state is the saved state");
    }

    /// Plays the second world, whatever its state is.
    fn use_second(&mut self) {
        let (mut values, mut text) = (Vec::new(), String::new());
        let draws = [self.rng.bits() as u32, 0];
        self.second.inject(&draws);
        let actions = self.actions();
        self.second.step(&actions);
        self.second.observe(0, &mut values);
        self.second.describe(0, &mut text);
        self.second.acting();
        for seat in [Some(0), None] {
            self.second.draw(seat, &mut DrawList::default());
        }
        self.second.point(0, [0.5, 0.5]);
        let verdict = sane::check_observation(&values, self.spec);
        self.group("a state that is accepted can be observed", verdict);
    }

    fn act_out_of_range(&mut self) {
        let wild: Vec<_> = (0..self.spec.seats)
            .map(|_| self.spec.actions.len() as Action + self.rng.below(1000) as Action)
            .collect();
        for row in [&wild[..], &[Action::MAX; MAX_SEATS], &[]] {
            let same = self.is_noop(row);
            self.law(
                same,
                "an action that is out of range or missing is the no-op",
                || format!("actions {row:?}"),
            );
        }
    }

    /// Every slot keeps its own state.
    fn fill_the_slots(&mut self) {
        self.first.reset(self.seed);
        let mut digests = Vec::new();
        for slot in 0..SLOTS as usize {
            self.first.save(slot);
            digests.push(self.first.digest());
            let row = self.actions();
            self.first.step(&row);
        }
        for (slot, digest) in digests.into_iter().enumerate().rev() {
            self.first.load(slot);
            let same = self.first.digest() == digest;
            self.law(same, "each of 64 slots keeps its own state", || {
                format!("slot {slot}")
            });
        }
    }

    /// Checks that an instance that has played starts again as it did at first.
    fn play_again(&mut self) {
        self.first.reset(self.seed);
        for (at, (row, outcome, digest)) in core::mem::take(&mut self.opening).iter().enumerate() {
            let same = self.first.step(row) == outcome && self.first.digest() == *digest;
            self.law(
                same,
                "after a reset nothing is left of what was played",
                || format!("step {at} went another way the second time"),
            );
            if !same {
                break;
            }
        }
    }
}

/// Bytes that are equal for equal states alone.
fn mark_of<W: World + ?Sized>(world: &mut W) -> Vec<u8> {
    if world.is_canonical() {
        return bytes_of(world);
    }
    world.digest().to_le_bytes().to_vec()
}

fn bytes_of<W: World + ?Sized>(world: &mut W) -> Vec<u8> {
    let mut bytes = Vec::new();
    world.state(&mut bytes);
    bytes
}
