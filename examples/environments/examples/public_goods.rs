//! `PublicGoods` as a module.

env_core::export_env!(example_environments::public_goods::PublicGoods);
