//! The grid toolkit: a multi-agent grid world is a plan of its things, and a few lines of its own rules.
//!
//! A world implements [`GridWorld`]: it declares kinds of thing with what a hand can do with them, a layout,
//! features and rewards; [`Grid`] is then its [`Environment`](crate::Environment). A world adds rules that the
//! declarations cannot express through the methods that have a default. Two sets of rules: [`RuleSet::Cogrid`] plays
//! field for field like CoGrid 0.3.2, [`RuleSet::Corrected`] fixes its artefacts.

mod appearance;
pub mod cogrid;
pub mod describe;
mod direction;
pub mod draw;
mod environment;
mod fog;
mod interactions;
pub mod kind;
pub mod layout;
pub mod motion;
mod movement;
pub mod observe;
pub mod plan;
pub mod random_draws;
mod refusal;
mod reset;
pub mod reward;
mod rules;
mod seats;
pub mod state;
mod step;
pub mod tables;
mod world;

pub use appearance::Appearance;
pub use cogrid::{CogridRules, Declared, Sight};
pub use environment::Grid;
pub use fog::Fog;
pub use kind::{EMPTY, Kind, KindId, KindSet, Names, Recipe, Use};
pub use layout::{Chart, GridGround};
pub use motion::{ActionSet, Motion};
pub use observe::{ContainerSet, Observer, OwnFeature, Source, Sources, ViewWindow};
pub use plan::{Layout, WorldPlan};
pub use random_draws::{Draws, Injected, StepDraws};
pub(crate) use refusal::tell_unknown;
pub use reward::{Act, CompiledReward, CompiledWhen, Interaction, Pay, Reward, When};
pub use rules::RuleSet;
pub use state::{Agent, Direction, Fixture, State};
pub use tables::Tables;
pub use world::{GridWorld, NoParams};
