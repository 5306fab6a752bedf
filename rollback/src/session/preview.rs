//! A look ahead for the view, of which nothing stays in the session.

use env_core::World;
use protocol::MAX_SEATS;

use super::Session;

/// The most ticks that a preview shows ahead. It runs as often as the person presses and the ticks go by.
const FORESEEN: u32 = 4;

impl<W: World> Session<W> {
    /// Shows what comes next as far as it is known: the ticks up to the one that a press now enters, four at
    /// most, with predictions for the others. Nothing of it stays. At an end, predicted or not, it shows the last state.
    pub fn preview(&mut self, show: impl FnOnce(&mut W)) {
        if self.end.is_some() {
            return show(&mut self.world);
        }
        let (slot, now) = (usize::from(self.config.window) + 1, self.current);
        let seats = usize::from(self.layout.seats);
        self.save(slot);
        for _ in 0..self.foreseen() {
            let mut row = [self.spec.noop; MAX_SEATS];
            for (seat, action) in row.iter_mut().enumerate().take(seats) {
                *action = if self.is_local(seat) && self.inputs.have(seat) <= self.current {
                    self.presses.peek()
                } else {
                    self.action(seat)
                };
            }
            self.current += 1;
            if self.world.step(&row[..seats]).over {
                break;
            }
        }
        show(&mut self.world);
        self.load(slot);
        self.current = now;
    }

    /// Ticks that a preview runs.
    fn foreseen(&self) -> u32 {
        (self.input_tick().0.saturating_sub(self.current) + 1).min(FORESEEN)
    }

    fn is_local(&self, seat: usize) -> bool {
        self.config.local.is_some_and(|local| local.index() == seat)
    }
}
