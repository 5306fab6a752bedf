//! Half-finished forms: the server stores the answers so far, and they are still there after a reload.

use protocol::control::{Answer, ClientMessage, Draft, StageView};

use super::Bot;
use super::person::Act;
use super::stage::Stage;

/// Drafts of a form, and what the server has promised to store.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    /// The stage that they belong to.
    of: Option<Stage>,
    /// All drafts that were sent, by their number.
    sent: Vec<Draft>,
    /// The number of the last one that is durable.
    kept: Option<usize>,
    /// When the next one is sent.
    due_us: Option<u64>,
}

impl Drafts {
    /// When the next one is sent.
    pub(super) fn due_us(&self) -> Option<u64> {
        self.due_us
    }

    /// Notes that the server has made a draft durable.
    pub(super) fn kept(&mut self, number: u32) {
        self.kept = self.kept.max(Some(number as usize));
    }

    /// Notes that a form is shown, to be answered within some time: a draft of it is sent halfway.
    pub(super) fn begin(&mut self, now_us: u64, within_us: u64) {
        self.due_us = Some(now_us + within_us / 2);
    }

    /// Checks that a stage from the server comes with the draft that was promised.
    ///
    /// # Errors
    /// A sentence, if it does not.
    pub(super) fn check(&mut self, stage: &Stage, draft: Option<&Draft>) -> Result<(), String> {
        // A participant who is away while others of the group are gone finds the draft on returning.
        if stage.view == StageView::Regroup {
            return Ok(());
        }
        if self.of.as_ref() != Some(stage) {
            *self = Self {
                of: Some(stage.clone()),
                ..Self::default()
            };
        }
        let Some(draft) = draft else {
            return match self.kept {
                None => Ok(()),
                Some(_) => Err("the server has lost what was answered so far".to_owned()),
            };
        };
        // A draft that was sent after the last one that is known to be durable may be durable too.
        let mut known = self.sent.iter().skip(self.kept.unwrap_or(0));
        match known.any(|known| known.answers == draft.answers) {
            true => Ok(()),
            false => Err(format!("nobody has answered so far: {:?}", draft.answers)),
        }
    }
}

impl Bot {
    /// Sends the answers so far to the server, when it is time.
    pub(super) fn draft(&mut self, now_us: u64) {
        if self
            .drafts
            .due_us
            .take_if(|at_us| *at_us <= now_us)
            .is_none()
            || !self.is_welcome
        {
            return;
        }
        let (Some((_, Act::Done(answers))), Some(stage)) = (&self.act, &self.stage) else {
            return;
        };
        let half: Vec<Answer> = match self.talking.unsent() {
            Some(unsent) => unsent,
            None => answers[..answers.len().div_ceil(2)].to_vec(),
        };
        let draft = Draft {
            page: 0,
            pages_ms: vec![((now_us - self.since_us) / 1_000) as u32],
            answers: half,
        };
        let message = ClientMessage::Draft {
            number: self.drafts.sent.len() as u32,
            stage: stage.index,
            draft: draft.clone(),
        };
        self.drafts.sent.push(draft);
        self.say(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_that_was_promised_must_be_there_and_a_later_one_may_be() {
        let stage = |index| Stage {
            index,
            count: 3,
            id: "form".to_owned(),
            view: StageView::Survey {
                surveyjs: "{}".to_owned(),
            },
        };
        let draft = |value: &str| Draft {
            answers: vec![Answer {
                name: "item".to_owned(),
                value: value.to_owned(),
            }],
            ..Draft::default()
        };
        let mut drafts = Drafts::default();
        assert!(drafts.check(&stage(1), None).is_ok());
        drafts.sent = vec![draft("1"), draft("2"), draft("3")];
        assert!(drafts.check(&stage(1), None).is_ok(), "none was promised");
        drafts.kept(1);
        assert!(drafts.check(&stage(1), None).is_err());
        assert!(drafts.check(&stage(1), Some(&draft("1"))).is_err());
        assert!(drafts.check(&stage(1), Some(&draft("2"))).is_ok());
        assert!(drafts.check(&stage(1), Some(&draft("3"))).is_ok());
        assert!(drafts.check(&stage(2), None).is_ok());
        assert!(drafts.check(&stage(2), Some(&draft("3"))).is_err());
        drafts.sent = vec![draft("4")];
        drafts.kept(0);
        let regroup = Stage {
            view: StageView::Regroup,
            ..stage(2)
        };
        assert!(drafts.check(&regroup, Some(&draft("4"))).is_ok());
        assert!(drafts.check(&stage(2), Some(&draft("4"))).is_ok());
    }
}
