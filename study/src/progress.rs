//! One participant's way through the timeline: events in, the next stage or a refusal out.
//! The value is small and serialisable; the server keeps it, so a reload goes on where it was.

use protocol::control::{Answer, EndReason, StageView};
use serde::{Deserialize, Serialize};

use crate::load::Study;
use crate::stage::{Kind, Outcome, Stage};

/// Where a participant is. The position never goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    stage: u16,
    /// What replaces the outcome that the end stage declares.
    cut: Option<Outcome>,
}

/// What happened to the participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The page says that the person is done with a stage.
    StageDone {
        /// Index of the stage.
        stage: u16,
        /// Answers, for a survey.
        answers: &'a [Answer],
    },
    /// The lobby made a group with the participant in it.
    Matched,
    /// The episode of the participant's group is over.
    EpisodeEnded {
        /// Why.
        reason: EndReason,
    },
    /// The participant leaves on purpose.
    Left,
}

/// What an event led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: the event was for a stage that is not the current one, such as a message sent again.
    Stay,
    /// The participant is now in the stage with this index.
    Enter(u16),
}

/// Why an event was refused; the participant stays where they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A page cannot end this stage.
    #[error("the stage `{stage}` ends by itself, not by a page")]
    NotByPage {
        /// Id of the stage.
        stage: String,
    },
    /// The form has no such item.
    #[error("this stage has no question `{name}`")]
    UnknownItem {
        /// Name of the item.
        name: String,
    },
    /// An item is there twice.
    #[error("the question `{name}` was answered twice")]
    Twice {
        /// Name of the item.
        name: String,
    },
    /// A required item is missing.
    #[error("the question `{name}` must be answered")]
    Missing {
        /// Name of the item.
        name: String,
    },
    /// A value that the item does not take.
    #[error("the answer to `{name}` is not one that this question takes")]
    BadAnswer {
        /// Name of the item.
        name: String,
    },
}

impl Progress {
    /// At the first stage.
    pub fn new() -> Self {
        Self::default()
    }

    /// Index of the current stage.
    pub fn index(&self) -> u16 {
        self.stage
    }

    /// The current stage. A position beyond the study, kept from another version of it, is its end.
    pub fn stage<'a>(&self, study: &'a Study) -> &'a Stage {
        study
            .timeline
            .get(usize::from(self.stage))
            .unwrap_or(study.last())
    }

    /// The outcome, once the participant is in an end stage.
    pub fn outcome(&self, study: &Study) -> Option<Outcome> {
        match &self.stage(study).kind {
            Kind::End(end) => Some(self.cut.unwrap_or(end.outcome)),
            _ => None,
        }
    }

    /// What the participant's page shows.
    pub fn view(&self, study: &Study) -> StageView {
        let mut view = self.stage(study).view();
        if let (StageView::End { outcome, .. }, Some(own)) = (&mut view, self.outcome(study)) {
            own.name().clone_into(outcome);
        }
        view
    }

    /// Takes an event.
    ///
    /// # Errors
    /// A [`Refusal`]; nothing has changed then.
    pub fn handle(&mut self, study: &Study, event: Event<'_>) -> Result<Step, Refusal> {
        let stage = self.stage(study);
        match (event, &stage.kind) {
            (_, Kind::End(_)) => Ok(Step::Stay),
            (Event::Left, _) => {
                self.cut = Some(Outcome::Withdrew);
                Ok(self.enter(study.timeline.len() - 1))
            }
            (Event::StageDone { stage, .. }, _) if stage != self.stage => Ok(Step::Stay),
            (Event::StageDone { answers, .. }, Kind::Instructions(_)) => match answers.first() {
                Some(answer) => Err(Refusal::UnknownItem {
                    name: answer.name.chars().take(60).collect(),
                }),
                None => Ok(self.next()),
            },
            (Event::StageDone { answers, .. }, Kind::Survey(survey)) => {
                survey.check(answers).map(|()| self.next())
            }
            (Event::StageDone { .. }, Kind::Lobby(_) | Kind::Env(_)) => Err(Refusal::NotByPage {
                stage: stage.id.clone(),
            }),
            (Event::Matched, Kind::Lobby(_)) => Ok(self.next()),
            (Event::EpisodeEnded { reason }, Kind::Env(_)) => {
                // The first thing that went wrong names the outcome; the rest of the study is still theirs.
                self.cut = self.cut.or(match reason {
                    EndReason::Played => None,
                    EndReason::PartnerLeft => Some(Outcome::PartnerLeft),
                    EndReason::Technical => Some(Outcome::Technical),
                });
                Ok(self.next())
            }
            (Event::Matched | Event::EpisodeEnded { .. }, _) => Ok(Step::Stay),
        }
    }

    /// The last stage is an end stage, in which no event leads on: so there is always a next one.
    fn next(&mut self) -> Step {
        self.enter(usize::from(self.stage) + 1)
    }

    fn enter(&mut self, stage: usize) -> Step {
        self.stage = u16::try_from(stage).unwrap_or(u16::MAX);
        Step::Enter(self.stage)
    }
}
