//! envs
