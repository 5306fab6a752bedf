//! Half-finished stages: the server stores the answers so far, and they are still there after a reload.

use client_core::ShownStage;
use protocol::control::{Draft, StageView};
use survey::Form;

use super::chat::WORDS;
use super::person::Act;
use super::{Bot, S};
use crate::answers::to_answers;

/// Drafts of a stage, and what the server has promised to store.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    /// The stage that they belong to.
    of: Option<ShownStage>,
    /// All drafts that were sent, by tab and number.
    sent: Vec<((u32, u32), Draft)>,
    /// The index of the last one that is durable.
    kept: Option<usize>,
    /// When the next one is made.
    due_us: Option<u64>,
}

impl Drafts {
    /// When the next one is made.
    pub(super) fn due_us(&self) -> Option<u64> {
        self.due_us
    }

    /// Notes that a page sends a draft.
    pub(super) fn record_sent(&mut self, tab: u32, number: u32, draft: &Draft) {
        let key = (tab, number);
        // One that the server has not answered is sent again.
        if self.sent.iter().all(|(known, _)| *known != key) {
            self.sent.push((key, draft.clone()));
        }
    }

    /// Notes that the server has made a draft durable.
    pub(super) fn handle_stored(&mut self, tab: u32, number: u32) {
        let mut known = self.sent.iter();
        let at = known.position(|(known, _)| *known == (tab, number));
        self.kept = self.kept.max(at);
    }

    /// Notes that the next page must not see the answers so far: it enters by an identifier that others may know.
    pub(super) fn forget_earlier(&mut self) {
        (self.sent, self.kept) = (Vec::new(), None);
    }

    /// Notes that a form is shown, to be answered within some time: a draft of it is made halfway.
    pub(super) fn begin_draft(&mut self, now_us: u64, within_us: u64) {
        self.due_us = Some(now_us + within_us / 2);
    }

    /// Forgets the draft that was to be made.
    pub(super) fn stop(&mut self) {
        self.due_us = None;
    }

    /// Checks that a stage from the server comes with the draft that was promised.
    ///
    /// # Errors
    /// A sentence, if it does not.
    pub(super) fn check(
        &mut self,
        stage: &ShownStage,
        draft: Option<&Draft>,
    ) -> Result<(), String> {
        // A participant who is away while others of the group are gone finds the draft on returning.
        if stage.view == StageView::Regroup {
            return Ok(());
        }
        if self.of.as_ref() != Some(stage) {
            let is_here = (self.of.as_ref()).is_some_and(|before| before.index == stage.index);
            let before = std::mem::take(self);
            *self = Self {
                of: Some(stage.clone()),
                // Another attempt begins without a draft, and a rest has that of its stage.
                sent: if is_here { before.sent } else { Vec::new() },
                ..Self::default()
            };
        }
        // A form with a time limit comes with the time that is gone, whether or not anything was answered.
        let is_untouched = |draft: &&Draft| self.sent.is_empty() && is_untouched(stage, draft);
        let Some(draft) = draft.filter(|draft| !is_untouched(draft)) else {
            return match self.kept {
                None => Ok(()),
                Some(_) => Err("the server has lost what was answered so far".to_owned()),
            };
        };
        // A draft that was sent after the last one that is known to be durable may be durable too.
        let mut known = self.sent.iter().skip(self.kept.unwrap_or(0));
        match known.any(|(_, known)| known.answers == draft.answers) {
            true => Ok(()),
            false => Err(format!("nobody has answered so far: {:?}", draft.answers)),
        }
    }
}

/// True if a draft of a form with a time limit has nothing that somebody answered.
fn is_untouched(stage: &ShownStage, draft: &Draft) -> bool {
    let StageView::Survey { surveyjs } = &stage.view else {
        return false;
    };
    let form = Form::read(surveyjs).unwrap_or_default();
    form.time_limit_s.is_some() && draft.answers == to_answers(form.defaults())
}

impl Bot {
    /// Types the answers so far into the page, when it is time.
    pub(super) fn draft(&mut self, now_us: u64) {
        if self
            .drafts
            .due_us
            .take_if(|at_us| *at_us <= now_us)
            .is_none()
        {
            return;
        }
        let Some((_, Act::Done(answers))) = &self.act else {
            return;
        };
        let half = answers[..answers.len().div_ceil(2)].to_vec();
        let Some(tab) = &mut self.tab else { return };
        let is_chat = (tab.stage()).is_some_and(|of| matches!(of.view, StageView::Chat { .. }));
        tab.call_page(now_us, |page, page_us| match is_chat {
            true => page.handle_typed(page_us, WORDS[0]),
            false => {
                let here_ms = page_us.saturating_sub(page.stage_since_us()) / (S / 1_000);
                let draft = Draft {
                    page: 0,
                    pages_ms: vec![here_ms as u32],
                    answers: half,
                };
                page.handle_draft(page_us, draft);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use protocol::control::Answer;

    use super::*;

    #[test]
    fn a_draft_that_was_promised_must_be_there_and_a_later_one_may_be() {
        let stage = |index| ShownStage {
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
        for (number, value) in ["1", "2", "3"].into_iter().enumerate() {
            drafts.record_sent(0, number as u32, &draft(value));
        }
        assert!(drafts.check(&stage(1), None).is_ok(), "none was promised");
        drafts.handle_stored(0, 1);
        assert!(drafts.check(&stage(1), None).is_err());
        assert!(drafts.check(&stage(1), Some(&draft("1"))).is_err());
        assert!(drafts.check(&stage(1), Some(&draft("2"))).is_ok());
        assert!(drafts.check(&stage(1), Some(&draft("3"))).is_ok());
        assert!(drafts.check(&stage(2), None).is_ok());
        assert!(drafts.check(&stage(2), Some(&draft("3"))).is_err());
        drafts.record_sent(1, 0, &draft("4"));
        drafts.handle_stored(1, 0);
        let regroup = ShownStage {
            view: StageView::Regroup,
            ..stage(2)
        };
        assert!(drafts.check(&regroup, Some(&draft("4"))).is_ok());
        assert!(drafts.check(&stage(2), Some(&draft("4"))).is_ok());
        drafts.forget_earlier();
        assert!(drafts.check(&stage(2), None).is_ok());
        let seen = drafts.check(&stage(2), Some(&draft("4")));
        assert!(seen.is_err(), "somebody else's");
    }
}
