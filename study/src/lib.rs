//! The study file of Coplay: what a participant goes through, from `study.yaml` to the last page.
//!
//! [`load`] reads a study folder and either gives a [`Study`] or every [`Problem`] it found, each with its
//! file, line and field and with the way to mend it. [`Progress`] takes one participant through the
//! timeline: events in, the next stage or a refusal out.
//!
//! A stage type is one module in [`stage`]: its fields, its reader, its view. [`timeline`] holds the blocks that wrap
//! stages, and the route that they become for a participant by what [`assign`] draws from the [`design`].
//!
//! This crate must not know of clocks, networks, databases, browsers or environments; whoever has the
//! environments passes them to [`load_on`].

#![forbid(unsafe_code)]

mod about;
pub mod assign;
mod canonical;
mod check;
pub mod design;
pub mod formula;
mod keys;
mod load;
pub mod media;
pub mod outline;
mod page;
pub mod payment;
pub mod plural;
mod problem;
pub mod progress;
mod read;
pub mod recruitment;
mod reference;
mod schema;
pub mod screening;
mod shape;
pub mod stage;
pub mod survey;
pub mod terms;
pub mod text;
pub mod timeline;
mod yaml;

pub use about::OnWithdraw;
pub use assign::{Assignment, Draw, StudyFull};
pub use check::{EnvFacts, EnvFault, Hosted, Playable};
pub use load::{FILE, Study, load, load_on};
pub use outline::Outline;
pub use page::Page;
pub use payment::Payment;
pub use problem::Problem;
pub use progress::{Episode, Event, Facts, Partners, Progress, Refusal, Round, Step};
pub use reference::reference;
pub use schema::schema;
pub use stage::{Kind, ModuleFile, Outcome, Stage};
