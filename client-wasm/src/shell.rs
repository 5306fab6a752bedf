//! The shared parts around pages and episodes: elements, frames of animation, the inbox, and the last resort.

pub(crate) mod bubbles;
pub(crate) mod credentials;
pub(crate) mod dom;
pub(crate) mod frames;
pub(crate) mod gamepads;
pub(crate) mod help;
pub(crate) mod iframe;
pub(crate) mod inbox;
pub(crate) mod layout;
pub(crate) mod leave_button;
pub(crate) mod lifetime;
pub(crate) mod offline_data;
pub(crate) mod panic_handler;
pub(crate) mod parent_page;
