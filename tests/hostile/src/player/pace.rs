//! The pace of a dishonest page in an episode: which of its inputs are due, by the clock, by the choices of the others, or
//! by the views of a host.

use super::Player;
use crate::wire::messages::{ClientMessage, Controller, EnvWay, HostView, Upload};

impl Player {
    /// True if the server alone steps the world: inputs are choices there, and nobody hears those of others.
    pub(crate) fn is_hosted(&self) -> bool {
        self.plan.way == EnvWay::Host
    }

    /// True if a tick goes by once everybody has chosen.
    pub(crate) fn is_in_turns(&self) -> bool {
        self.plan.rules.turns
    }

    /// The tick that is due now; none before the first.
    pub(crate) fn tick(&self) -> Option<u32> {
        let (t0_us, _) = self.start?;
        let since_us = self.server_us().checked_sub(t0_us)?;
        Some(match (self.is_hosted(), self.is_in_turns()) {
            (true, _) => self.shown,
            (false, true) => self.heard(),
            (false, false) => (since_us * u64::from(self.plan.tick_hz) / 1_000_000) as u32,
        })
    }

    /// The tick after the last one whose input is due now; none before the start. On a host it counts choices.
    pub(super) fn due(&self) -> Option<u32> {
        let (tick, (_, delay)) = (self.tick()?, self.start?);
        let due = match (self.is_in_turns(), self.is_hosted()) {
            (true, _) => tick + 1,
            // A new choice each half second.
            (false, true) => 1 + 2 * tick / u32::from(self.plan.tick_hz),
            (false, false) => tick + u32::from(delay) + 1,
        };
        let due = due.min(self.spec.horizon);
        Some(match self.manners.follows {
            true => due.min(self.heard() + 2),
            false => due,
        })
    }

    /// Ticks in an upload: an honest page uploads four times a second, and each choice immediately.
    pub(super) fn ticks_each(&self) -> u32 {
        match self.words.each {
            0 if self.is_in_turns() || self.is_hosted() => 1,
            0 => u32::from(self.plan.tick_hz / 4).max(1),
            each => each,
        }
    }

    /// Ticks that every other person has said the input of, as far as it was heard here.
    pub(super) fn heard(&self) -> u32 {
        let others = (0..self.inputs.len()).filter(|seat| *seat != self.me());
        let people = others.filter(|seat| self.is_person(*seat));
        let heard = people.map(|seat| self.inputs[seat].len() as u32);
        heard
            .min()
            .unwrap_or_else(|| self.inputs[self.me()].len() as u32)
    }

    /// True if a person plays a seat now.
    pub(super) fn is_person(&self, seat: usize) -> bool {
        let mut changes = self.changes.iter().rev();
        let last = changes.find(|(of, _)| usize::from(*of) == seat);
        let controller = last.map_or(&self.plan.controllers[seat], |(_, by)| by);
        *controller == Controller::Human
    }

    /// Takes a view of a hosted world, and answers it.
    pub(super) async fn hear_view(&mut self, view: &HostView) -> anyhow::Result<()> {
        self.shown = self.shown.max(view.tick);
        if self.manners.sends {
            let (era, number) = (self.plan.era, view.number);
            let taken = ClientMessage::ViewTaken {
                era,
                number,
                size: [0; 2],
            };
            self.page.send(&taken).await?;
        }
        if view.over && self.manners.ends && !self.has_ended {
            self.has_ended = true;
            let upload = Upload {
                ended: Some(view.tick),
                ..self.upload()
            };
            self.send_upload(upload).await?;
        }
        Ok(())
    }
}
