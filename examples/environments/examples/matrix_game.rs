//! `MatrixGame` as a module.

env_core::export_env!(example_environments::matrix_game::MatrixGame);
