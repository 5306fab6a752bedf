//! The arbiter of a study, without sockets, clocks, files and databases.
//!
//! [`arbiter`] takes events with the time and returns effects; [`lobby`] makes groups of the people who wait;
//! [`limits`] has every limit with its unit. The shell around it carries the effects out in their order.
//! This crate must not know how anything is sent, stored or simulated.

#![forbid(unsafe_code)]

pub mod arbiter;
pub mod desk;
pub mod language_model;
pub mod limits;
pub mod lobby;
pub mod message_budget;
pub mod overview;
pub mod token;
pub mod warnings;
