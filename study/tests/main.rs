//! The tests that use the crate as others do, in one program: linking is most of the time of a test.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod adherence;
mod assign;
mod blocks;
mod braces;
mod chat;
mod env_stages;
mod example;
mod faults;
mod folder;
mod language_models;
mod partners;
mod payment;
mod progress;
mod schema;
mod screening;
mod seat_scores;
mod shared_seats;
mod stages;
mod texts;
mod watch;
mod worked;
