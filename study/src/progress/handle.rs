//! How an event moves a participant on: to the next visit, to another try, or to the end.

use protocol::control::{Answer, EndReason};
use serde_json::Value;

use super::Progress;
use super::event::{ProgressEvent, ProgressStep};
use super::facts::Episode;
use crate::outcome::Outcome;
use crate::refusal::EventRefusal;
use crate::screening::{Measured, Screening};
use crate::stage::env::Env;
use crate::stage::external::ExternalExit;
use crate::stage::quiz::Quiz;
use crate::stage::{Stage, StageKind};
use crate::study::Study;
use crate::timeline::route::{Visit, make_route};

impl Progress {
    /// Takes an event.
    ///
    /// # Errors
    /// A [`EventRefusal`]; nothing has changed then.
    pub fn handle(
        &mut self,
        study: &Study,
        event: ProgressEvent<'_>,
    ) -> Result<ProgressStep, EventRefusal> {
        let stage = self.stage(study);
        match (event, &stage.kind) {
            (_, StageKind::End(_)) => Ok(ProgressStep::Stay),
            (ProgressEvent::Left, _) => Ok(self.leave(study, Outcome::LeftEarly)),
            (ProgressEvent::Cut(outcome), StageKind::Lobby(lobby))
                if self.rematched && outcome == lobby.or_else =>
            {
                // They had a partner, and did nothing to lose them.
                Ok(self.leave(study, Outcome::PartnerLeft))
            }
            (ProgressEvent::Cut(outcome), _) => Ok(self.leave(study, outcome)),
            (
                ProgressEvent::StageDone { at, .. }
                | ProgressEvent::TimeUp { at, .. }
                | ProgressEvent::Drafted { at, .. },
                _,
            ) if at != self.at => Ok(ProgressStep::Stay),
            (ProgressEvent::TimeUp { answers, .. }, StageKind::Survey(survey))
                if survey.time_limit_s().is_some() =>
            {
                survey.check_unfinished(answers)?;
                self.keep_answers(&stage.id, answers);
                Ok(self.next(study))
            }
            (
                ProgressEvent::StageDone { answers, .. } | ProgressEvent::TimeUp { answers, .. },
                _,
            ) => self.done(study, stage, answers),
            (ProgressEvent::Drafted { draft, .. }, kind) => {
                kind.check_draft(draft)?;
                self.draft = Some(Box::new(draft.clone()));
                Ok(ProgressStep::Keep)
            }
            (ProgressEvent::Returned, StageKind::External(_)) => Ok(self.next(study)),
            (ProgressEvent::Withdrawn { at }, StageKind::Debrief(debrief))
                if at == self.at && debrief.allow_withdraw =>
            {
                self.otherwise = self.cut.or(study.last_outcome());
                Ok(self.leave(study, Outcome::Withdrew))
            }
            (ProgressEvent::Matched { draw, seat }, StageKind::Lobby(_)) => {
                self.facts.seat = seat;
                self.rematched = false;
                self.assignment.groups.insert(self.at, draw.clone());
                Ok(self.next(study))
            }
            (ProgressEvent::Rematched, StageKind::Env(_)) => Ok(self.rematch(study)),
            (ProgressEvent::EpisodeEnded(episode), StageKind::Env(env)) => {
                Ok(self.played(study, stage, env, episode))
            }
            (
                ProgressEvent::Matched { .. }
                | ProgressEvent::EpisodeEnded(_)
                | ProgressEvent::Rematched
                | ProgressEvent::Returned
                | ProgressEvent::Withdrawn { .. },
                _,
            ) => Ok(ProgressStep::Stay),
        }
    }

