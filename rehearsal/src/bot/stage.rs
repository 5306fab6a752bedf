//! The stages as the page shows them, and what the person has done with them.

use client_core::ShownStage;
use protocol::control::{Answer, ServerMessage, StageView};

use super::chat::BotChat;
use super::person::Act;
use super::{Bot, WireId};
use crate::record::{Given, Phase, Waited, is_cut_short};

impl Bot {
    /// Handles a message of the server: checks what was promised, and gives it to the page.
    ///
    /// # Errors
    /// A sentence, if it must not come, or asks for something that bots do not know.
    pub(super) fn handle_news(
        &mut self,
        now_us: u64,
        wire: WireId,
        message: ServerMessage,
    ) -> Result<(), String> {
        let Some(message) = self.take_late(now_us, message) else {
            return Ok(());
        };
        let begins = matches!(
            message,
            ServerMessage::Start { .. } | ServerMessage::Return(_)
        );
        let mut view = None;
        match &message {
            ServerMessage::Stage {
                index,
                count,
                id,
                view,
                draft,
                ..
            } => {
                let stage = ShownStage {
                    index: *index,
                    count: *count,
                    id: id.clone(),
                    view: view.clone(),
                };
                self.drafts.check(&stage, draft.as_ref())?;
                // Others may find somebody who still reads an outcome, and so never sees the lobby.
                if matches!(stage.view, StageView::Lobby { .. }) && self.lobby_us.is_none() {
                    self.lobby_us = Some(now_us);
                    self.plan_mishap(now_us, &stage);
                }
            }
            ServerMessage::DraftKept { number } => {
                let tab = self.tab.as_ref().map_or(0, |tab| tab.number);
                self.drafts.handle_stored(tab, *number);
            }
            ServerMessage::Chat(told) => {
                told.messages
                    .iter()
                    .for_each(|message| self.read_chat_message(message));
                view = Some(told.clone());
            }
            ServerMessage::ChatMessage { message, .. } => self.read_chat_message(message),
            _ => {}
        }
        let Some(tab) = &mut self.tab else {
            return Ok(());
        };
        if let Some(socket) = tab.socket_of(wire) {
            tab.call_page(now_us, |page, at_us| {
                page.handle_socket_message(at_us, socket, message);
            });
        }
        self.drain(now_us)?;
        if begins {
            self.begin_episode(now_us)?;
        }
        // A chat that comes while an outcome is read is met with its stage.
        let chat = self.tab.as_ref().and_then(|tab| tab.page.chat());
        let known = chat.map(|chat| chat.view());
        if let Some(view) =
            view.filter(|view| known.is_some_and(|known| known.group_visit == view.group_visit))
        {
            self.meet_chat(now_us, &view);
        }
        Ok(())
    }

    /// The page shows another stage.
    pub(super) fn handle_stage(&mut self, now_us: u64) -> Result<(), String> {
        let Some(stage) = self.stage().cloned() else {
            return Ok(());
        };
        self.acknowledge(&stage);
        use StageView::{Chat, End, Env, Lobby, Regroup, Rest};
        // A match may still be dissolved.
        if !matches!(stage.view, Lobby { .. } | Env | Regroup | Chat { .. }) {
            self.record_wait(now_us, Waited::Left);
        }
        // In an env stage, the episode is compared.
        if !matches!(stage.view, Env | Regroup | Rest { .. } | End { .. }) {
            (self.record.lock()).stand_at(stage.index, stage.id.clone())?;
        }
        (self.act, self.outcome_us) = (None, None);
        self.drafts.stop();
        self.chat = BotChat::default();
        self.meet_stage(now_us, &stage)?;
        if !matches!(stage.view, Lobby { .. }) {
            self.plan_mishap(now_us, &stage);
        }
        // It came while the outcome of the episode before was read.
        let chat = self.tab.as_ref().and_then(|tab| tab.page.chat());
        if let Some(view) = chat.map(|chat| chat.view().clone()) {
            self.meet_chat(now_us, &view);
        }
        Ok(())
    }

    /// Finishes the stage.
    pub(super) fn be_done(&mut self, now_us: u64, answers: Vec<Answer>) {
        let Some(tab) = &mut self.tab else { return };
        let Some(stage) = tab.stage().cloned() else {
            return;
        };
        self.record.lock().given.push(Given {
            stage: stage.id.clone(),
            answers: answers.clone(),
            is_acknowledged: false,
        });
        let pages = match &stage.view {
            StageView::Instructions { pages, .. } => pages.len().max(1),
            _ => 1,
        };
        tab.call_page(now_us, |page, page_us| {
            let here_ms = page_us.saturating_sub(page.stage_since_us()) / 1_000;
            let page_ms = here_ms / pages as u64;
            page.handle_done(page_us, answers, vec![page_ms as u32; pages]);
        });
        self.done = Some(stage);
        self.expect_after_done(now_us);
    }

    /// Handles that the server sent the stage again instead of taking the answers: the person does it again.
    pub(super) fn handle_not_taken(&mut self, now_us: u64) {
        let given = self.record.lock().given.last().cloned();
        if let Some(given) = given.filter(|_| self.done.is_some()) {
            self.expect(now_us, 60, "for the server to take what was done");
            self.act = Some((now_us + self.draw_seconds(1, 3), Act::Done(given.answers)));
        }
    }

    /// Expects the next stage, if the person is done with this one, or has left.
    pub(super) fn expect_after_done(&mut self, now_us: u64) {
        let is_done = self.tab.as_ref().is_some_and(|tab| tab.page.is_done());
        if is_done || self.has_left {
            let is_rest =
                (self.stage()).is_some_and(|of| matches!(of.view, StageView::Rest { .. }));
            // Others may rest longer.
            let patience_s = if is_rest { 600 } else { 60 };
            self.expect(now_us, patience_s, "for the stage after one that is done");
        }
    }

    /// Marks earlier answers as durable once the server shows the next stage, unless it ended the session.
    fn acknowledge(&mut self, next: &ShownStage) {
        let Some(before) = self.done.take() else {
            return;
        };
        let is_cut = is_cut_short(&next.view);
        let is_reload = next.index == before.index && before.view == next.view;
        if let Some(given) = self.record.lock().given.last_mut() {
            given.is_acknowledged = !is_cut && !is_reload;
        }
    }

    pub(super) fn record_wait(&mut self, now_us: u64, how: Waited) {
        if let Some(since_us) = self.lobby_us.take() {
            let waited_us = now_us.saturating_sub(since_us);
            self.record.lock().waits.push((waited_us, how));
        }
    }

    pub(super) fn set_doing(&self, what: &'static str) {
        self.record.lock().phase = Phase::Here(what);
    }
}
