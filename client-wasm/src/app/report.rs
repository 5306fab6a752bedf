//! What tests and the demonstration ask of the page.

use env_core::Action;
use protocol::control::StageView;
use serde_json::{Value, json};

use super::App;
use super::stages::Stage;

impl App {
    /// What a scripted cook would do now.
    pub(crate) fn advise(&mut self) -> Option<Action> {
        let now = self.now();
        self.play.as_mut()?.advise(now)
    }

    /// The first key of an action.
    pub(crate) fn key_for(&self, action: Action) -> Option<String> {
        self.play.as_ref()?.key_for(action)
    }

    /// Everything that a test or a demonstration asks of the page.
    pub(crate) fn report(&mut self) -> Value {
        let mut report = json!({
            "stage_index": self.stage.as_ref().map(|stage| stage.index),
            "stage_id": self.stage.as_ref().map(|stage| stage.id.clone()),
            "stage_kind": self.stage.as_ref().map(Stage::kind),
            "outcome": self.stage.as_ref().and_then(|stage| match &stage.view {
                StageView::End { outcome, .. } => Some(outcome.clone()),
                _ => None,
            }),
            "playing": self.play.is_some(),
            "connected": self.welcomed,
            "unsaved": !self.drafts.is_kept(),
            "chat": self.chat.as_ref().map(|chat| json!({
                "open": !chat.is_closed(),
                "kept": chat.is_kept(),
                "unsaid": chat.unsaid().len(),
                "drafted": self.drafts.is_kept(),
                "unsent": self.unsent.answers.iter().map(|answer| &answer.value).collect::<Vec<_>>(),
                "lines": chat.talk().lines.iter().map(|line| &line.text).collect::<Vec<_>>(),
            })),
            "clock_rtt_ms": self.clock.rtt_us() as f64 / 1_000.0,
        });
        let now = self.now();
        let play = match &mut self.play {
            Some(play) => play.report(now),
            None => self.last_play.clone(),
        };
        if let (Some(report), Value::Object(play)) = (report.as_object_mut(), play) {
            report.extend(play);
        }
        report
    }
}
