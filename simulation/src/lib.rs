//! Whole studies in one thread: the page that people's browsers run ([`client_core::Page`]), the real server core
//! ([`server_core::arbiter::Arbiter`], [`archive::Episode`]), a virtual clock and a simulated network.
//!
//! A seed draws a [`scenario::Scenario`]: the study's terms, people with their machines and networks, and the faults
//! with their times. [`run::Run`] plays it to the end of the study for everybody, and [`oracle::Oracle`] watches it.
//! The same seed gives the same run, event for event, on every machine.
//!
//! The simulated parts: WebSockets are ordered and slow, and lose what is under way when they close
//! ([`wire`]); data channels come up a while after both pages asked, and lose, double and reorder ([`channels`],
//! [`network_conditions`]); the disk may tear the write that a crash interrupts ([`disk`]); the database does one write after the
//! other, or not at all ([`database`], [`server`]; a rehearsal has another [`storage`]). A page's shell is as thin as in the browser ([`tab`]).
//!
//! This crate must not know how anything is decided: it only carries out what the cores say.

#![forbid(unsafe_code)]

mod agent;
pub mod bounds;
pub mod channels;
pub mod database;
pub mod disk;
pub mod fault_injection;
pub mod lie;
pub mod native;
pub mod network_conditions;
pub mod oracle;
pub mod rng;
pub mod run;
pub mod scenario;
pub mod seeds;
pub mod server;
pub mod storage;
pub mod study_draw;
pub mod tab;
pub mod trace;
pub mod wire;
