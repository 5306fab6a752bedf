//! The stages as the page shows them, and answers that it keeps until the server has taken them.

use protocol::control::{Answer, ClientMessage, StageView};

use super::Bot;
use super::talk::Talking;
use crate::record::{Given, Phase, Waited, cuts};

/// A stage as the server sent it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stage {
    pub(super) index: u16,
    pub(super) count: u16,
    pub(super) id: String,
    pub(super) view: StageView,
}

impl Bot {
    /// Handles the participant's stage, from the server.
    pub(super) fn told(&mut self, now_us: u64, stage: Stage) -> Result<(), String> {
        if matches!(stage.view, StageView::Lobby { .. }) && self.lobby_us.is_none() {
            self.lobby_us = Some(now_us);
            self.tempt(now_us, &stage);
        }
        let is_judged = self.is_judged(now_us);
        if is_judged && self.outcome_us.is_some() {
            self.next = Some(stage);
            return Ok(());
        }
        let is_same = self.stage.as_ref() == Some(&stage);
        if is_same && self.peer.is_some() && !is_judged {
            return Ok(());
        }
        if is_same && stage.view != StageView::Env && self.peer.is_none() {
            self.told_again();
            return Ok(());
        }
        self.leave_play();
        self.show(now_us, stage)
    }

    /// Handles the same stage again: the server did not receive that it is done, refuses it, or has only now admitted
    /// the page.
    fn told_again(&mut self) {
        if !self.is_done_sent {
            return self.send_done();
        }
        if let Some(done) = &self.done {
            let what = format!("for the server to take {done:?}");
            self.expect(60, &what);
        }
    }

    pub(super) fn send_done(&mut self) {
        if let Some(done) = self.done.clone().filter(|_| self.is_welcome) {
            self.say(done);
            self.is_done_sent = true;
            let is_rest =
                (self.stage.as_ref()).is_some_and(|of| matches!(of.view, StageView::Rest { .. }));
            // Others may rest longer.
            let patience_s = if is_rest { 600 } else { 60 };
            self.expect(patience_s, "for the stage after one that is done");
        }
    }

    /// Finishes the stage.
    pub(super) fn be_done(&mut self, now_us: u64, answers: Vec<Answer>) {
        let Some(stage) = &self.stage else { return };
        self.record.lock().given.push(Given {
            stage: stage.id.clone(),
            answers: answers.clone(),
            is_acknowledged: false,
        });
        let pages = match &stage.view {
            StageView::Instructions { pages, .. } => pages.len().max(1),
            _ => 1,
        };
        let page_ms = (now_us - self.since_us) / 1_000 / pages as u64;
        let done = ClientMessage::StageDone {
            stage: stage.index,
            answers,
            pages_ms: vec![page_ms as u32; pages],
        };
        (self.done, self.is_done_sent) = (Some(done), false);
        self.send_done();
    }

    pub(super) fn show(&mut self, now_us: u64, stage: Stage) -> Result<(), String> {
        self.acknowledge(&stage);
        use StageView::{Chat, End, Env, Lobby, Regroup, Rest};
        // A match may still come to nothing.
        if !matches!(stage.view, Lobby { .. } | Env | Regroup | Chat { .. }) {
            self.waited(now_us, Waited::Left);
        }
        // In an env stage, the episode is compared.
        if !matches!(stage.view, Env | Regroup | Rest { .. } | End { .. }) {
            (self.record.lock()).stand_at(stage.index, stage.id.clone())?;
        }
        (self.since_us, self.act) = (now_us, None);
        self.talking = Talking::default();
        self.stage = Some(stage.clone());
        self.meet(now_us, &stage)?;
        if !matches!(stage.view, StageView::Lobby { .. }) {
            self.tempt(now_us, &stage);
        }
        Ok(())
    }

    /// Marks earlier answers as durable once the server shows the next stage, unless it ended the session.
    fn acknowledge(&mut self, next: &Stage) {
        let Some(ClientMessage::StageDone { stage, .. }) = self.done.take() else {
            return;
        };
        let is_cut = cuts(&next.view);
        let is_reload =
            next.index == stage && self.stage.as_ref().is_some_and(|of| of.view == next.view);
        if let Some(given) = self.record.lock().given.last_mut() {
            given.is_acknowledged = !is_cut && !is_reload;
        }
    }

    pub(super) fn waited(&mut self, now_us: u64, how: Waited) {
        if let Some(since_us) = self.lobby_us.take() {
            let waited_us = now_us.saturating_sub(since_us);
            self.record.lock().waits.push((waited_us, how));
        }
    }

    pub(super) fn doing(&self, what: &'static str) {
        self.record.lock().phase = Phase::Here(what);
    }
}
