//! Messages between one participant and the researchers.

use serde::{Deserialize, Serialize};

/// The longest message, characters.
pub const MAX_DESK_TEXT: usize = 1_000;

/// The messages between a participant and the researchers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Exchange {
    /// True if the participant can write.
    pub is_open: bool,
    /// The number of the next message of the participant, among their own.
    pub next: u32,
    /// The messages, the newest last. Old ones are left out.
    pub messages: Vec<DeskMessage>,
}

/// A message between a participant and the researchers: it is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct DeskMessage {
    /// Its number in the exchange, from 0.
    pub number: u32,
    /// True if the participant wrote it.
    pub is_own: bool,
    /// When it came, server clock.
    pub at_us: u64,
    /// True if it was read by the other side.
    pub is_read: bool,
    /// Its text.
    pub text: String,
    /// Set if it is a question that the participant is to answer in time.
    pub check: Option<AttentionCheck>,
}

/// A question of the researchers that the participant is to answer in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct AttentionCheck {
    /// The answers to choose from; empty if the person types the answer.
    pub choices: Vec<String>,
    /// The time for the answer, from `at_us` of the message on, seconds.
    pub within_s: u16,
    /// The answer, once it is given.
    pub answer: Option<String>,
}
