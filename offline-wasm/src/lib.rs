//! The server's part of a study without a server, as a Worker of the page runs it (`web/offline_worker.js`).
//!
//! Each input becomes a record, and counts once the Worker has stored the record ([`OfflineWorker::apply`]). So nothing
//! is acknowledged that a reload could lose. This crate must not know how records are stored, nor what messages mean.

#![forbid(unsafe_code)]

#[cfg(target_arch = "wasm32")]
mod worker;

#[cfg(target_arch = "wasm32")]
pub use worker::{OfflineWorker, is_returning, make_superseded, seal_records};
