//! The environments, modules and models of this build, and the studies that play them.
//!
//! [`read_study`] reads a study folder and checks it against them; [`lint_study`] reports everything that is wrong or odd
//! about it; [`env`] describes and checks environments, [`agent`] models. This crate must not know of servers, databases and clocks.

#![forbid(unsafe_code)]

pub mod agent;
pub mod env;
mod hosted_worlds;
pub mod kitchens;
pub mod lint;
pub mod models;
mod odd_worlds;
mod partner_models;
pub mod python;
mod training_rules;
mod worlds;

use study::Problem;

pub use worlds::{StudyRecord, open_world, read_study, record_study};

/// The reason why a study cannot be started, by a server or in a rehearsal.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The study file is wrong.
    #[error("the study has {} problem(s)", .0.len())]
    Study(Vec<Problem>),
    /// Anything else.
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}
