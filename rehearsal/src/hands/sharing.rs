//! A seat that a person shares with AI partners: given away and taken back, the partner corrected, a proposal chosen.

use env_core::shared::count_own_actions;
use env_core::{Action, World};
use peer::{Now, Peer};
use protocol::rules::SharingMode;
use study::assign::Rng;

use super::Native;

/// The shortest and the longest time from one change of the seat to the next, microseconds.
const CHANGES_US: (u64, u64) = (600_000, 3_000_000);

/// The time for which a key that corrects is down, microseconds.
const CORRECTS_US: u64 = 350_000;

/// The part of a person who shares a seat.
#[derive(Default)]
pub(super) struct Sharing {
    next_us: u64,
    /// The action of the key that corrects the partner now, and until when it is down.
    corrects: Option<(Action, u64)>,
}

impl Sharing {
    /// Plays the part. True if the person's other keys do not count now.
    pub(super) fn play(&mut self, rng: &mut Rng, peer: &mut Peer<Native>, now: Now) -> bool {
        let Some(mode) = peer.plan().shared.as_ref().map(|shared| shared.mode) else {
            return false;
        };
        let partners = (peer.plan().shared.as_ref()).map_or(0, |shared| shared.policies.len());
        let is_own_turn = mode != SharingMode::Choose || peer.is_own_turn();
        let Some(session) = peer.session_mut() else {
            return true;
        };
        let spec = session.world().spec();
        let (mark, noop) = (count_own_actions(spec) as Action, spec.noop);
        let is_given = peer.is_handed_over();
        if let Some((action, _)) = self.corrects.take_if(|(_, until)| now.page_us >= *until) {
            let back = is_given.then_some(mark);
            peer.handle_key(now, action, false, now.page_us, back);
        }
        if now.page_us < self.next_us || self.corrects.is_some() || !is_own_turn {
            return is_given || mode == SharingMode::Choose;
        }
        let (least, most) = CHANGES_US;
        self.next_us = now.page_us + least + rng.draw_below((most - least) as usize) as u64;
        if mode == SharingMode::Choose {
            let chosen = mark + rng.draw_below(partners.max(1)) as Action;
            press_mark(peer, now, chosen, chosen);
            return true;
        }
        if is_given && mode == SharingMode::Override && rng.draw_below(3) > 0 {
            let action = rng.draw_below(usize::from(mark)) as Action;
            peer.handle_key(now, action, true, now.page_us, Some(action));
            self.corrects = Some((action, now.page_us + CORRECTS_US));
            return true;
        }
        press_mark(peer, now, mark, if is_given { noop } else { mark });
        !is_given
    }
}

/// Presses the key of a mark and lets it go.
pub(super) fn press_mark(peer: &mut Peer<Native>, now: Now, mark: Action, wanted: Action) {
    peer.handle_key(now, mark, true, now.page_us, Some(wanted));
    peer.handle_key(now, mark, false, now.page_us, None);
}
