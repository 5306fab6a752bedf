//! A study's additions to an environment, as pages and archive need them: what else ends an episode, what people see
//! beside the picture, and where an episode stands in the study.

use formula::{Expr, Template};
use serde::{Deserialize, Serialize};

/// A study's rules beside those of an environment; by default none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Rules {
    /// Ends the episode on the first tick after which it holds. It may ask for the `score`, and for `ticks`,
    /// `elapsed_s` and `left_s`: how many have been played, the seconds of those, and the seconds up to the horizon.
    #[cfg_attr(
        test,
        proptest(strategy = "proptest::option::of(crate::laws::strategies::exprs())")
    )]
    pub until: Option<Expr>,
    /// True if a tick goes by once everybody who acts in it has chosen, instead of with time.
    pub turns: bool,
    /// True if every press enters one tick, however long it is held: as if all actions were momentary.
    pub press: bool,
}

/// Where an episode stands in the study.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Course {
    /// For each seat, which visit of its participant's way this is; 0 for a seat without one.
    pub visits: Vec<u16>,
    /// Which episode of the visit it is, from 0.
    pub episode: u16,
    /// How many there are at most.
    pub episodes: u16,
    /// The values of names there: factors and `for_each`, each with its value as JSON.
    pub names: Vec<(String, String)>,
}

/// Something that is told beside the picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Gauge {
    /// Its label.
    pub label: String,
    /// Its text: it may ask for what [`Rules::until`] may.
    #[cfg_attr(test, proptest(strategy = "crate::laws::strategies::templates()"))]
    pub value: Template,
}
