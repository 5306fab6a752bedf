//! Events of a participant, and the steps that they lead to.

use protocol::control::{Answer, Draft};

use super::facts::Episode;
use crate::assign::UnitAssignment;
use crate::outcome::Outcome;

/// An event of the participant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProgressEvent<'a> {
    /// The page says that the person is done with a stage.
    StageDone {
        /// Position of its visit, as the page knows it.
        at: u16,
        /// Answers, for a survey.
        answers: &'a [Answer],
    },
    /// The time of a form is up, and these are the answers so far.
    TimeUp {
        /// Position of its visit, as the page knows it.
        at: u16,
        /// Answers, complete or not.
        answers: &'a [Answer],
    },
    /// The page sends what the person has done of a stage so far.
    Drafted {
        /// Position of its visit, as the page knows it.
        at: u16,
        /// The operation, or the part that is done.
        draft: &'a Draft,
    },
    /// The person comes back from a page of another site.
    Returned,
    /// The person withdraws their data, at a debrief that allows it. The data are still there for the payment;
    /// [`super::Progress::withdraw_given`] forgets them.
    Withdrawn {
        /// Position of its visit, as the page knows it.
        at: u16,
    },
    /// The lobby made a group with the participant in it.
    Matched {
        /// The assignment of the group.
        draw: &'a UnitAssignment,
        /// Their place in it, from 0.
        seat: Option<u8>,
    },
    /// The episode of the participant's group is over.
    EpisodeEnded(&'a Episode),
    /// The page of a partner failed in the first episode of the group: back to its lobby, for another group.
    Rematched,
    /// The server ends the session: nobody came to play, time ran out, or something failed.
    Cut(Outcome),
    /// The participant leaves on purpose.
    Left,
}

/// The step that an event led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressStep {
    /// Nothing: the event was for a visit that is not the current one, such as a message sent again.
    Stay,
    /// The participant stays, and there is something new to be kept.
    Keep,
    /// The participant is now at this position of the route; again, if another episode of the visit follows.
    Enter(u16),
}
