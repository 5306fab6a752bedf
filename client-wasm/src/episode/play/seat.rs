//! A seat that the person shares with AI partners: its keys, and the line that says who plays it.

use env_core::shared::count_own_actions;
use env_core::{Action, Spec, World as _};
use protocol::control::Plan;
use protocol::rules::SharingMode;

use super::{EpisodePeer, Play};
use crate::episode::controls::{KeyboardLayout, name_action, name_key};
use crate::episode::shared_seat::SeatLine;
use crate::messages;

impl Play {
    /// Prepares keys and line, if the study lets people share their seats.
    pub(super) fn prepare_seat(&mut self, plan: &Plan, spec: &Spec, layout: &KeyboardLayout) {
        let Some(shared) = &plan.shared else { return };
        let first = count_own_actions(spec) as Action;
        self.keys
            .share_seat(shared.mode, first, shared.begins_with_partner);
        let names = shared.keys.iter().map(|code| name_key(code, layout));
        let names: Vec<String> = names.collect();
        let line = SeatLine::new(&self.inbox, &self.screen.canvas, first, &names);
        self.screen.add_line(&line.element);
        self.seat = Some(line);
    }

    /// Begins a new part of the episode as the study says.
    pub(super) fn begin_seat(&mut self, plan: &Plan) {
        if let (Some(shared), Some(spec)) = (&plan.shared, &self.spec) {
            let first = count_own_actions(spec) as Action;
            self.keys
                .share_seat(shared.mode, first, shared.begins_with_partner);
        }
    }

    /// Shows who plays the seat, or the proposals.
    pub(super) fn show_seat(&self, peer: &mut EpisodePeer) {
        let (Some(line), Some(spec)) = (&self.seat, &self.spec) else {
            return;
        };
        let mode = peer.plan().shared.as_ref().map(|shared| shared.mode);
        if mode != Some(SharingMode::Choose) {
            return line.show_player(peer.is_handed_over(), mode == Some(SharingMode::Override));
        }
        let (is_own_turn, seat) = (peer.is_own_turn(), peer.plan().seat.index());
        let session = peer.session_mut().filter(|_| is_own_turn);
        let proposed = session.map(|session| session.world().proposals(seat).to_vec());
        let name = |action: Action| {
            if action == spec.noop {
                return messages::current_words().seat_wait.to_owned();
            }
            let of = spec.actions.get(usize::from(action));
            of.map_or_else(String::new, |of| name_action(&of.name))
        };
        let names: Vec<String> = proposed.into_iter().flatten().map(name).collect();
        line.show_proposals(&names);
    }
}
