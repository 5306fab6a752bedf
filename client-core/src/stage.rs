//! The shown stage, the person's draft of it, and the next stage, which waits while the person reads an outcome.
//!
//! The server owns the participant's position in the study. After a lost connection, it sends the stage again: the
//! typed answers stay, and messages that the server did not get are sent again. This module must not know how a stage
//! is drawn.

use protocol::control::{Answer, ClientMessage, Draft, ServerMessage, StageView};

/// The time for which the outcome of an episode stays before the next stage comes by itself, microseconds.
pub const OUTCOME_US: u64 = 6_000_000;

/// A stage as the server sent it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownStage {
    /// Its index on the participant's route.
    pub index: u16,
    /// The number of stages on the route.
    pub count: u16,
    /// Its id in the study file.
    pub id: String,
    /// Its content.
    pub view: StageView,
}

/// The history of a stage before the server sent it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Before {
    /// The part that was done, on this page or another one.
    pub draft: Option<Draft>,
    /// True if it comes again because answers to a quiz were not right.
    pub again: bool,
}

/// The meaning of a stage that the server sends.
#[derive(Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "carried out at once, never kept")]
pub(crate) enum Told {
    /// The outcome of an episode is read first.
    Later,
    /// The episode on the page continues, or takes this page in again.
    GoesOn,
    /// The stage is on the page already.
    Again,
    /// The stage must be shown.
    New(ShownStage, Before),
}

/// The meaning of a stage that is sent again to a person who is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// Nothing.
    Nothing,
    /// The server did not get the message over this connection: it must be sent again.
    Unheard,
    /// The server heard of it and does not take it.
    NotTaken,
}

/// The way of a page through the stages.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    shown: Option<ShownStage>,
    since_us: u64,
    /// The message that the server has not yet answered with another stage.
    done: Option<ClientMessage>,
    /// True if it went out over this connection.
    is_done_sent: bool,
    /// True if the server's verdict on the episode is there.
    is_judged: bool,
    /// The outcome of an episode is shown until then.
    outcome_us: Option<u64>,
    /// The stage that waits for it, and the server's messages about that stage.
    next: Option<(ShownStage, Before)>,
    next_messages: Vec<ServerMessage>,
}

impl Stages {
    /// The stage that is shown.
    pub(crate) fn shown_stage(&self) -> Option<&ShownStage> {
        self.shown.as_ref()
    }

    /// The time since which it is shown, microseconds.
    pub(crate) fn since_us(&self) -> u64 {
        self.since_us
    }

    /// True if the last page is shown.
    pub(crate) fn is_at_end(&self) -> bool {
        let shown = self.shown.as_ref();
        shown.is_some_and(|stage| matches!(stage.view, StageView::End { .. }))
    }

    /// True if the person is done with the stage, as far as the page knows.
    pub(crate) fn is_done(&self) -> bool {
        self.done.is_some()
    }

    /// True if the server's verdict on the episode is there.
    pub(crate) fn is_judged(&self) -> bool {
        self.is_judged
    }

    /// Takes a stage from the server; `plays` says whether an episode is on the page.
    pub(crate) fn handle_stage(&mut self, stage: ShownStage, before: Before, plays: bool) -> Told {
        // The outcome stays on the page until the person continues, unless they did so before this came. A rest shows
        // the outcome itself.
        let is_rest = matches!(stage.view, StageView::Rest { .. });
        if self.outcome_us.is_some() && self.is_judged && !is_rest {
            // What came after the stage before belongs to it.
            self.next_messages.clear();
            self.next = Some((stage, before));
            return Told::Later;
        }
        let is_again = self.shown.as_ref() == Some(&stage);
        match is_again {
            true if plays && !self.is_judged => Told::GoesOn,
            true if !plays && stage.view != StageView::Env => Told::Again,
            _ => Told::New(stage, before),
        }
    }

    /// Holds back a message about the stage after the outcome; returns it if no stage waits.
    pub(crate) fn hold_back(&mut self, message: ServerMessage) -> Option<ServerMessage> {
        if self.next.is_none() {
            return Some(message);
        }
        self.next_messages.push(message);
        None
    }

    /// Shows a stage.
    pub(crate) fn show_stage(&mut self, now_us: u64, stage: ShownStage) {
        *self = Self {
            shown: Some(stage),
            since_us: now_us,
            ..Self::default()
        };
    }

    /// Handles that the stage on the page is sent again.
    pub(crate) fn handle_again(&mut self) -> Again {
        match (self.is_done_sent, self.done.is_some()) {
            (_, false) => Again::Nothing,
            (false, true) => Again::Unheard,
            (true, true) => {
                self.done = None;
                Again::NotTaken
            }
        }
    }

    /// The person is done with the stage, after these times on its pages; on all of it if there are none.
    pub(crate) fn handle_done(
        &mut self,
        now_us: u64,
        answers: Vec<Answer>,
        mut pages_ms: Vec<u32>,
    ) {
        let Some(stage) = self.shown.as_ref().filter(|_| self.done.is_none()) else {
            return;
        };
        if pages_ms.is_empty() {
            let here_ms = now_us.saturating_sub(self.since_us) / 1_000;
            pages_ms.push(u32::try_from(here_ms).unwrap_or(u32::MAX));
        }
        let done = ClientMessage::StageDone {
            stage: stage.index,
            answers,
            pages_ms,
        };
        (self.done, self.is_done_sent) = (Some(done), false);
    }

    /// Returns the message that must be sent over the present connection.
    pub(crate) fn poll_done(&mut self) -> Option<ClientMessage> {
        let done = self.done.as_ref().filter(|_| !self.is_done_sent)?;
        self.is_done_sent = true;
        Some(done.clone())
    }

