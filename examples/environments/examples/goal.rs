//! `Goal` as a module.

env_core::export_env!(example_environments::goal::Goal);
