//! Durable changes that the arbiter gives to its shell.

use protocol::Era;
use protocol::control::EndReason;
use protocol::log::Ending;
use study::Payment;

use super::recruiter_identity::Identity;
use super::rows::{
    DeskMessageRow, EpisodeRow, GroupRow, MessageRow, ModelCallRow, StageAnswers, WaitRow,
};
use super::worked_time::Attendance;
use crate::desk::RecruitmentState;

/// A durable change.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// A session begins.
    NewSession {
        /// Its number among all sessions of the study, from 0.
        number: usize,
        /// Pseudonym.
        participant: String,
        /// Secret that brings a page back to it.
        token: String,
        /// Token of the participant link through which it came.
        link: Option<String>,
        /// The recruiter's identifier for the participant.
        identity: Option<Identity>,
        /// Its place in the study, with its assignment.
        progress: study::Progress,
        /// When it began.
        attendance: Attendance,
        /// Its payment, if it has ended immediately.
        payment: Option<Box<Payment>>,
    },
    /// A session that has not begun is forgotten, and its link is unused again.
    Forget {
        /// Pseudonym.
        participant: String,
    },
    /// A session has another secret; the one before is void.
    Token {
        /// Pseudonym.
        participant: String,
        /// The secret.
        token: String,
    },
    /// The recruiter has new data on a participant.
    Identity {
        /// Pseudonym.
        participant: String,
        /// The recruiter's new identifier for the participant.
        identity: Identity,
    },
    /// A session has another place in the study, perhaps with answers that brought it there.
    Place {
        /// Pseudonym.
        participant: String,
        /// Its place.
        progress: study::Progress,
        /// The answers to the stage that it left.
        answers: Option<StageAnswers>,
        /// How long its participant has been there.
        attendance: Attendance,
        /// Its payment, once it has ended; the first one stands.
        payment: Option<Box<Payment>>,
    },
    /// A session for which the study was full begins after all: it has neither outcome nor payment.
    Reopen {
        /// Pseudonym.
        participant: String,
        /// Its place.
        progress: study::Progress,
        /// How long its participant has been there.
        attendance: Attendance,
    },
    /// How long a participant has been there.
    Attendance {
        /// Pseudonym.
        participant: String,
        /// How long.
        attendance: Attendance,
    },
    /// A participant withdraws their recorded data; they are erased, or left out of exports.
    Withdrawal {
        /// Pseudonym.
        participant: String,
        /// The receipt that they get.
        receipt: String,
    },
    /// The data recorded of a participant are erased, with the episodes of which they are the last.
    Erase {
        /// Pseudonym.
        participant: String,
    },
    /// A group is made, or has changed.
    Group(GroupRow),
    /// Somebody writes to their group.
    Message(MessageRow),
    /// A language model is asked, or has answered.
    ModelCall(Box<ModelCallRow>),
    /// Somebody begins to wait in a lobby, or has waited.
    Wait(WaitRow),
    /// An episode starts.
    Episode(EpisodeRow),
    /// An episode is over.
    EpisodeEnded {
        /// Id of the episode.
        episode: String,
        /// The reason.
        reason: EndReason,
        /// The replica's ending, if it could give one.
        ending: Option<Ending>,
    },
    /// The state of recruitment.
    Recruitment(RecruitmentState),
    /// The places that a researcher set: one number in all, or one for each treatment.
    Places(Vec<u32>),
    /// A researcher did something, for the audit trail.
    Intervention {
        /// The name of the researcher.
        by: String,
        /// The name of the order.
        order: &'static str,
        /// Pseudonym of the person that it was about.
        participant: Option<String>,
        /// The new value.
        detail: String,
    },
    /// A researcher corrected a payment; a payment that is marked as paid does not change.
    Correction {
        /// Pseudonym.
        participant: String,
        /// The payment from now on.
        payment: Box<Payment>,
    },
    /// A participant and the researchers write to each other.
    DeskMessage(Box<DeskMessageRow>),
    /// The messages between a participant and the researchers are erased.
    ForgetDeskMessages {
        /// Pseudonym.
        participant: String,
    },
    /// Messages between a participant and the researchers are read for the first time.
    DeskMessagesRead {
        /// Pseudonym.
        participant: String,
        /// True for those that the participant wrote.
        own: bool,
        /// Those before this number.
        before: u32,
        /// When, microseconds since the Unix epoch.
        at_us: u64,
    },
    /// A participant answers a question of the researchers.
    CheckAnswer {
        /// Pseudonym.
        participant: String,
        /// The number of the message with the question.
        number: u32,
        /// The answer.
        answer: String,
        /// When, microseconds since the Unix epoch.
        at_us: u64,
    },
    /// The next era.
    NextEra(Era),
    /// The seed of every random draw.
    Seed(u64),
}
