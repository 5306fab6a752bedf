//! Rows as the database has them: plain data.

use protocol::control::Answer;
use protocol::{Era, Seat, Tick};
use study::UnitAssignment;
use study::survey::ShownOrder;
use study::timeline::Bindings;

use super::group::DepartureReason;
use crate::desk::is_expected_answer;

/// A participant's answers to a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageAnswers {
    /// Index of the stage.
    pub stage: u16,
    /// Number of the visit among those of the participant.
    pub visit: u16,
    /// The answers.
    pub answers: Vec<Answer>,
    /// The orders that were drawn for the questions.
    pub shown: Vec<ShownOrder>,
    /// Time on each page of the stage, milliseconds.
    pub pages_ms: Vec<u32>,
}

/// A wait in a lobby as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitRow {
    /// Pseudonym.
    pub participant: String,
    /// Index of the lobby.
    pub stage: u16,
    /// Number of the visit among those of the participant.
    pub visit: u16,
    /// The time at which it began, microseconds since the Unix epoch. Nobody begins two waits at the same time.
    pub since_us: u64,
    /// The longest round trip between their page and another of the group, as last measured before an episode, microseconds.
    pub rtt_us: Option<u32>,
    /// The most packets that were lost between these, of a thousand.
    pub loss_permille: Option<u16>,
    /// The time and the way of its end; `None` while it lasts.
    pub end: Option<WaitEnd>,
}

/// The end of a wait in a lobby.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitEnd {
    /// When, microseconds since the Unix epoch.
    pub at_us: u64,
    /// The reason.
    pub why: WaitedFor,
    /// Id of the group that plays.
    pub group: Option<String>,
}

/// The reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitedFor {
    /// The group plays.
    Matched,
    /// The group plays, with AI partners in the places that were left over.
    Ai,
    /// The time was up.
    TimedOut,
    /// The person gave no sign of life.
    GaveUp,
    /// The page was closed, or its connection lost.
    Closed,
    /// The way of the person ended otherwise.
    Left,
    /// The person's page did not get ready for several groups.
    NotReady,
}

/// A group as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRow {
    /// Id of the group.
    pub id: String,
    /// Index of the lobby that made it.
    pub stage: u16,
    /// Its random assignment.
    pub draw: UnitAssignment,
    /// The holder of each place.
    pub places: Vec<PlaceRow>,
    /// True if an AI partner plays or played for somebody who is missing.
    pub has_ai: bool,
    /// The number of the visit of the last chat that it began, among the visits that it makes together, and its start,
    /// microseconds.
    pub chat: Option<(u16, u64)>,
    /// The number of the visit for which it waited last, among the visits that it makes together, and the latest end of
    /// the wait, microseconds.
    pub wait: Option<(u16, u64)>,
}

/// Something that somebody wrote to their group, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRow {
    /// Id of the group.
    pub group: String,
    /// Its place in the order of the group's messages.
    pub number: u32,
    /// Pseudonym of who wrote it.
    pub participant: String,
    /// Their place in the group.
    pub place: Seat,
    /// Index of the stage.
    pub stage: u16,
    /// Number of the visit among those of the participant.
    pub visit: u16,
    /// Number of the visit among those that the group makes together.
    pub group_visit: u16,
    /// The number of messages that they had written before at this visit.
    pub turn: u32,
    /// Id of the episode that ran.
    pub episode: Option<String>,
    /// The tick that their page showed.
    pub tick: Option<Tick>,
    /// The time at which they sent it, as their page says, microseconds since the Unix epoch.
    pub sent_us: u64,
    /// The time of its arrival, microseconds since the Unix epoch.
    pub at_us: u64,
    /// Its text.
    pub text: String,
    /// The name of the partner whose language model wrote it to the participant; empty if the participant wrote it.
    pub partner: String,
}

/// A message between a participant and the researchers, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskMessageRow {
    /// Pseudonym of the participant.
    pub participant: String,
    /// Its number in the exchange with the participant, from 0.
    pub number: u32,
    /// The name of the researcher who wrote it; empty if the participant did.
    pub by: String,
    /// Its audience: `participant`, `group`, `everybody` or `researchers`.
    pub audience: String,
    /// Index of the stage at which the participant was.
    pub stage: u16,
    /// Number of the visit among those of the participant.
    pub visit: u16,
    /// Id of the episode in which the participant was.
    pub episode: Option<String>,
    /// The time of its arrival, microseconds since the Unix epoch.
    pub at_us: u64,
    /// Its text.
    pub text: String,
    /// The time at which the other side first read it, microseconds since the Unix epoch.
    pub read_us: Option<u64>,
    /// Set if it is a question with a time limit.
    pub check: Option<DeskCheckRow>,
}

