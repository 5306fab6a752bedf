//! A study's additions to an environment, as pages and archive need them: what else ends an episode, what people see
//! beside the picture, and where an episode stands in the study.

use formula::{Expr, Piece, Template};
use serde::{Deserialize, Serialize};

use crate::Controller;

/// The rules that a study adds to those of an environment; by default none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Rules {
    /// Ends the episode on the first tick after which it holds. It may ask for the `score`, for `scores` and `rewards` of
    /// the seats, and for `ticks`, `elapsed_s` and `left_s`: how many have been played, the seconds of those, and the
    /// seconds up to the horizon.
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

/// The variable that stands for the sum of each seat's rewards.
const REWARDS: &str = "rewards";

impl Rules {
    /// Checks whether [`Rules::until`] asks for the sums of the rewards, which no environment keeps.
    pub fn ask_rewards(&self) -> bool {
        self.until.iter().any(names_rewards)
    }
}

fn names_rewards(formula: &Expr) -> bool {
    formula.variables().any(|name| name == REWARDS)
}

/// Checks whether a text asks for the sums of the rewards.
pub fn asks_rewards(text: &Template) -> bool {
    text.0.iter().any(|piece| match piece {
        Piece::Formula(formula) => names_rewards(formula),
        Piece::Text(_) => false,
    })
}

/// How the people of an episode share their seats with AI partners. Beside the actions of the environment, they have
/// one more action for each partner: a mark, which stands for the partner's choice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct SharedSeats {
    /// The policies of the partners, in the order of their marks: a single one that plays, or several that propose.
    pub policies: Vec<String>,
    /// The key of each mark, as `KeyboardEvent.code`.
    pub keys: Vec<String>,
    /// The part of a person.
    pub mode: SharingMode,
    /// True if the partner plays from the start, until the person takes the seat.
    pub begins_with_partner: bool,
}

impl SharedSeats {
    /// Lists the shared seats of such an episode: those that people play at tick 0.
    pub fn list_seats(controllers: &[Controller]) -> Vec<usize> {
        let people = controllers.iter().enumerate();
        let people = people.filter(|(_, of)| **of == Controller::Human);
        people.map(|(seat, _)| seat).collect()
    }
}

/// The part of a person who shares a seat with AI partners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum SharingMode {
    /// Gives the seat away and takes it back; while the partner plays, the person's other keys do not count.
    #[default]
    Handover,
    /// The same, and corrects the partner that plays: a key counts while it is down.
    Override,
    /// In turns: only chooses among the proposals of the partners.
    Choose,
}

/// The place of an episode in the study.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Course {
    /// For each seat, which visit of its participant's way this is; 0 for a seat without one.
    pub visits: Vec<u16>,
    /// Which episode of the visit it is, from 0.
    pub episode: u16,
    /// The most episodes that there can be.
    pub episodes: u16,
    /// The values of names there: factors and `for_each`, each with its value as JSON.
    pub names: Vec<(String, String)>,
}

/// A figure beside the picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Gauge {
    /// Its label.
    pub label: String,
    /// Its text: it may ask for what [`Rules::until`] may.
    #[cfg_attr(test, proptest(strategy = "crate::laws::strategies::templates()"))]
    pub value: Template,
}
