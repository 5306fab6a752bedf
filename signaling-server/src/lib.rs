//! The server's shell: routes, sockets, the driver, the threads of episodes, and the sockets of STUN and TURN.
//!
//! The arbiter ([`server_core::arbiter`]) decides; [`http`], [`socket`] and [`driver`] translate and forward.
//! The server is never in the tick path: it arbitrates who plays, decides when an episode starts and ends, and stores
//! what is confirmed.

#![forbid(unsafe_code)]

pub mod app;
pub mod assets;
pub mod client_address;
pub mod desk;
pub mod disk;
pub mod driver;
pub mod episode_writer;
mod file_budget;
pub mod films;
mod first_page;
pub mod gate;
pub mod http;
mod http_range;
pub mod listener;
pub mod model_client;
pub mod origins;
pub mod replays;
pub mod sentences;
pub mod server;
pub mod site;
pub mod site_rules;
pub mod socket;
pub mod study_files;
pub mod turn_sockets;
pub mod webhook;
pub mod world_faults;
