//! One participant's page without a browser, sans-IO: from the first attempt to connect to the last page of the study.
//!
//! A [`Page`] takes what happens to a tab (messages of the server, datagrams of other pages, what the person does, and
//! the time) and says what the tab should do. It reconnects with pauses, sends its credentials, keeps the shown stage
//! and its typed answers until the server has stored them, shows the outcome of an episode before the next stage,
//! carries the group's chat, and drives the [`Peer`] of the episode. The browser, the rehearsal's bots and the
//! simulation are shells around this one page, so the simulation plays the same code as people's pages.
//!
//! # How a shell drives it
//!
//! All times are the page's own clock, microseconds, which never runs backwards; the page estimates the server's clock
//! itself ([`Page::now`] has both, for questions to the peer).
//!
//! 1. The shell reads the credentials (address, storage of the tab) into [`Credentials`] and makes a [`Page`].
//! 2. After each call of a `handle_*` function it takes every [`Page::poll_event`] and does every [`Page::poll_effect`],
//!    until both are empty. Events say what to show, effects what to do; neither is ever nested in a call.
//! 3. It calls [`Page::handle_timeout`] no later than [`Page::poll_timeout`] says; earlier and more often does no harm.
//!    A browser may call it with every beat of its ticker and never ask.
//! 4. [`PageEffect::OpenSocket`] carries a number. The shell returns it with all events of that connection
//!    ([`Page::handle_socket_opened`], [`Page::handle_socket_bytes`], [`Page::handle_socket_closed`]); events of an
//!    earlier connection are ignored. A socket that cannot be made at all is one that closes.
//! 5. On [`PageEvent::EpisodeBegan`] the picture of an episode replaces the stage. On
//!    [`PageEffect::LoadWorld`] the shell loads what [`Peer::plan`] names and calls [`Page::handle_world`]. Keys, frames
//!    and everything else of the episode go to the peer by [`Page::with_peer`], which also does what
//!    the peer asks for. Without WebRTC, [`PageEffect::OpenChannel`] is answered by
//!    [`Page::handle_channel`] with `false`, and all packets go through the server.
//! 6. What the person types into a form goes to [`Page::handle_draft`], the text in the chat's field to
//!    [`Page::handle_typed`]; the server soon stores both, and they come back with
//!    [`PageEvent::StageShown`] and [`PageEvent::TypedRestored`] after a reload. Before [`Page::handle_hidden`] and
//!    [`Page::handle_leaving`] the shell gives the page the newest draft, because there may be no later moment.
//! 7. [`Page::handle_done`] ends a stage, [`Page::handle_outcome_read`] the outcome of an episode, [`Page::handle_leave`]
//!    the study.
//!
//! This crate must not know of sockets, clocks, browsers, studies, or how anything is drawn.
#![forbid(unsafe_code)]

pub mod chat;
pub mod connection;
pub mod drafts;
mod effects;
mod entry;
pub mod exchange;
mod page;
mod stage;
pub mod time_limit;

pub use connection::SocketId;
pub use effects::{PageEffect, PageEvent, StopReason};
pub use entry::Credentials;
pub use page::Page;

pub use peer::{Now, Partners, Peer, ShownView, Status, Verdict, World};
pub use stage::{Before, OUTCOME_US, ShownStage};
