//! What can happen to a participant, and what it leads to.

use protocol::control::{Answer, Draft};

use super::facts::Episode;
use crate::assign::Draw;
use crate::outcome::Outcome;

/// What happened to the participant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// The page says that the person is done with a stage.
    StageDone {
        /// Position of its visit, as the page was told.
        at: u16,
        /// Answers, for a survey.
        answers: &'a [Answer],
    },
    /// The page says what the person has done of a stage so far.
    Drafted {
        /// Position of its visit, as the page was told.
        at: u16,
        /// What is done.
        draft: &'a Draft,
    },
    /// The person comes back from a page of another site.
    Returned,
    /// The person withdraws what was recorded of them, at a debrief that lets them.
    Withdrawn {
        /// Position of its visit, as the page was told.
        at: u16,
        /// The receipt that they get.
        receipt: &'a str,
    },
    /// The lobby made a group with the participant in it.
    Matched {
        /// What was drawn for the group.
        draw: &'a Draw,
    },
    /// The episode of the participant's group is over.
    EpisodeEnded(Episode),
    /// The server ends the way: nobody came to play, time ran out, something broke.
    Cut(Outcome),
    /// The participant leaves on purpose.
    Left,
}

/// What an event led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: the event was for a visit that is not the current one, such as a message sent again.
    Stay,
    /// The participant stays, and there is something new to be kept.
    Keep,
    /// The participant is now at this position of the route; again, if another episode of the visit follows.
    Enter(u16),
}
