//! An episode on this page: its module, keys, picture, sounds, and the words beside the picture.
//!
//! These modules must not know of stages.

pub mod controls;
pub mod gamepads;
pub mod keys;
pub mod partner_names;
pub mod partners;
pub mod tween;

#[cfg(target_arch = "wasm32")]
pub(crate) mod directive_buttons;
#[cfg(target_arch = "wasm32")]
pub(crate) mod measure;
#[cfg(target_arch = "wasm32")]
pub(crate) mod module;
#[cfg(target_arch = "wasm32")]
pub(crate) mod play;
#[cfg(target_arch = "wasm32")]
pub(crate) mod pointer;
#[cfg(target_arch = "wasm32")]
pub(crate) mod screen;
#[cfg(target_arch = "wasm32")]
pub(crate) mod shared_seat;
#[cfg(target_arch = "wasm32")]
pub(crate) mod sound;
#[cfg(target_arch = "wasm32")]
pub(crate) mod static_picture;
#[cfg(target_arch = "wasm32")]
pub(crate) mod touch_buttons;
#[cfg(target_arch = "wasm32")]
pub(crate) mod view;
