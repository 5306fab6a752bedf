//! The stages between the episodes: shown as the server sends them, kept while they are half done, and left.

use peer::World;
use protocol::control::{Answer, ClientMessage, Draft, StageView};

use super::Page;
use crate::effects::PageEvent;
use crate::stage::{Again, Before, ShownStage, Told};

impl<W: World> Page<W> {
    pub(super) fn handle_stage(&mut self, now_us: u64, stage: ShownStage, before: Before) {
        match (self.stages).handle_stage(stage, before, self.peer.is_some()) {
            Told::Later | Told::GoesOn => {}
            Told::Again => match self.stages.handle_again() {
                Again::Nothing => {}
                Again::Unheard => self.send_done(),
                Again::NotTaken => self.events.push_back(PageEvent::NotTaken),
            },
            Told::New(stage, before) => {
                self.leave_episode(now_us);
                self.show(now_us, stage, before);
            }
        }
    }

    fn show(&mut self, now_us: u64, stage: ShownStage, before: Before) {
        self.drafts.clear();
        let writes = matches!(stage.view, StageView::Chat { .. } | StageView::Env);
        self.writing.begin_writing(before.draft.as_ref(), writes);
        (self.is_asked, self.alive_us) = (false, now_us);
        self.has_left &= !matches!(stage.view, StageView::End { .. });
        self.stages.show_stage(now_us, stage);
        let Before { draft, again } = before;
        self.events
            .push_back(PageEvent::StageShown { draft, again });
    }

    /// The person is done with the stage, after these milliseconds on each of its pages; without them, the time is that
    /// of the whole stage.
    pub fn handle_done(&mut self, now_us: u64, answers: Vec<Answer>, pages_ms: Vec<u32>) {
        self.stages.handle_done(now_us, answers, pages_ms);
        self.send_done();
    }

    /// Reports to the server that the person is done, if there is a connection; otherwise the server does not learn it
    /// until it sends the stage again.
    fn send_done(&mut self) {
        if self.connection.is_welcomed()
            && let Some(done) = self.stages.poll_done()
        {
            self.send(done);
        }
    }

    /// The person has done this much of the stage.
    pub fn handle_draft(&mut self, now_us: u64, draft: Draft) {
        self.drafts.handle_change(now_us, draft);
        self.settle(now_us);
    }

    /// Sends the present draft of the stage, because there may be no later moment.
    pub(super) fn flush_drafts(&mut self, now_us: u64) {
        self.keep_unsent(now_us);
        if self.connection.is_welcomed()
            && !self.stages.is_done()
            && let Some((number, draft)) = self.drafts.flush(now_us)
        {
            self.send_draft(number, draft);
        }
    }

    pub(super) fn send_draft(&mut self, number: u32, draft: Draft) {
        if let Some(stage) = self.stages.shown_stage().map(|stage| stage.index) {
            self.send(ClientMessage::Draft {
                number,
                stage,
                draft,
            });
        }
    }

    /// The person has read the outcome of an episode.
    pub fn handle_outcome_read(&mut self, now_us: u64) {
        self.go_on(now_us);
        self.settle(now_us);
    }

    /// Shows the stage that waits for the outcome to be read.
    pub(super) fn go_on(&mut self, now_us: u64) {
        let Some((stage, before, messages)) = self.stages.take_next() else {
            return;
        };
        self.leave_episode(now_us);
        self.show(now_us, stage, before);
        for message in messages {
            self.handle_message(now_us, message);
        }
    }
}
