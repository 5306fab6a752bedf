//! Chat messages between the people of a group.

use serde::{Deserialize, Serialize};

use crate::Seat;

/// The most bytes of text in the lines of a [`ChatView`].
pub const MAX_CHAT_BYTES: usize = 64 * 1024;

/// The messages of a group at a visit that it makes together, and the members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct ChatView {
    /// Index of the visit among those that the group makes together, from 0.
    pub group_visit: u16,
    /// The place of this participant in the group.
    pub place: Seat,
    /// How each place is taken.
    pub members: Vec<ChatMember>,
    /// The name of each place; empty for the page's own names.
    pub names: Vec<String>,
    /// The longest message, characters.
    pub max_length: u16,
    /// Milliseconds until a member can continue, and until all do; `None` beside an episode.
    pub left_ms: Option<(u32, u32)>,
    /// The number of the next message of this participant.
    pub next: u32,
    /// The messages, the newest last. Old ones are left out.
    pub messages: Vec<ChatMessage>,
}

/// Something that somebody wrote: it is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct ChatMessage {
    /// Their place in the group.
    pub place: Seat,
    /// How many messages they had written before at this visit.
    pub number: u32,
    /// When it came, server clock.
    pub at_us: u64,
    /// Its text.
    pub text: String,
}

/// The state of a place in a group whose people write to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum ChatMember {
    /// By a person who is there.
    Here,
    /// By a person whose page is gone, and may come back.
    Away,
    /// By a person who has continued, or left.
    Left,
    /// By an AI partner, which does not write.
    Ai,
}

/// The reason why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum MessageRefusal {
    /// There were too many in a short time: the page sends it again after a pause.
    TooFast,
    /// Nobody writes there any more, or not yet.
    Closed,
    /// It is empty or too long, or this participant has written too many.
    NotTaken,
}
