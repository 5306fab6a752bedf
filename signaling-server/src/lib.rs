//! The Coplay server: sessions, lobby, signalling, relay and archive behind one axum router.
//!
//! Pure cores ([`lobby`], [`hub`]) decide; thin shells ([`http`], [`socket`], [`driver`]) translate and forward.
//! The server is never in the tick path: it arbitrates who plays, when an episode starts and ends, and keeps
//! what is confirmed.

pub mod admin;
pub mod app;
pub mod archive;
pub mod assets;
pub mod changed;
pub mod cli;
pub mod clock;
pub mod config;
pub mod data;
pub mod dev;
pub mod driver;
pub mod env;
pub mod export;
pub mod http;
pub mod hub;
pub mod keeper;
pub mod links;
pub mod lint;
pub mod lobby;
pub mod memory;
pub mod networks;
pub mod pace;
pub mod pay;
mod ranges;
pub mod rehearse;
pub mod retain;
pub mod server;
pub mod socket;
pub mod store;
pub mod template;
pub mod turn;
pub mod verify;