    /// Handles that the connection is gone, and everything on its way is lost.
    pub(crate) fn handle_lost(&mut self) {
        self.is_done_sent = false;
    }

    /// The server's verdict on the episode is there; false if it was before.
    pub(crate) fn handle_verdict(&mut self, now_us: u64) -> bool {
        let is_news = !std::mem::replace(&mut self.is_judged, true);
        if is_news {
            self.outcome_us = Some(now_us + OUTCOME_US);
        }
        is_news
    }

    /// The episode leaves the page, and with it its outcome.
    pub(crate) fn handle_episode_left(&mut self) {
        (self.outcome_us, self.is_judged) = (None, false);
    }

    /// Returns the waiting stage and the messages about it, once the person has read the outcome, or had the time to.
    pub(crate) fn take_next(&mut self) -> Option<(ShownStage, Before, Vec<ServerMessage>)> {
        self.outcome_us = None;
        let (stage, before) = self.next.take()?;
        Some((stage, before, std::mem::take(&mut self.next_messages)))
    }

    /// The time at which the next stage comes by itself, and the reason.
    pub(crate) fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        let outcome_us = self.outcome_us.filter(|_| self.next.is_some());
        outcome_us.map(|outcome_us| (outcome_us, "outcome"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(index: u16, view: StageView) -> ShownStage {
        ShownStage {
            index,
            count: 5,
            id: format!("stage {index}"),
            view,
        }
    }

    fn survey(index: u16) -> ShownStage {
        let surveyjs = "{}".to_owned();
        stage(index, StageView::Survey { surveyjs })
    }

    fn at(stage: ShownStage) -> Stages {
        let mut stages = Stages::default();
        stages.show_stage(1_000_000, stage);
        stages
    }

    fn told(stages: &mut Stages, stage: ShownStage, plays: bool) -> Told {
        stages.handle_stage(stage, Before::default(), plays)
    }

    #[test]
    fn a_stage_that_is_told_again_stays_and_another_one_is_shown() {
        let mut stages = at(survey(1));
        assert_eq!(told(&mut stages, survey(1), false), Told::Again);
        let new = Told::New(survey(2), Before::default());
        assert_eq!(told(&mut stages, survey(2), false), new);
        let mut stages = at(stage(3, StageView::Env));
        assert_eq!(
            told(&mut stages, stage(3, StageView::Env), true),
            Told::GoesOn
        );
        let new = Told::New(stage(3, StageView::Env), Before::default());
        assert_eq!(told(&mut stages, stage(3, StageView::Env), false), new);
    }

    #[test]
    fn what_the_server_did_not_hear_is_said_again_and_what_it_heard_is_not_taken() {
        let mut stages = at(survey(1));
        assert_eq!(stages.handle_again(), Again::Nothing);
        stages.handle_done(3_500_000, Vec::new(), Vec::new());
        let Some(ClientMessage::StageDone { pages_ms, .. }) = stages.poll_done() else {
            panic!("it is to be said");
        };
        assert_eq!(pages_ms, [2_500]);
        assert_eq!(stages.poll_done(), None, "once a connection");
        stages.handle_lost();
        assert_eq!(stages.handle_again(), Again::Unheard);
        assert!(stages.poll_done().is_some());
        assert_eq!(stages.handle_again(), Again::NotTaken);
        assert!(!stages.is_done(), "the person can do it again");
    }

    #[test]
    fn a_person_is_done_with_a_stage_once() {
        let mut stages = at(survey(1));
        stages.handle_done(2_000_000, Vec::new(), vec![7]);
        stages.handle_done(3_000_000, Vec::new(), vec![8]);
        let Some(ClientMessage::StageDone { pages_ms, .. }) = stages.poll_done() else {
            panic!("it is to be said");
        };
        assert_eq!(pages_ms, [7]);
    }

    #[test]
    fn the_next_stage_waits_until_the_outcome_is_read_with_what_is_said_of_it() {
        let mut stages = at(stage(3, StageView::Env));
        assert!(stages.handle_verdict(2_000_000));
        assert!(!stages.handle_verdict(3_000_000), "told twice");
        assert_eq!(stages.poll_timeout(), None, "nothing waits");
        assert_eq!(told(&mut stages, survey(4), true), Told::Later);
        assert_eq!(stages.hold_back(ServerMessage::Superseded), None);
        let until_us = 2_000_000 + OUTCOME_US;
        assert_eq!(stages.poll_timeout(), Some((until_us, "outcome")));
        // The server sends it again, after a lost connection.
        assert_eq!(told(&mut stages, survey(4), true), Told::Later);
        let kept = ServerMessage::DraftKept { number: 1 };
        assert_eq!(stages.hold_back(kept.clone()), None);
        let (next, _, messages) = stages.take_next().unwrap();
        assert_eq!((next, messages), (survey(4), vec![kept.clone()]));
        assert_eq!(stages.hold_back(kept.clone()), Some(kept));
    }

    #[test]
    fn an_outcome_that_was_read_delays_nothing_and_a_rest_shows_its_own() {
        let mut stages = at(stage(3, StageView::Env));
        stages.handle_verdict(2_000_000);
        assert!(stages.take_next().is_none());
        assert!(matches!(told(&mut stages, survey(4), true), Told::New(..)));
        let mut stages = at(stage(3, StageView::Env));
        stages.handle_verdict(2_000_000);
        let rest = StageView::Rest {
            page: String::new(),
            round: (1, 2),
            score: 5,
            min_ms: 0,
            max_ms: None,
        };
        assert!(matches!(
            told(&mut stages, stage(3, rest), true),
            Told::New(..)
        ));
    }
}
