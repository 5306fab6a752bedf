//! The tests that use the crate as others do, in one program: linking is most of the time of a test.

mod command;
mod dev;
mod guides;
mod http;
mod own_agent;
mod own_module;
mod refusals;
mod rehearse;
mod study;
