//! The native half of the Python package `coplay`: worlds, batches of them, partners, and videos.
//!
//! It translates between NumPy and the crates of Coplay and releases Python's lock while they work.
//! What Gymnasium and PettingZoo want beyond that is Python, in `coplay/`.

#![forbid(unsafe_code)]

mod buffers;
mod engine;
mod error;
mod partner;
mod saved;
mod shares;
mod vector;
mod video;
mod world;

use env_core::envs::{self, NativeEnvironment, Visitor};
use pyo3::prelude::*;

/// The native half of coplay.
#[pymodule]
mod _coplay {
    #[pymodule_export]
    use super::partner::Partner;
    #[pymodule_export]
    use super::shares::Shares;
    #[pymodule_export]
    use super::vector::Vector;
    #[pymodule_export]
    use super::video::Video;
    #[pymodule_export]
    use super::world::World;
    #[pymodule_export]
    use super::{environments, params_schema, partners};
}

/// Ids of the environments that come with the package.
#[pyfunction]
fn environments() -> Vec<&'static str> {
    envs::IDS.to_vec()
}

/// Names of the partners that come with the package.
#[pyfunction]
fn partners() -> Vec<&'static str> {
    policy::NAMES.to_vec()
}

/// JSON Schema of the parameters of an environment.
#[pyfunction]
fn params_schema(id: &str) -> PyResult<&'static str> {
    struct Schema;
    impl Visitor for Schema {
        type Output = &'static str;
        fn visit<E: NativeEnvironment>(self, _: E) -> Self::Output {
            E::params_schema()
        }
    }
    envs::visit(id, "", Schema).map_err(error::value)
}
