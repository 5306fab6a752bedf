//! One page's part in an episode, sans-IO: from the plan to the server's statement of the end.
//!
//! A [`Peer`] takes what a page receives (messages of the server, datagrams of the others, the person's wishes, what
//! the screen showed, and the time) and says what the page should send. In between, it drives a [`rollback::Session`],
//! chooses for every other person between data channel and relay, keeps what is not yet durable, applies changes, and
//! takes its seat back when it has lost it.
//!
//! # Use
//!
//! On `ServerMessage::Match`, the shell makes a [`Peer`], whether or not the episode runs already, and drops an earlier
//! one. It loads the module and gives the world to [`Peer::handle_world`]. From then on, it calls `handle_*` with the
//! time, [`Peer::handle_timeout`] at [`Peer::poll_timeout`] at the latest, and after each call does what
//! [`Peer::poll_effect`] says until it says nothing. Signals of WebRTC do not pass through the peer: the shell gives
//! them to its connections. [`Effect::Connect`] is also emitted for connections that died; of two pages, the one with
//! the lower seat offers, and the other one asks it to offer.
//!
//! This crate must not know of sockets, clocks, browsers, studies, or how a world is drawn.
#![forbid(unsafe_code)]

pub mod clock;
mod effects;
pub mod link;
mod net;
mod peer;
pub mod probe;
pub mod recorder;
mod seals;

pub use effects::{Effect, Now, Status, Verdict};
pub use env_core::World;
pub use peer::{Peer, ShownView};
pub use policy::Partners;
