//! The browser shell of Coplay: keys, connections, pictures, pages and words around a `peer::Peer`.
//!
//! One handle, [`Coplay`], is all that the page sees ([`Still`] is a picture without one).
//! What can be decided without a browser is decided in the crate `peer`, or in modules that know none
//! ([`companions`], [`controls`], [`drafts`], [`keys`], [`lacks`], [`tween`]), and is tested natively;
//! the rest translates and forwards, and exists on `wasm32` alone.

pub mod companions;
pub mod controls;
pub mod drafts;
pub mod keys;
pub mod lacks;
pub mod sentences;
pub mod tween;

#[cfg(target_arch = "wasm32")]
mod agree;
#[cfg(target_arch = "wasm32")]
mod app;
#[cfg(target_arch = "wasm32")]
mod chat;
#[cfg(target_arch = "wasm32")]
mod debrief;
#[cfg(target_arch = "wasm32")]
mod dom;
#[cfg(target_arch = "wasm32")]
mod entry;
#[cfg(target_arch = "wasm32")]
mod external;
#[cfg(target_arch = "wasm32")]
mod farewell;
#[cfg(target_arch = "wasm32")]
mod form;
#[cfg(target_arch = "wasm32")]
mod frame;
#[cfg(target_arch = "wasm32")]
mod handle;
#[cfg(target_arch = "wasm32")]
mod instructions;
#[cfg(target_arch = "wasm32")]
mod leave;
#[cfg(target_arch = "wasm32")]
mod lobby;
#[cfg(target_arch = "wasm32")]
mod measure;
#[cfg(target_arch = "wasm32")]
mod module;
#[cfg(target_arch = "wasm32")]
mod pad;
#[cfg(target_arch = "wasm32")]
mod pages;
#[cfg(target_arch = "wasm32")]
mod peers;
#[cfg(target_arch = "wasm32")]
mod play;
#[cfg(target_arch = "wasm32")]
mod post;
#[cfg(target_arch = "wasm32")]
mod regroup;
#[cfg(target_arch = "wasm32")]
mod rescue;
#[cfg(target_arch = "wasm32")]
mod rest;
#[cfg(target_arch = "wasm32")]
mod scene;
#[cfg(target_arch = "wasm32")]
mod screening;
#[cfg(target_arch = "wasm32")]
mod socket;
#[cfg(target_arch = "wasm32")]
mod sound;
#[cfg(target_arch = "wasm32")]
mod still;
#[cfg(target_arch = "wasm32")]
mod view;

#[cfg(target_arch = "wasm32")]
pub use handle::Coplay;
#[cfg(target_arch = "wasm32")]
pub use still::Still;
