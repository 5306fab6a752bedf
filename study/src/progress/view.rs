//! The view of a participant's page: the stage, with what depends on the participant put in.

use protocol::control::StageView;
use serde_json::Value;

use super::{Progress, way_out};
use crate::page::TextPage;
use crate::stage::StageKind;
use crate::stage::env::Rest;
use crate::study::Study;
use crate::survey::{ShownOrder, Survey};

impl Progress {
    /// The view of the participant's page.
    pub fn view(&self, study: &Study) -> StageView {
        if let Some(rest) = self.rest(study) {
            return self.rest_view(study, rest);
        }
        let scope = self.text_values(study);
        let language = self.language(study);
        let show = |page: &TextPage| page.html_for(language, &scope);
        let mut view = self.stage(study).view_with(language, &show);
        match (&mut view, &self.stage(study).kind) {
            (
                StageView::Quiz {
                    attempt, surveyjs, ..
                },
                StageKind::Quiz(quiz),
            ) => {
                *attempt = self.attempts_made().saturating_add(1);
                *surveyjs = quiz.filled_form(language, &scope).to_string();
            }
            (
                StageView::Screening {
                    lacks, attempts, ..
                },
                _,
            ) => {
                lacks.clone_from(&self.lacks);
                *attempts = attempts.saturating_sub(self.attempts_made());
            }
            (StageView::Survey { surveyjs }, StageKind::Survey(survey)) => {
                let (mut document, _) = self.arrange(study, survey);
                survey.insets.fill_in(&mut document, &scope);
                *surveyjs = document.to_string();
            }
            (StageView::Watch { task, .. }, StageKind::Watch(watch)) => {
                let turns = watch.turns_sides(self.assignment.own.seed, self.at);
                *task = watch.describe_task(language, turns);
            }
            (StageView::External { ticket, .. }, _) => {
                self.ticket().unwrap_or_default().clone_into(ticket);
            }
            (StageView::End { outcome, page, .. }, _) => {
                let own = self.outcome(study);
                if let Some(own) = own {
                    own.name().clone_into(outcome);
                }
                if let Some(own) = own.and_then(|own| way_out::way_out(study, own)) {
                    *page = show(&own);
                }
            }
            _ => {}
        }
        view
    }

    /// A form as the participant finds it at this stage, and the orders that were drawn for it.
    fn arrange(&self, study: &Study, survey: &Survey) -> (Value, Vec<ShownOrder>) {
        let seed = self.assignment.own.seed;
        survey.arrange_form(self.language(study), seed, self.at)
    }

    /// The orders that were drawn for what this stage asks.
    pub fn shown_orders(&self, study: &Study) -> Vec<ShownOrder> {
        match &self.stage(study).kind {
            StageKind::Survey(survey) => self.arrange(study, survey).1,
            _ => Vec::new(),
        }
    }

    /// The page of a rest that has just begun.
    fn rest_view(&self, study: &Study, rest: &Rest) -> StageView {
        let episodes = self.facts.episodes.get(&self.stage(study).id);
        StageView::Rest {
            page: rest
                .page
                .html_for(self.language(study), &self.text_values(study)),
            round: self.episode(study),
            score: episodes
                .and_then(|all| all.last())
                .map_or(0, |last| last.score),
            min_ms: rest.min_s * 1_000,
            max_ms: rest.max_s.map(|max_s| max_s * 1_000),
        }
    }
}
