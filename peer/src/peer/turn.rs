//! Turns: the time that the local person may take for a choice, and the page's choice for them after that.

use env_core::World;
use protocol::Tick;

use super::{Peer, Stage};
use crate::effects::Now;

impl<W: World> Peer<W> {
    /// In turns: true if the person here has a choice to make.
    pub fn is_own_turn(&mut self) -> bool {
        let is_on = self.verdict.is_none();
        if self.is_hosted() {
            return is_on && self.plan.rules.turns && self.is_own_hosted_turn();
        }
        let session = self.session_mut().filter(|_| is_on);
        session.is_some_and(|session| session.config().rules.turns && session.is_own_turn())
    }

    /// The time that the local person has left for the choice, microseconds; `None` without a limit, and while others
    /// choose.
    pub fn turn_left_us(&self, now: Now) -> Option<u64> {
        let (limit, (_, since_us)) = (self.plan.turn.as_ref()?, self.turn?);
        let until_us = since_us + u64::from(limit.limit_ms) * 1_000;
        Some(until_us.saturating_sub(now.page_us))
    }

    /// Chooses for the person whose time is up.
    pub(super) fn keep_turn(&mut self, now: Now) {
        let Some(limit) = self.plan.turn.clone() else {
            return;
        };
        let is_own = self.is_own_turn();
        let tick: Tick = match &self.stage {
            Stage::Playing(session) => session.input_tick(),
            Stage::Hosted(host) => host.tick,
            _ => return,
        };
        let is_new = self.turn.is_none_or(|(of, _)| of != tick);
        match is_own {
            true if is_new => self.turn = Some((tick, now.page_us)),
            true => {}
            false => self.turn = None,
        }
        if self.turn_left_us(now) == Some(0) {
            self.turn = None;
            match &mut self.stage {
                Stage::Playing(session) => drop(session.handle_action(now.server_us, limit.action)),
                _ => drop(self.choose_hosted(now, limit.action)),
            }
        }
    }
}
