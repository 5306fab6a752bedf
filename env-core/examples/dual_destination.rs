//! Dual Destination as a module.

env_core::export_env!(env_core::envs::dual_destination::DualDestination);
