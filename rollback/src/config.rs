//! The settings of a session, and the guess that it makes of others.

use env_core::{Action, Spec};
use protocol::datagram::MAX_INPUTS;
use protocol::rules::Rules;
use protocol::{Controller, Era, Seat};

use crate::roster::Seats;

/// The settings that all peers of an episode agree on, and the local seat.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Distinguishes the packets of this episode from those of others.
    pub era: Era,
    /// The seat of the local person; `None` for an onlooker.
    pub local: Option<Seat>,
    /// The controller of each seat at tick 0, in order. Seats beyond the list play the no-op.
    pub controllers: Vec<Controller>,
    /// Seed of the world and of the AI partners.
    pub seed: u64,
    /// Ticks per second, at least 1.
    pub tick_hz: u16,
    /// Ticks from the one that samples an action to the one that it enters, for every seat; at most 39.
    pub input_delay: u8,
    /// Ticks that may be simulated beyond the confirmed ones: at least 1, and at most 40 with the delay.
    pub window: u8,
    /// When tick 0 is due, shared clock, microseconds.
    pub t0_us: u64,
    /// The rules that the study adds to those of the world.
    pub rules: Rules,
}

impl Config {
    /// The settings within their limits. Only a person can be local.
    pub(crate) fn clamp_settings(mut self, seats: usize) -> Self {
        self.input_delay = match self.rules.turns {
            true => 0,
            false => self.input_delay.min(MAX_INPUTS as u8 - 1),
        };
        self.window = self.window.clamp(1, MAX_INPUTS as u8 - self.input_delay);
        self.tick_hz = self.tick_hz.max(1);
        let humans = self.humans(seats);
        self.local = self.local.filter(|seat| humans.contains(seat.index()));
        self
    }

    /// The seats of people.
    pub(crate) fn humans(&self, seats: usize) -> Seats {
        let controllers = self.controllers.iter().take(seats).enumerate();
        let people = controllers.filter(|(_, controller)| **controller == Controller::Human);
        Seats(people.map(|(seat, _)| 1 << seat).sum())
    }
}

/// Guesses an input that is not here: a pure function of the spec and of the seat's last known action.
pub type Predictor = fn(spec: &Spec, seat: Seat, last: Action) -> Action;
