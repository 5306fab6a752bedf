//! The speed of a run: played ticks are confirmed soon, and at one pace.

use client_core::Peer;

use crate::tab::Tab;

use super::Run;

impl Run {
    /// Checks that played ticks are confirmed once nothing goes wrong any more: on every page that is connected, in
    /// sight and awake.
    pub(super) fn watch_progress(&mut self, at: usize) -> Result<(), String> {
        let (now_us, calm_us) = (self.now_us, self.scenario.calm_us());
        let page = &self.pages[at];
        // While the outcome is read, nobody plays on.
        let is_able = page.page.is_welcomed()
            && !page.page.is_judged()
            && !page.is_hidden
            && page.frozen_us <= now_us;
        let session = page.peer().and_then(Peer::session);
        let playing = session.filter(|session| session.ended().is_none());
        let Some(session) = playing.filter(|_| is_able && now_us > calm_us) else {
            self.moved.remove(&at);
            return Ok(());
        };
        let confirmed = session.confirmed().0;
        let moved = self.moved.entry(at).or_insert((now_us, confirmed));
        if moved.1 != confirmed {
            *moved = (now_us, confirmed);
        }
        let stalled_us = now_us - moved.0;
        let figures = &mut self.oracle.figures;
        figures.stalled_us = stalled_us.max(figures.stalled_us);
        if stalled_us > self.scenario.moves_within_us() {
            let number = page.number;
            return Err(format!(
                "stall: page {number} has confirmed nothing beyond tick {confirmed} for {} ms: {}",
                stalled_us / 1_000,
                self.standing()
            ));
        }
        Ok(())
    }

    /// Once they have found one pace, nobody is far ahead of another.
    pub(super) fn watch_pace(&self, at: usize) -> Result<(), String> {
        let Some(even_us) = self.scenario.even_us else {
            return Ok(());
        };
        let session = |page: &Tab| {
            let session = page.peer().and_then(Peer::session);
            session
                .filter(|session| session.ended().is_none())
                .map(|session| session.current().0)
        };
        let t0_us = self.pages[at].peer().and_then(Peer::t0_us);
        let begun = t0_us.is_some_and(|t0_us| self.server.clock_us(self.now_us) > t0_us + even_us);
        let ticks = self.pages.iter().filter_map(session);
        let (least, most) = (ticks.clone().min(), ticks.max());
        match least.zip(most) {
            Some((least, most)) if begun && most > least + 2 => Err(format!(
                "pace: one page is at tick {most}, another at {least}"
            )),
            _ => Ok(()),
        }
    }
}
