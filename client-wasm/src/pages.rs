//! The pages between the episodes, one module for each kind of stage.
//!
//! Each page is made once, when its stage begins, and removed with it.

pub mod unmet_requirements;

#[cfg(target_arch = "wasm32")]
pub(crate) mod chat;
#[cfg(target_arch = "wasm32")]
pub(crate) mod consent;
#[cfg(target_arch = "wasm32")]
pub(crate) mod debrief;
#[cfg(target_arch = "wasm32")]
pub(crate) mod end;
#[cfg(target_arch = "wasm32")]
pub(crate) mod external;
#[cfg(target_arch = "wasm32")]
pub(crate) mod form;
#[cfg(target_arch = "wasm32")]
pub(crate) mod instructions;
#[cfg(target_arch = "wasm32")]
pub(crate) mod lobby;
#[cfg(target_arch = "wasm32")]
pub(crate) mod regroup;
#[cfg(target_arch = "wasm32")]
pub(crate) mod rest;
#[cfg(target_arch = "wasm32")]
pub(crate) mod screening;
#[cfg(target_arch = "wasm32")]
pub(crate) mod watch;
