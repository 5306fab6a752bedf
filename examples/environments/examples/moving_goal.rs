//! `MovingGoal` as a module.

env_core::export_env!(example_environments::moving_goal::MovingGoal);
