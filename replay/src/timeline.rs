//! A world that goes to any tick of its episode: from the last saved state before it.

use archive::{ReplayError, Stored, not_repeatable, open_past_world};
use env_core::{Action, Spec, World};
use protocol::log::Log;
use protocol::{EnvWay, Tick};

/// Ticks from one saved state to the next.
const EACH: u32 = 256;

/// The confirmed states of an episode.
pub struct Timeline {
    world: Box<dyn World + Send>,
    seed: u64,
    /// All actions, `[tick, seat]`, row-major.
    rows: Vec<Action>,
    seats: usize,
    /// The states after 0, [`EACH`], 2 · [`EACH`], … ticks; fewer if the world cannot take up a state.
    states: Vec<Vec<u8>>,
    tick: u32,
}

impl Timeline {
    /// Simulates an episode once, and saves states on the way.
    ///
    /// # Errors
    /// [`ReplayError`]
    pub fn open(log: &Log, stored: &Stored) -> Result<Self, ReplayError> {
        let is_recorded = matches!(log.end_repetition(), Some(Some(_)));
        if log.header.way == EnvWay::Host && is_recorded {
            let reason = "it does not repeat itself, so there is no state to continue from";
            return Err(not_repeatable(&log.header, reason).into());
        }
        let (world, _) = open_past_world(&log.header, stored)?;
        let mut timeline = Self {
            world,
            seed: log.header.seed,
            rows: log.rows(),
            seats: log.count_seats(),
            states: Vec::new(),
            tick: 0,
        };
        timeline.world.reset(timeline.seed);
        loop {
            if timeline.tick.is_multiple_of(EACH) {
                let mut state = Vec::new();
                timeline.world.state(&mut state);
                timeline.states.push(state);
            }
            if timeline.tick == timeline.ticks() {
                return Ok(timeline);
            }
            timeline.step();
        }
    }

    /// The facts that the parameters of the environment fix.
    pub fn spec(&self) -> &Spec {
        self.world.spec()
    }

    /// Ticks played.
    pub fn ticks(&self) -> u32 {
        (self.rows.len() / self.seats) as u32
    }

    /// The world after this many ticks, or after the last one.
    pub fn seek_tick(&mut self, tick: Tick) -> &mut (dyn World + Send) {
        let tick = tick.0.min(self.ticks());
        if tick < self.tick || tick - self.tick > EACH {
            self.restore(tick / EACH);
        }
        while self.tick < tick {
            self.step();
        }
        &mut *self.world
    }

    fn step(&mut self) {
        let first = self.tick as usize * self.seats;
        self.world.step(&self.rows[first..first + self.seats]);
        self.tick += 1;
    }

    /// Takes up a saved state; one that the world refuses is computed from the start.
    fn restore(&mut self, state: u32) {
        match self.world.restore(&self.states[state as usize]) {
            Ok(()) => self.tick = state * EACH,
            Err(_) => {
                self.world.reset(self.seed);
                self.tick = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use archive::fixtures::{ai_controller, header, no_modules, play_episode};
    use protocol::log::{LogWriter, Record, read_log};

    use super::*;

    #[test]
    fn every_tick_has_the_state_of_the_replay_from_any_other() {
        let header = header([ai_controller("random"), ai_controller("cook")], 1_000);
        let (mut writer, mut bytes) = LogWriter::begin(&header).unwrap();
        let rows = play_episode(&header).rows;
        let first = Tick(0);
        writer
            .append(&Record::Actions { first, rows }, &mut bytes)
            .unwrap();
        let log = read_log(&bytes).unwrap();
        let mut digests = vec![0; 1_001];
        archive::replay(&log, no_modules, |_, replica| {
            let tick = replica.ticks();
            digests[tick.0 as usize] = replica.digest(tick).unwrap();
        })
        .unwrap();
        let mut timeline = Timeline::open(&log, &no_modules).unwrap();
        assert_eq!(timeline.ticks(), 1_000);
        for step in 0..200_u32 {
            let tick = 1 + step * 337 % 1_000;
            let digest = timeline.seek_tick(Tick(tick)).digest();
            assert_eq!(digest, digests[tick as usize], "tick {tick}");
        }
    }
}
