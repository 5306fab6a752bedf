//! Replays: what happened in an episode, tick by tick, computed from its log.
//!
//! [`Replay`] has the confirmed pictures of the whole world and of each seat, the frames that each page showed, actions,
//! controllers, rewards, events, key presses and faults of the network. [`write_page`] makes one HTML file of it.
//! [`Film`] has the pictures of one view alone, for participants, and [`DrawnEpisode`] draws every state for a video.
//! [`Timeline`] goes to any tick, and [`Branch`] continues from one with another controller.
//!
//! This crate must not know of sockets, clocks, databases and command lines. A replay names no participant.

#![forbid(unsafe_code)]

mod advice;
mod branch;
mod drawn;
mod episode;
mod film;
mod notes;
mod page;
mod pictures;
mod screens;
mod timeline;

pub use advice::{Adviser, UnknownPolicy, read_spec};
pub use branch::{Branch, BranchError, BranchLane, BranchRun};
pub use drawn::{DrawnEpisode, Sprites};
pub use episode::{Replay, ReplayChatMessage, ReplayOptions};
pub use film::{Film, FilmOrder};
pub use page::{FILM_FILES, write_page};
pub use timeline::Timeline;
