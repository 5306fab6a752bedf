//! The tests that use the crate as others do, in one program: linking is most of the time of a test.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod agent_play;
mod command;
mod desk;
mod dev;
mod guides;
mod http;
mod human_ai;
mod import;
mod own_agent;
mod own_module;
mod partner_clips;
mod records;
mod refusals;
mod rehearse;
mod replays;
mod study;
mod your_environment;
