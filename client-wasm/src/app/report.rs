//! The report of the page, for tests and the demonstration.

use env_core::Action;
use protocol::control::StageView;
use serde_json::{Value, json};

use super::App;
use super::stages::kind_of;
use crate::episode::play::Play;
use crate::shell::dom;

impl App {
    /// The action that a scripted cook would take now.
    pub(crate) fn advise(&mut self) -> Option<Action> {
        self.with_play(dom::page_us(), Play::advise)?
    }

    /// The first key of an action.
    pub(crate) fn key_for(&self, action: Action) -> Option<String> {
        self.play.as_ref()?.key_for(action)
    }

    /// Everything that a test or a demonstration asks of the page.
    pub(crate) fn report(&mut self) -> Value {
        let page = &self.page;
        let stage = page.stage();
        let mut report = json!({
            "stage_index": stage.map(|stage| stage.index),
            "stage_id": stage.map(|stage| stage.id.clone()),
            "stage_kind": stage.map(|stage| kind_of(&stage.view)),
            "outcome": stage.and_then(|stage| match &stage.view {
                StageView::End { outcome, .. } => Some(outcome.clone()),
                _ => None,
            }),
            "playing": self.play.is_some(),
            "connected": page.is_welcomed(),
            "unsaved": !page.is_stored(),
            "chat": page.chat().map(|chat| json!({
                "open": !chat.is_closed(),
                "kept": chat.is_kept(),
                "unsaid": chat.unsent_messages().len(),
                "drafted": page.is_stored(),
                "unsent": page.unsent_draft().answers.iter().map(|answer| &answer.value).collect::<Vec<_>>(),
                "lines": chat.view().messages.iter().map(|line| &line.text).collect::<Vec<_>>(),
            })),
            "clock_rtt_ms": page.server_rtt_us() as f64 / 1_000.0,
        });
        let now_us = dom::page_us();
        let play = self.with_play(now_us, |play, peer, now| play.report(peer, now));
        let play = play.unwrap_or_else(|| self.last_play.clone());
        if let (Some(report), Value::Object(play)) = (report.as_object_mut(), play) {
            report.extend(play);
        }
        report
    }
}
