//! Search and rescue as a module.

env_core::export_env!(env_core::envs::search_rescue::SearchRescue);
