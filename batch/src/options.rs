//! The way a batch works.

/// The time at which a finished episode restarts. The meanings and names are Gymnasium's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Autoreset {
    /// In the step after its last, which ignores the actions and gives no reward.
    #[default]
    NextStep,
    /// In its last step: the arrays get the outcome of the old episode and the first observation of the new one.
    SameStep,
    /// When the caller resets it.
    Disabled,
}

/// How a batch works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    /// Number of instances.
    pub instances: usize,
    /// Number of threads, at most [`crate::MAX_THREADS`]; 0 for one a core.
    pub threads: usize,
    /// The time at which a finished episode restarts.
    pub autoreset: Autoreset,
    /// True if the caller gives the same observation array each time and does not change it.
    /// Then a step writes only what may have changed.
    pub in_place: bool,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self {
            instances: 1,
            threads: 0,
            autoreset: Autoreset::default(),
            in_place: false,
        }
    }
}