impl DeskMessageRow {
    /// True if the participant wrote it.
    pub fn is_own(&self) -> bool {
        self.by.is_empty()
    }

    /// The bytes of its texts.
    pub(super) fn size(&self) -> usize {
        let choices = self.check.iter().flat_map(|check| &check.choices);
        self.text.len() + choices.map(String::len).sum::<usize>()
    }
}

/// A question with a time limit to a participant, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskCheckRow {
    /// The answers to choose from; empty if the person types the answer.
    pub choices: Vec<String>,
    /// The right answer; empty if there is none.
    pub expected: String,
    /// The time for the answer, seconds.
    pub within_s: u16,
    /// The answer and when it came, microseconds since the Unix epoch; `None` if there is none.
    pub answer: Option<(String, u64)>,
}

impl DeskCheckRow {
    /// True if the answer is the right one; `None` if there is no right one. A missing answer is not right.
    pub fn is_right(&self) -> Option<bool> {
        let given = self.answer.as_ref();
        let is_right = given.is_some_and(|(answer, _)| is_expected_answer(&self.expected, answer));
        (!self.expected.is_empty()).then_some(is_right)
    }
}

/// A request to a language model as it is stored: once it is made, and again once it is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelCallRow {
    /// Id of the episode.
    pub episode: String,
    /// Its number among those of the episode, from 0.
    pub number: u32,
    /// Pseudonym of the participant to whom the model writes, or who pressed the button.
    pub participant: String,
    /// Index of the stage.
    pub stage: u16,
    /// Number of the visit among those of the participant.
    pub visit: u16,
    /// The name of the partner.
    pub partner: String,
    /// The seat to which it can give directives.
    pub seat: Option<Seat>,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The parameters, JSON.
    pub parameters: String,
    /// The reason why it was asked.
    pub asked_for: String,
    /// The messages of the request, JSON; empty if it was not asked after all.
    pub prompt: String,
    /// The answer; empty for none.
    pub answer: String,
    /// Its end.
    pub outcome: String,
    /// Tokens of the prompt, as the provider counts.
    pub input_tokens: Option<u32>,
    /// Tokens of the answer.
    pub output_tokens: Option<u32>,
    /// Its cost, millionths of the unit of the currency; the most that it can be until it is known.
    pub cost_micro: u64,
    /// The time at which it was asked, microseconds since the Unix epoch.
    pub asked_us: u64,
    /// The time until it answered, microseconds.
    pub latency_us: Option<u64>,
    /// The number of repetitions of the request.
    pub retries: u8,
    /// The tick that its prompt described: this many steps were durable.
    pub tick_asked: Option<Tick>,
    /// The number of its message in the chat of the episode.
    pub message: Option<u32>,
    /// The directive that it gave.
    pub directive: String,
    /// The reason why the directive was refused.
    pub refusal: String,
    /// The first tick at which its seat followed the directive.
    pub tick_applied: Option<Tick>,
}

/// The word for a press in the data, for the reason and the source of a directive.
pub(super) const BUTTON: &str = "button";

/// The facts of a request to a language model that matter after a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCallCost {
    /// Id of the episode.
    pub episode: String,
    /// Its number among those of the episode.
    pub number: u32,
    /// Pseudonym of the participant.
    pub participant: String,
    /// The name of the partner.
    pub partner: String,
    /// Its cost, millionths of the unit of the currency.
    pub cost_micro: u64,
    /// The time at which it was made, server clock, microseconds.
    pub asked_us: u64,
    /// True if it is the press of a button, which asks no model.
    pub is_press: bool,
}

impl ModelCallCost {
    /// True if a row with this reason is the press of a button.
    pub fn is_press(asked_for: &str) -> bool {
        asked_for == BUTTON
    }
}

/// A place in a group: a seat of people in every stage that the group plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceRow {
    /// Pseudonym of the participant; empty for an AI partner.
    pub participant: String,
    /// The reason why the participant has left the group.
    pub gone: Option<DepartureReason>,
}

/// A running episode as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct EpisodeRow {
    /// Id of the episode.
    pub episode: String,
    /// Era.
    pub era: Era,
    /// Id of the group.
    pub group: String,
    /// Index of the stage.
    pub stage: u16,
    /// Pseudonym of the participant of each seat; empty for an AI partner.
    pub participants: Vec<String>,
    /// Number of each participant's visit, among the visits of that participant; empty if that is not known.
    pub visits: Vec<u16>,
    /// The random assignment of the group.
    pub draw: UnitAssignment,
    /// The values of names at the stage.
    pub bindings: Bindings,
}
