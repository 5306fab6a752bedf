//! The faults of one session, and their times: the scripts of [`Fault`].

use protocol::control::{Answer, ClientMessage, MAX_MESSAGE, StageView, encode};
use protocol::{Era, Seat, Tick};

use client_core::{PageEffect, ShownStage};

use super::chat::BotChat;
use super::{Bot, BotEffect, RawFrame, S, TOLD_WITHIN_S};
use crate::fault::Fault;
use crate::record::Phase;

/// The answer to a debrief of participants who withdraw their data.
const WITHDRAW: &str = "withdraw";

impl Bot {
    /// Draws whether a fault happens on a stage, and when.
    pub(super) fn plan_mishap(&mut self, now_us: u64, stage: &ShownStage) {
        let view = &stage.view;
        let Some(fault) = self.fault else { return };
        let study = &self.info.study;
        let chance = fault.chance_at(view, &stage.id, study, self.mishaps);
        if self.rng.draw_below(100) >= chance {
            return;
        }
        let after_us = match view {
            // Others may come soon.
            StageView::Lobby { .. } => self.draw_seconds(0, 3),
            _ => self.draw_seconds(0, 8),
        };
        if fault == Fault::Idle {
            self.note(now_us, "does nothing any more");
            self.act = None;
            self.mishap_us = Some(now_us + self.draw_seconds(30, 300));
            return self.expect(now_us, 400, "for an idle participant to go");
        }
        self.mishap_us = Some(now_us + after_us);
    }

    /// Draws whether a fault happens in an episode of `horizon` ticks, and when: before it begins, or at a tick of its
    /// first three quarters. A time on the clock could be that of its end, so that a late machine would decide.
    pub(super) fn tempt_play(&mut self, now_us: u64, horizon: u32) {
        self.mishap_tick = None;
        let Some(fault) = self.fault else { return };
        let id = self.stage().map_or("", |stage| &stage.id);
        let chance = fault.chance_in_play(id, &self.info.study, self.mishaps);
        if self.rng.draw_below(100) < chance {
            match self.rng.draw_below(4) {
                0 => self.mishap_us = Some(now_us + self.draw_seconds(0, 2)),
                _ => {
                    let ticks = horizon as usize * 3 / 4;
                    self.mishap_tick = Some(Tick(self.rng.draw_below(ticks.max(1)) as u32));
                }
            }
        }
        if fault == Fault::SlowNetwork {
            self.record.lock().happened = true;
        }
    }

    /// Carries out the fault. Returns the end, if it ends the session.
    pub(super) fn go_wrong(&mut self, now_us: u64) -> Option<Phase> {
        let fault = self.fault?;
        self.mishaps += 1;
        self.record.lock().happened = true;
        match fault {
            Fault::DropLobby | Fault::DropPlay | Fault::CloseSurvey | Fault::Idle => {
                return Some(self.go(now_us, fault));
            }
            Fault::Return => {
                let away_us = self.draw_seconds(1, 20);
                self.come_back(now_us, now_us + away_us);
            }
            Fault::Reload => {
                self.note(now_us, "reloads");
                let back_us = now_us + 200_000 + self.draw_seconds(0, 2);
                self.reload_page(now_us, back_us);
            }
            Fault::SecondTab => self.second_tab(now_us),
            Fault::Withdraw => self.withdraw(now_us),
            Fault::Malformed => self.malform(now_us),
            Fault::Refuse | Fault::FailQuiz | Fault::SlowNetwork | Fault::Server => {}
        }
        None
    }

    /// Leaves permanently: the page is closed, or the computer switched off.
    fn go(&mut self, now_us: u64, fault: Fault) -> Phase {
        self.note(now_us, "goes for good");
        match fault {
            Fault::DropPlay | Fault::DropLobby if self.rng.draw_below(2) == 1 => self.cut(),
            _ => self.close_tab(now_us),
        }
        Phase::Gone
    }

    /// Cuts the connection, as a computer that is switched off does.
    fn cut(&mut self) {
        if let Some((_, wire)) = self.tab.as_mut().and_then(|tab| tab.wire.take()) {
            self.effects.push_back(BotEffect::Cut(wire));
        }
    }

    /// Closes the tab, which says so to the server.
    fn close_tab(&mut self, now_us: u64) {
        self.close_channels();
        let Some(mut tab) = self.tab.take() else {
            return;
        };
        tab.call_page(now_us, |page, at_us| page.handle_leaving(at_us));
        let Some((_, wire)) = tab.wire else { return };
        while let Some(effect) = tab.page.poll_effect() {
            if let PageEffect::Send(message) = effect {
                self.record.lock().trace.note_sent(now_us, &message);
                if let ClientMessage::Draft { number, draft, .. } = &message {
                    self.drafts.record_sent(tab.number, *number, draft);
                }
                self.effects.push_back(BotEffect::Send(wire, message));
            }
        }
        self.effects.push_back(BotEffect::Close(wire));
    }

