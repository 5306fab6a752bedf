//! JaxMARL's Overcooked V2 as a module.

env_core::export_env!(env_core::envs::overcooked_jaxmarl_v2::OvercookedJaxmarlV2);
