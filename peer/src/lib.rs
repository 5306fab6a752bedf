//! One page's part in an episode, sans-IO.
#![forbid(unsafe_code)]

pub mod clock;
pub mod link;
pub mod probe;
pub mod recorder;
