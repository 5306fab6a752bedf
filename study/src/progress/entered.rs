//! The stages that a participant has reached, for counts of participants by stage.

use std::collections::BTreeSet;

use super::Progress;

impl Progress {
    /// Indices of the stages that the participant has entered, including the last page. A session that an earlier
    /// program began has the stages that it entered since then.
    pub fn entered_stages(&self) -> &BTreeSet<u16> {
        &self.entered
    }

    /// Index of the stage at which the session was cut; `None` while it continues, and if it reached its regular end.
    pub fn cut_at(&self) -> Option<u16> {
        self.cut_at
    }
}
