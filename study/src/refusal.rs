//! The refusal of a page's event: it leaves the participant where they are.

/// The reason why an event was refused; the participant stays where they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventRefusal {
    /// A page cannot end this stage.
    #[error("the stage `{stage}` ends by itself, not by a page")]
    NotByPage {
        /// Id of the stage.
        stage: String,
    },
    /// The form has no such item.
    #[error("this stage has no question `{name}`")]
    UnknownItem {
        /// Name of the item.
        name: String,
    },
    /// An item is there twice.
    #[error("the question `{name}` was answered twice")]
    Twice {
        /// Name of the item.
        name: String,
    },
    /// A required item is missing.
    #[error("the question `{name}` must be answered")]
    Missing {
        /// Name of the item.
        name: String,
    },
    /// An item that is not asked after the other answers.
    #[error("the question `{name}` is not asked after these answers")]
    Hidden {
        /// Name of the item.
        name: String,
    },
    /// A value that breaks a rule of the item.
    #[error("the answer to `{name}` is refused: {why}")]
    Unfit {
        /// Name of the item.
        name: String,
        /// The message to people.
        why: String,
    },
    /// A value that the item does not take.
    #[error("the answer to `{name}` is not one that this question takes")]
    BadAnswer {
        /// Name of the item.
        name: String,
    },
}