    /// A page is done with the current stage.
    fn done(
        &mut self,
        study: &Study,
        stage: &Stage,
        answers: &[Answer],
    ) -> Result<ProgressStep, EventRefusal> {
        match &stage.kind {
            StageKind::External(external) => match external.way_out(answers)? {
                ExternalExit::On => Ok(self.next(study)),
                ExternalExit::Out(outcome) => Ok(self.leave(study, outcome)),
            },
            StageKind::Instructions(_) | StageKind::Debrief(_) | StageKind::Chat(_) => {
                match answers.first() {
                    Some(answer) => Err(EventRefusal::UnknownItem {
                        name: answer.name.chars().take(60).collect(),
                    }),
                    None => Ok(self.next(study)),
                }
            }
            StageKind::Watch(watch) => {
                watch.check(answers)?;
                Ok(self.next(study))
            }
            StageKind::Screening(screening) => self.screen(study, screening, answers),
            StageKind::Consent(consent) => {
                if !consent.has_agreed(answers)? {
                    return Ok(self.leave(study, consent.or_else));
                }
                self.keep_answers(&stage.id, answers);
                self.record_measured(study);
                Ok(self.next(study))
            }
            StageKind::Quiz(quiz) => {
                let is_right = quiz.list_wrong(answers)?.is_empty();
                self.keep_answers(&stage.id, answers);
                Ok(match is_right {
                    true => self.next(study),
                    false => self.try_again(study, quiz),
                })
            }
            StageKind::Survey(survey) => {
                survey.check(answers)?;
                self.keep_answers(&stage.id, answers);
                Ok(self.next(study))
            }
            StageKind::Env(_) if self.resting => {
                self.resting = false;
                Ok(ProgressStep::Enter(self.at))
            }
            StageKind::Lobby(_) | StageKind::Env(_) | StageKind::End(_) => {
                Err(EventRefusal::NotByPage {
                    stage: stage.id.clone(),
                })
            }
        }
    }

    /// An episode of the current visit is over.
    fn played(
        &mut self,
        study: &Study,
        stage: &Stage,
        env: &Env,
        episode: &Episode,
    ) -> ProgressStep {
        // The first thing that went wrong names the outcome; the rest of the study is still theirs.
        self.cut = self.cut.or(match episode.reason {
            EndReason::Played => None,
            EndReason::PartnerLeft => Some(Outcome::PartnerLeft),
            EndReason::Technical => Some(Outcome::Technical),
        });
        let route = make_route(study, &self.assignment);
        let visit = route.get(usize::from(self.at));
        let mut episode = episode.clone();
        episode.success = visit.and_then(|visit| env.course.judge(&episode, &visit.bindings));
        let (is_unplayed, reason) = (episode.is_unplayed(), episode.reason);
        let episodes = self.facts.episodes.entry(stage.id.clone()).or_default();
        episodes.push(episode);
        let before = episodes.len().saturating_sub(usize::from(self.played) + 1);
        let visit = episodes[before..].iter();
        let succeeded: Vec<bool> = visit.map(Episode::is_success).collect();
        // What follows in its copy is about an episode that was not.
        match is_unplayed {
            true => self.pass_over(study),
            false => self.another(study, env, reason, &succeeded),
        }
    }

    /// Goes back to the lobby that was passed last. Nothing of the episode counts.
    fn rematch(&mut self, study: &Study) -> ProgressStep {
        let route = make_route(study, &self.assignment);
        let is_lobby = |visit: &Visit<'_>| study.lobby(visit.stage).is_some();
        let mut before = route.iter().take(usize::from(self.at));
        let Some(lobby) = before.rposition(is_lobby) else {
            return ProgressStep::Stay;
        };
        self.assignment.groups.remove(&(lobby as u16));
        (self.facts.seat, self.rematched) = (None, true);
        self.enter(study, lobby as u16)
    }

    /// Takes the measurements of a page, or the message that the person gives up.
    fn screen(
        &mut self,
        study: &Study,
        screening: &Screening,
        answers: &[Answer],
    ) -> Result<ProgressStep, EventRefusal> {
        if answers.is_empty() {
            return Ok(self.leave(study, screening.or_else));
        }
        let measured = Measured::read(answers)?;
        self.lacks = screening.list_lacks(&measured, self.language(study));
        if self.lacks.is_empty() {
            self.measured = Some(Box::new(measured));
            self.record_measured(study);
            return Ok(self.next(study));
        }
        let tried = self.attempts_made().saturating_add(1);
        self.tries.insert(self.at, tried);
        Ok(match tried >= screening.attempts {
            true => self.leave(study, screening.or_else),
            false => self.enter(study, self.at),
        })
    }

