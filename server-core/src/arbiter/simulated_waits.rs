//! Waiting rooms in which somebody waits for an AI partner as if for a person.

use study::assign::Rng;

use super::{Arbiter, SessionId};

/// Purpose of a generator: how long somebody waits for an AI partner as if for a person.
const SIMULATED: u64 = u64::from_le_bytes(*b"simulate");

/// Waiting times of people from which one is drawn.
const ENOUGH: usize = 5;

impl Arbiter {
    /// Returns the name of the AI partner for which somebody waits at their lobby as if for a person.
    pub(super) fn awaited_ai_partner(&self, who: SessionId) -> Option<&str> {
        let progress = &self.sessions[who].progress;
        let awaited = self.study.lobby(progress.index())?.partner.as_ref()?;
        let partner = awaited.ai_partner(&progress.bindings(&self.study))?;
        partner.origin.as_ref().map(|origin| origin.name.as_str())
    }

    /// Returns the time that somebody waits for such an AI partner, microseconds: as long as one of the people who were
    /// recently matched with people here, or within the bounds of the study if these are too few. `None` for somebody
    /// who waits for people.
    pub(super) fn simulated_wait_us(&self, who: SessionId) -> Option<u64> {
        self.awaited_ai_partner(who)?;
        let progress = &self.sessions[who].progress;
        let stage = progress.index();
        let lobby = self.study.lobby(stage)?;
        let most_us = u64::from(lobby.timeout_s) * 1_000_000;
        let own = progress.assignment().own.seed;
        let mut rng = Rng::of(self.seed, &[SIMULATED, own, progress.visit().into()]);
        let known = self.lobbies.recent_waits_us(stage);
        if known.len() >= ENOUGH {
            return Some(known[rng.draw_below(known.len())].min(most_us));
        }
        let [least, most] = lobby.simulated_wait_s?.map(u64::from);
        let spread_ms = most.saturating_sub(least) * 1_000;
        let drawn_ms = rng.draw_below(spread_ms as usize + 1) as u64;
        Some((least * 1_000 + drawn_ms) * 1_000)
    }
}
