//! Goal seeking as a module.

env_core::export_env!(env_core::envs::goal_seeking::GoalSeeking);
