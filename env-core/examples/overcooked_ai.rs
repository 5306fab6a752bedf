//! Overcooked-AI as a module.

env_core::export_env!(env_core::envs::overcooked_ai::OvercookedAi);
