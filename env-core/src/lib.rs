//! The environment contract of Coplay, and the environments themselves.
//!
//! An environment is three things: static facts (its type), parameterised facts (a value of that type,
//! built from its parameters), and state (plain data, of which there may be thousands for one value).
//! The same code runs natively (training, the server's replica) and as a WebAssembly module in the browser
//! (`export_env!`); both give the same digests, bit for bit.
//!
//! This crate must not know of clocks, networks, sessions, browsers or studies.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

pub mod abi;
pub mod art;
mod choosing;
pub mod conformance;
pub mod contract;
pub mod digest;
pub mod draw;
pub mod envs;
pub mod gamepad;
pub mod grid;
pub mod guest;
pub mod instance;
pub mod observer;
pub mod rng;
pub mod shared;
pub mod tally;
mod value;
pub mod view;

pub use choosing::choose_action;
pub use contract::{Action, Environment, MAX_SEATS, Policy, Spec, StepEvent, StepOutcome, World};
pub use instance::Instance;
pub use observer::{BatchObserver, Trail};
pub use value::{Forms, Value};
