//! A module as the world of a session: nothing of it is believed, and after the first fault it stands still.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::{Engine, Export, Guest, ModuleError};
use crate::abi::{INBOX_LIMIT, SLOTS};
use crate::contract::{Action, Spec, StateError, StepOutcome, World};
use crate::draw::DrawList;

impl<E: Engine> World for Guest<E> {
    fn spec(&self) -> &Spec {
        &self.facts.spec
    }

    fn reset(&mut self, seed: u64) {
        self.attempt((), |guest| {
            guest.call(Export::Reset, seed.cast_signed()).map(drop)
        });
    }

    fn step(&mut self, actions: &[Action]) -> &StepOutcome {
        self.attempt((), |guest| guest.try_step(actions));
        if self.fault.is_some() {
            self.outcome.clear();
            self.outcome.over = true;
        }
        &self.outcome
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        let seen = self.attempt(false, |guest| guest.try_observe(seat, out).map(|()| true));
        if !seen {
            out.clear();
            out.resize(self.facts.spec.observation_len(), 0.0);
        }
    }

    fn mask(&mut self, seat: usize) -> u64 {
        if !self.engine.has(Export::Mask) {
            return u64::MAX;
        }
        self.attempt(u64::MAX, |guest| {
            guest
                .call(Export::Mask, seat as i64)
                .map(i64::cast_unsigned)
        })
    }

    fn save(&mut self, slot: usize) {
        if slot < SLOTS as usize {
            self.attempt((), |guest| guest.call(Export::Save, slot as i64).map(drop));
        }
    }

    fn load(&mut self, slot: usize) {
        if slot < SLOTS as usize {
            self.attempt((), |guest| guest.call(Export::Load, slot as i64).map(drop));
        }
    }

    fn digest(&mut self) -> u64 {
        self.attempt(0, Self::try_digest)
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        out.clear();
        self.attempt((), |guest| {
            guest.ask(Export::State, 0)?;
            out.extend_from_slice(&guest.message);
            Ok(())
        });
    }

    fn is_canonical(&self) -> bool {
        !self.engine.has(Export::Plain)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        if bytes.len() > INBOX_LIMIT as usize {
            return Err(StateError);
        }
        let taken = self.attempt(false, |guest| {
            guest.send(bytes)?;
            Ok(guest.call(Export::Restore, bytes.len() as i64)? == 0)
        });
        if taken { Ok(()) } else { Err(StateError) }
    }

    fn acting(&mut self) -> u16 {
        if !self.engine.has(Export::Acting) {
            return u16::MAX;
        }
        self.attempt(0, |guest| Ok(guest.call(Export::Acting, 0)? as u16))
    }

    fn score(&mut self) -> i64 {
        self.attempt(0, |guest| guest.call(Export::Score, 0))
    }

    fn seat_score(&mut self, seat: usize) -> i64 {
        if !self.engine.has(Export::SeatScore) {
            return self.score();
        }
        self.attempt(0, |guest| guest.call(Export::SeatScore, seat as i64))
    }

    fn draw(&mut self, seat: Option<usize>, out: &mut DrawList) {
        if let Some(list) = self.attempt(None, |guest| guest.try_draw(seat).map(Some)) {
            *out = list;
        }
    }

    fn point(&mut self, seat: usize, at: [f32; 2]) -> Option<Action> {
        if !self.facts.spec.pointer || !self.engine.has(Export::Point) {
            return None;
        }
        self.attempt(None, |guest| guest.try_point(seat, at))
    }

    fn describe(&mut self, seat: usize, out: &mut String) {
        self.attempt((), |guest| guest.try_describe(seat, out));
        if let Some(fault) = &self.fault {
            *out = fault.to_string();
        }
    }

    fn inject(&mut self, draws: &[u32]) {
        let bytes: Vec<u8> = draws.iter().flat_map(|draw| draw.to_le_bytes()).collect();
        if bytes.len() > INBOX_LIMIT as usize {
            return;
        }
        self.attempt((), |guest| {
            guest.send(&bytes)?;
            guest.call(Export::Inject, draws.len() as i64).map(drop)
        });
    }

    fn fault(&self) -> Option<String> {
        self.fault.as_ref().map(ModuleError::to_string)
    }
}
