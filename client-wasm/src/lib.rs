//! The browser shell of Coplay: keys, connections, pictures, pages and words around a `client_core::Page`.
//!
//! One handle, [`Coplay`], is all that the page sees ([`StaticPicture`] is a picture without one).
//! Decisions that need no browser are in the crate `client-core`, or in modules that know none
//! ([`episode::controls`], [`episode::keys`], [`episode::partners`], [`episode::tween`], [`messages`],
//! [`pages::unmet_requirements`]), and are tested natively;
//! the rest translates and forwards, and exists on `wasm32` alone.

#![forbid(unsafe_code)]

pub mod episode;
pub mod messages;
pub mod pages;

#[cfg(target_arch = "wasm32")]
mod app;
#[cfg(target_arch = "wasm32")]
mod handle;
#[cfg(target_arch = "wasm32")]
mod net;
#[cfg(target_arch = "wasm32")]
mod shell;

#[cfg(target_arch = "wasm32")]
pub use episode::static_picture::StaticPicture;
#[cfg(target_arch = "wasm32")]
pub use handle::Coplay;
