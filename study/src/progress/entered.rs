//! The stages that a participant has come to, for counts of who came how far.

use std::collections::BTreeSet;

use super::Progress;

impl Progress {
    /// Indices of the stages that the participant has entered, the last page too. A session that an earlier program began
    /// has those that it entered since.
    pub fn entered(&self) -> &BTreeSet<u16> {
        &self.entered
    }

    /// Index of the stage at which the way was cut; `None` while it goes on, and if it came to its own end.
    pub fn cut_at(&self) -> Option<u16> {
        self.cut_at
    }
}
