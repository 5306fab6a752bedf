//! Pages that fail: they diverge again and again, never get ready, or break the protocol. Their own people leave the study
//! by an outcome of its own; for the others of the episode it is as if somebody had left.

use super::{Arbiter, Place, SessionId};

impl Arbiter {
    /// Ends the part of somebody whose page failed.
    pub(super) fn fail_page(&mut self, now_us: u64, who: SessionId, why: &'static str) {
        tracing::warn!(why, "a page failed, and its part in the study ends");
        let failed = study::ProgressEvent::Cut(study::Outcome::PageFailed);
        self.end_session(now_us, who, failed);
    }

    /// A page of an episode sent what no correct page sends. Its person may come back; who does not, or whose page does
    /// so again and again, has failed.
    pub(super) fn note_fault(&mut self, now_us: u64, who: SessionId) {
        let session = &mut self.sessions[who];
        if matches!(session.place, Place::Episode(..)) {
            session.faults += 1;
            if session.faults > self.limits.divergences {
                self.fail_page(now_us, who, "it broke the protocol again and again");
            }
        }
    }

    /// True if the page of somebody who did not come back to an episode broke the protocol in it.
    pub(super) fn has_failed(&self, who: SessionId) -> bool {
        self.sessions[who].faults > 0
    }
}