    /// Keeps the measurements, once nothing prevents it any more.
    fn record_measured(&mut self, study: &Study) {
        if study.may_record(self.stage) {
            self.facts.screening = self.measured.take().or(self.facts.screening.take());
        }
    }

    /// Continues with the next episode of the visit, perhaps after a rest, or with the next visit. A visit ends if one
    /// of its episodes could not be played. Each of its episodes so far has succeeded or not.
    fn another(
        &mut self,
        study: &Study,
        env: &Env,
        reason: EndReason,
        succeeded: &[bool],
    ) -> ProgressStep {
        self.played = self.played.saturating_add(1);
        self.successes += u16::from(succeeded.last() == Some(&true));
        let is_whole = reason == EndReason::Played;
        if !is_whole || !env.course.goes_on(succeeded) {
            return self.next(study);
        }
        self.resting = env.screen.rest.is_some();
        ProgressStep::Enter(self.at)
    }

    /// Keeps answers for formulas to ask about.
    fn keep_answers(&mut self, stage: &str, answers: &[Answer]) {
        let value = |answer: &Answer| serde_json::from_str(&answer.value).unwrap_or(Value::Null);
        let answers = answers
            .iter()
            .map(|answer| (answer.name.clone(), value(answer)));
        self.facts
            .answers
            .insert(stage.to_owned(), answers.collect());
    }

    /// Attempts at the quiz of the current position that were not right.
    pub(super) fn attempts_made(&self) -> u8 {
        self.tries.get(&self.at).copied().unwrap_or(0)
    }

    /// Goes back for another attempt at the quiz of the current position, or ends the way if none is left.
    fn try_again(&mut self, study: &Study, quiz: &Quiz) -> ProgressStep {
        let tried = self.attempts_made().saturating_add(1);
        if tried >= quiz.attempts {
            return self.leave(study, quiz.or_else);
        }
        self.tries.insert(self.at, tried);
        let route = make_route(study, &self.assignment);
        let is_there = |visit: &Visit<'_>| {
            let stage = study.timeline.get(usize::from(visit.stage));
            stage.is_some_and(|stage| Some(&stage.id) == quiz.retry_from.as_ref())
        };
        let before = route.iter().take(usize::from(self.at)).rposition(is_there);
        let from = before.map_or(self.at, |position| position as u16);
        self.enter(study, from)
    }

    /// Ends the way with an outcome, on the last page.
    fn leave(&mut self, study: &Study, outcome: Outcome) -> ProgressStep {
        (self.cut, self.cut_at) = (Some(outcome), Some(self.stage));
        self.enter(study, u16::MAX)
    }

    /// Goes on after the copy that the current visit belongs to.
    fn pass_over(&mut self, study: &Study) -> ProgressStep {
        let route = make_route(study, &self.assignment);
        let past = route.get(usize::from(self.at)).map(|visit| visit.past);
        self.enter(study, past.unwrap_or(u16::MAX))
    }

    fn next(&mut self, study: &Study) -> ProgressStep {
        self.enter(study, self.at.saturating_add(1))
    }

    /// Goes to a position, or as far beyond as guards pass visits over. The route ends in an end stage without a guard, so
    /// there is always one to be at; each guard leads further, so it is found.
    pub(super) fn enter(&mut self, study: &Study, mut at: u16) -> ProgressStep {
        let route = make_route(study, &self.assignment);
        while let Some(visit) = route.get(usize::from(at)) {
            let closed = visit
                .when
                .iter()
                .find(|gate| !gate.guard.holds(study, &self.facts, &visit.bindings));
            match closed {
                Some(gate) => at = gate.past,
                None => break,
            }
        }
        self.at = at.min(route.len().saturating_sub(1) as u16);
        self.stage = route
            .get(usize::from(self.at))
            .map_or(u16::MAX, |visit| visit.stage);
        self.entered.insert(self.stage);
        self.visit = self.visit.saturating_add(1);
        (self.played, self.successes, self.resting) = (0, 0, false);
        (self.draft, self.draft_reader) = (None, None);
        ProgressStep::Enter(self.at)
    }
}
