//! Hanabi as a module.

env_core::export_env!(env_core::envs::hanabi::Hanabi);
