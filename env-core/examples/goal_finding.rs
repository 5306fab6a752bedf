//! Goal finding as a module.

env_core::export_env!(env_core::envs::goal_finding::GoalFinding);