    /// Loses the network, with the page still open; or the page, which is opened again.
    fn come_back(&mut self, now_us: u64, at_us: u64) {
        self.record.lock().returns += 1;
        let wire = self.tab.as_ref().and_then(|tab| tab.wire);
        if self.rng.draw_below(2) == 1 {
            self.note(now_us, "loses the network");
            self.offline_us = Some(at_us);
            if let Some((_, wire)) = wire {
                self.effects.push_back(BotEffect::Cut(wire));
                self.lose(now_us, wire);
            }
        } else {
            self.note(now_us, "closes the page, and opens it again");
            self.reload_page(now_us, at_us);
        }
    }

    /// Opens a new page of the same session at a time.
    pub(super) fn reload_page(&mut self, now_us: u64, at_us: u64) {
        self.close_tab(now_us);
        self.new_page(now_us, at_us);
    }

    /// Forgets what a person forgets when their page is opened again.
    fn new_page(&mut self, now_us: u64, at_us: u64) {
        self.record.lock().returns += 1;
        self.tab = None;
        self.late.clear();
        self.chat = BotChat::default();
        (self.act, self.done, self.outcome_us) = (None, None, None);
        (self.has_left, self.offline_us) = (false, None);
        self.opens_us = Some(at_us);
        let away_s = at_us.saturating_sub(now_us) / S;
        self.expect(now_us, away_s + 60, "to be let in again");
    }

    /// Opens the link again, or duplicates the tab; the first tab must be told.
    fn second_tab(&mut self, now_us: u64) {
        self.note(now_us, "opens a second tab");
        self.close_channels();
        let first = self.tab.take();
        if let Some(tab) = first {
            match (tab.page.is_welcomed(), tab.wire) {
                (true, _) => self.old = Some((tab, now_us + TOLD_WITHIN_S * S)),
                (false, Some((_, wire))) => self.effects.push_back(BotEffect::Close(wire)),
                (false, None) => {}
            }
        }
        self.new_page(now_us, now_us);
        if self.rng.draw_below(2) == 1 {
            self.token = None;
            if self.way.is_known_to_others() {
                self.drafts.forget_earlier();
            }
        }
    }

    /// Leaves the study; on a debrief that allows it, with withdrawal of the data.
    fn withdraw(&mut self, now_us: u64) {
        self.note(now_us, "withdraws");
        let is_done = self.tab.as_ref().is_none_or(|tab| tab.page.is_done());
        let view = self.stage().map(|stage| &stage.view);
        match view {
            Some(StageView::Debrief {
                allow_withdraw: true,
                ..
            }) if !is_done => {
                self.record.lock().has_withdrawn = true;
                self.act = None;
                let answer = Answer {
                    name: WITHDRAW.to_owned(),
                    value: "true".to_owned(),
                };
                self.be_done(now_us, vec![answer]);
            }
            _ => self.leave(now_us),
        }
    }

    /// Returns from the page of another site, in the same tab.
    pub(super) fn return_by(&mut self, now_us: u64, ticket: String) {
        self.note(now_us, "comes back from a page of another site");
        self.reload_page(now_us, now_us);
        self.ticket = Some(ticket);
    }

    /// Sends a message that no real page sends.
    fn malform(&mut self, now_us: u64) {
        let kind = self.rng.draw_below(6);
        // A message that waits for an answer would be sent again.
        let tab = self.tab.as_ref().filter(|tab| !tab.page.is_done());
        let Some((_, wire)) = tab.filter(|_| !self.has_left).and_then(|tab| tab.wire) else {
            return;
        };
        let nonsense = |len: usize, byte: u8| RawFrame::Binary(vec![byte; len]);
        let frame = match kind {
            0 => nonsense(40, 0xff),
            1 => RawFrame::Text("{\"hello\": true}".to_owned()),
            2 => nonsense(MAX_MESSAGE + 1, protocol::VERSION),
            3 => nonsense(3, protocol::VERSION + 1),
            4 => {
                // Well-formed, and about something that does not exist.
                let done = ClientMessage::StageDone {
                    stage: 9_999,
                    answers: vec![Answer {
                        name: "x".repeat(300),
                        value: "[".to_owned(),
                    }],
                    pages_ms: vec![u32::MAX; 60],
                };
                RawFrame::Binary(encode(&done))
            }
            _ => {
                let silent = ClientMessage::Silent {
                    era: Era(60_000),
                    seat: Seat(200),
                    silent: true,
                };
                RawFrame::Binary(encode(&silent))
            }
        };
        self.effects.push_back(BotEffect::SendRaw(wire, frame));
        self.note(now_us, "sends what no page sends");
    }
}
