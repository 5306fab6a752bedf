//! The description of a running world for a language model, and the result of a directive.

use protocol::Tick;
use protocol::change::Change;

/// The world after a durable tick, as it is described to a language model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// After how many steps.
    pub tick: Tick,
    /// The environment's own words, from the view of a seat.
    pub text: String,
    /// The directives that its seat can get.
    pub directives: Vec<OfferedDirective>,
}

/// A directive that the policy of a seat can follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedDirective {
    /// Its word.
    pub word: String,
    /// Its meaning.
    pub means: String,
    /// True if something can be done for it now.
    pub is_possible: bool,
}

/// The result of a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directed {
    /// The seat follows it from the tick of this change on.
    Applied(Box<Change>),
    /// Nothing has changed, for this reason.
    Refused(String),
}
