//! A person who shares a seat with AI partners: gives it away and takes it back, corrects the partner, chooses among
//! proposals.

use client_core::{Now, Peer, World as _};
use env_core::Action;
use env_core::shared::count_own_actions;
use protocol::rules::SharingMode;

use crate::native::Native;

/// One of this many actions of a person with the seat gives it away, or takes it back.
const CHANGES_ONE_IN: u64 = 4;

/// The part of the person.
#[derive(Default)]
pub(super) struct Sharing {
    /// The action of the key that is down and corrects the partner.
    corrects: Option<Action>,
}

impl Sharing {
    /// The person does something; `bits` decide what. Gives false if the seat is not shared.
    pub(super) fn act_on_frame(&mut self, peer: &mut Peer<Native>, now: Now, bits: u64) -> bool {
        let Some(shared) = &peer.plan().shared else {
            return false;
        };
        let (mode, partners) = (shared.mode, shared.policies.len() as u64);
        let Some(session) = peer.session_mut() else {
            return true;
        };
        let world = session.world();
        let spec = world.spec();
        let (mark, noop) = (count_own_actions(spec) as Action, spec.noop);
        let is_given = peer.is_handed_over();
        if let Some(action) = self.corrects.take() {
            let back = is_given.then_some(mark);
            peer.handle_key(now, action, false, now.page_us, back);
        }
        let (kind, bits) = (bits % CHANGES_ONE_IN, bits / CHANGES_ONE_IN);
        let own = (bits % u64::from(mark)) as Action;
        match (mode, is_given) {
            (SharingMode::Choose, _) => {
                let chosen = mark + (bits % partners) as Action;
                press(peer, now, chosen, chosen);
            }
            (_, true) if kind == 0 => press(peer, now, mark, noop),
            (_, false) if kind == 0 => press(peer, now, mark, mark),
            (SharingMode::Override, true) => {
                peer.handle_key(now, own, true, now.page_us, Some(own));
                self.corrects = Some(own);
            }
            // The person's other keys do not count.
            (SharingMode::Handover, true) => {}
            (_, false) => peer.handle_action(now, own),
        }
        true
    }
}

/// Presses the key of a mark and lets it go.
fn press(peer: &mut Peer<Native>, now: Now, mark: Action, wanted: Action) {
    peer.handle_key(now, mark, true, now.page_us, Some(wanted));
    peer.handle_key(now, mark, false, now.page_us, None);
}
