//! A study without a server: the real arbiter and archive run beside one participant's page.
//!
//! [`journal`] has everything that happened to them: when a page connected, its messages, when it was gone. Everything
//! else follows from it, so the browser keeps and delivers only the journal. [`OfflineServer`] runs from it: in the
//! page, again after a reload, and a last time at the import of the data. [`bundle`] is the study, as a page loads it.
//!
//! This crate must not know how a journal is stored or sent, nor what the time is.

#![forbid(unsafe_code)]

pub mod bundle;
pub mod journal;
mod server;
mod storage;

pub use server::{ConnEffect, OfflineServer, begins_anew, comes_back, name_person};
pub use storage::{Kept, StoredFiles};
