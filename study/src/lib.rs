//! The study file of Coplay: the route of a participant, from `study.yaml` to the last page.
//!
//! [`load`] reads a study folder and returns either a [`Study`] or every [`Problem`] in it, each with its file, line
//! and field and with a fix. [`Progress`] takes one participant through the timeline: events in, the next stage or a
//! refusal out.
//!
//! A stage type is one module in [`stage`]: its fields, its reader, its view. [`timeline`] has the blocks that wrap
//! stages, and the route that they become for a participant by what [`assign`] draws from the [`design`].
//!
//! This crate must not know of clocks, networks, databases, browsers or environments; the caller that has the
//! environments passes their facts to [`DraftStudy::check`].

#![forbid(unsafe_code)]

mod about;
pub mod adherence;
pub mod assign;
mod canonical;
pub mod design;
pub mod disconnect;
mod draft;
pub mod exclusion;
mod folder;
pub mod formula;
mod host;
mod host_check;
mod inset;
mod keys;
pub mod language_model;
pub mod limits;
mod load;
pub mod media;
pub mod money;
pub mod offline;
mod outcome;
pub mod outline;
mod page;
mod partners;
pub mod payment;
pub mod plural;
mod problem;
pub mod progress;
mod read;
mod recorded_facts;
pub mod recruitment;
mod reference;
mod refusal;
mod schema;
pub mod screening;
pub mod sentences;
mod shape;
pub mod stage;
mod study;
pub mod survey;
pub mod text;
pub mod timeline;
mod yaml;

pub use about::{OnLeave, OnWithdraw};
pub use assign::{Assignment, StudyFull, UnitAssignment};
pub use draft::{DraftStudy, load};
pub use folder::StudyFolder;
pub use host::{EnvFacts, EnvFactsByStage, EnvFault, HostFacts, TrainedPartner};
pub use keys::GAMEPAD_BUTTONS;
pub use outcome::Outcome;
pub use outline::Outline;
pub use page::TextPage;
pub use payment::Payment;
pub use problem::{Problem, make_hint};
pub use progress::{
    Company, Episode, GroupVisit, ParticipantFacts, PartnerKind, Progress, ProgressEvent,
    ProgressStep, SeatTotals,
};
pub use recorded_facts::{FactsRecorder, RecordedFacts};
pub use reference::write_reference;
pub use refusal::EventRefusal;
pub use schema::schema;
pub use stage::{ModuleFile, Stage, StageKind, WorldFile};
pub use study::{FILE, Study};
