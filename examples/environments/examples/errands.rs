//! `Errands` as a module.

env_core::export_env!(example_environments::errands::Errands);
