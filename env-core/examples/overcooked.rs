//! Overcooked as a module.

env_core::export_env!(env_core::envs::overcooked::Overcooked);
