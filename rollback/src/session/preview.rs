//! A look ahead for the view, which leaves nothing in the session.

use env_core::{Action, World};
use protocol::seen::Frame;
use protocol::{MAX_SEATS, Seat, Tick};

use super::Session;

/// The most ticks that a preview shows ahead. It runs as often as the person presses and the ticks go by.
pub(crate) const FORESEEN: u32 = 4;

impl<W: World> Session<W> {
    /// Shows the next ticks as far as they are known: up to the tick that a press would enter now, four at most, with
    /// predictions for the others. Nothing of it stays. At an end, predicted or not, it shows the last state.
    pub fn preview(&mut self, show: impl FnOnce(&mut W)) {
        self.resimulate();
        let ahead = if self.end.is_none() {
            self.foreseen()
        } else {
            0
        };
        self.look_ahead(ahead, self.presses.peek_action(), show);
    }

    /// Shows this many more ticks, or fewer up to an end, in which the local person wants this action.
    pub(crate) fn look_ahead(&mut self, ahead: u32, wish: Action, show: impl FnOnce(&mut W)) {
        if ahead == 0 {
            return show(&mut self.world);
        }
        let (slot, now) = (usize::from(self.config.window) + 1, self.current);
        let seats = usize::from(self.layout.seats);
        self.save(slot);
        for _ in 0..ahead {
            let mut row = [self.spec.noop; MAX_SEATS];
            self.roster.begin(self.current, self.config.seed);
            let wishes = self.wishes();
            for (seat, action) in row.iter_mut().enumerate().take(seats) {
                *action = if wishes == Some(seat) {
                    wish
                } else {
                    self.action_of(seat)
                };
            }
            self.current += 1;
            if self.world.step(&row[..seats]).over || self.is_ended_by_study(self.current) {
                break;
            }
        }
        show(&mut self.world);
        self.current = now;
        self.load(slot);
    }

    /// Returns the frame that the preview shows, presented this many milliseconds after `T0`. Each frame has the inputs
    /// since the last one.
    pub fn record_frame(&mut self, at_ms: u32, hidden: bool) -> Frame {
        self.resimulate();
        let seats = 0..usize::from(self.layout.seats);
        let fresh = seats.clone().map(|seat| {
            let first = std::mem::replace(&mut self.told[seat], self.inputs.known_through(seat));
            self.inputs.column(seat, first, self.told[seat]).collect()
        });
        Frame {
            at_ms,
            tick: Tick(self.current),
            changes: self.roster.changes(),
            fresh: fresh.collect(),
            have: seats
                .map(|seat| Tick(self.inputs.known_through(seat)))
                .collect(),
            ahead: if self.end.is_none() {
                self.foreseen() as u8
            } else {
                0
            },
            wish: self.presses.peek_action(),
            hidden,
        }
    }

    /// Ticks that a preview runs.
    fn foreseen(&self) -> u32 {
        if self.config.rules.turns {
            return 0;
        }
        (self.input_tick().0.saturating_sub(self.current) + 1).min(FORESEEN)
    }

    /// The local seat, if its person's input for the next tick is still open.
    fn wishes(&self) -> Option<usize> {
        let local = self.config.local.map(Seat::index);
        local.filter(|&seat| {
            self.roster.awaited_tick(seat, self.current) == self.current
                && self.inputs.known_through(seat) <= self.current
        })
    }
}
