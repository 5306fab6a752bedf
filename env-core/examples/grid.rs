//! Grid worlds that are written as data, as a module.

env_core::export_env!(env_core::envs::grid::GridFile);
