//! The faults of one session, and their times: the scripts of [`Fault`].

use std::time::Instant;

use peer::clock::Clock as Times;
use protocol::control::{Answer, ClientMessage, MAX_MESSAGE, StageView, encode};
use protocol::{Era, Seat};
use tokio_tungstenite::tungstenite::Message;

use super::stage::Stage;
use super::talk::Talking;
use super::{Bot, S};
use crate::fault::Fault;
use crate::record::Phase;

/// The answer to a debrief of participants who withdraw their data.
const WITHDRAW: &str = "withdraw";

impl Bot {
    /// Draws whether a fault happens on a stage, and when.
    pub(super) fn tempt(&mut self, now_us: u64, stage: &Stage) {
        let view = &stage.view;
        let Some(fault) = self.fault else { return };
        let study = &self.around.study;
        let chance = fault.chance_at(view, &stage.id, study, self.mishaps);
        if self.rng.below(100) >= chance {
            return;
        }
        let after_us = match view {
            // Others may come soon.
            StageView::Lobby { .. } => self.some(0, 3),
            _ => self.some(0, 8),
        };
        if fault == Fault::Idle {
            self.note("does nothing any more");
            self.act = None;
            self.mishap_us = Some(now_us + self.some(30, 300));
            return self.expect(400, "for an idle participant to go");
        }
        self.mishap_us = Some(now_us + after_us);
    }

    /// Draws whether a fault happens in an episode of `horizon_s` seconds, and when.
    pub(super) fn tempt_play(&mut self, now_us: u64, horizon_s: u64) {
        let Some(fault) = self.fault else { return };
        let id = self.stage.as_ref().map_or("", |stage| &stage.id);
        let chance = fault.chance_in_play(id, &self.around.study, self.mishaps);
        if self.rng.below(100) < chance {
            self.mishap_us = Some(now_us + self.some(4, 4 + horizon_s));
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
                return Some(self.go(fault));
            }
            Fault::Return => {
                let away_us = self.some(1, 20);
                self.come_back(now_us + away_us);
            }
            Fault::Reload => {
                self.note("reloads");
                let back_us = now_us + 200_000 + self.some(0, 2);
                self.reload(back_us);
            }
            Fault::SecondTab => self.second_tab(now_us),
            Fault::Withdraw => self.withdraw(now_us),
            Fault::Malformed => self.malform(),
            Fault::Refuse | Fault::FailQuiz | Fault::SlowNetwork | Fault::Server => {}
        }
        None
    }

    /// Leaves for good: the page is closed, or the computer switched off.
    fn go(&mut self, fault: Fault) -> Phase {
        self.note("goes for good");
        if let Some(wire) = self.wire.take() {
            match fault {
                Fault::DropPlay | Fault::DropLobby if self.rng.below(2) == 1 => wire.cut(),
                _ => wire.send(&ClientMessage::Unloading),
            }
        }
        Phase::Gone
    }

    /// Loses the network, with the page still open; or the page, which is opened again.
    fn come_back(&mut self, at_us: u64) {
        self.record.lock().returns += 1;
        if self.rng.below(2) == 1 {
            self.note("loses the network");
            if let Some(wire) = self.wire.take() {
                wire.cut();
            }
            let now_us = self.now_us();
            self.lost(now_us);
            self.dial_us = Some(at_us);
        } else {
            self.note("closes the page, and opens it again");
            self.reload(at_us);
        }
    }

    /// Opens a new page of the same session at a time.
    pub(super) fn reload(&mut self, at_us: u64) {
        if let Some(wire) = self.wire.take() {
            wire.send(&ClientMessage::Unloading);
        }
        self.new_page(at_us);
    }

    /// Forgets what a page forgets that is opened again.
    fn new_page(&mut self, at_us: u64) {
        self.record.lock().returns += 1;
        self.leave_play();
        self.talking = Talking::default();
        self.is_welcome = false;
        (self.stage, self.act, self.done, self.is_done_sent) = (None, None, None, false);
        (self.times, self.failures) = (Times::default(), 0);
        self.asked.clear();
        self.opened_us = at_us.saturating_sub(S);
        self.dial_us = Some(at_us);
        let away_s = at_us.saturating_sub(self.now_us()) / S;
        self.expect(away_s + 60, "to be let in again");
    }

    /// Opens the link again, or duplicates the tab; the first tab must be told.
    fn second_tab(&mut self, now_us: u64) {
        self.note("opens a second tab");
        if let Some(wire) = self.wire.take() {
            let was_welcome = self.is_welcome;
            self.old = was_welcome.then(|| (wire, Instant::now()));
        }
        self.new_page(now_us);
        if self.rng.below(2) == 1 {
            self.token = None;
        }
    }

    /// Leaves the study; on a debrief that allows it, with withdrawal of the data.
    fn withdraw(&mut self, now_us: u64) {
        self.note("withdraws");
        let view = self.stage.as_ref().map(|stage| &stage.view);
        match view {
            Some(StageView::Debrief {
                allow_withdraw: true,
                ..
            }) if self.done.is_none() => {
                self.record.lock().has_withdrawn = true;
                self.act = None;
                let answer = Answer {
                    name: WITHDRAW.to_owned(),
                    value: "true".to_owned(),
                };
                self.be_done(now_us, vec![answer]);
            }
            _ => self.leave(),
        }
    }

    /// Returns from the page of another site, in the same tab.
    pub(super) fn return_by(&mut self, now_us: u64, ticket: String) {
        self.note("comes back from a page of another site");
        self.reload(now_us);
        self.ticket = Some(ticket);
    }

    /// Sends a message that no real page sends.
    fn malform(&mut self) {
        // A message that waits for an answer would be sent again.
        let kind = self.rng.below(6);
        let Some(wire) = self.wire.as_ref().filter(|_| self.done.is_none()) else {
            return;
        };
        let nonsense = |len: usize, byte: u8| vec![byte; len];
        let frame = match kind {
            0 => Message::Binary(nonsense(40, 0xff).into()),
            1 => Message::Text("{\"hello\": true}".into()),
            2 => Message::Binary(nonsense(MAX_MESSAGE + 1, protocol::VERSION).into()),
            3 => Message::Binary(nonsense(3, protocol::VERSION + 1).into()),
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
                Message::Binary(encode(&done).into())
            }
            _ => {
                let silent = ClientMessage::Silent {
                    era: Era(60_000),
                    seat: Seat(200),
                    silent: true,
                };
                Message::Binary(encode(&silent).into())
            }
        };
        wire.send_raw(frame);
        self.note("sends what no page sends");
    }
}
