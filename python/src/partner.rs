//! A policy that plays a seat beside the one that learns.

use std::sync::{Mutex, PoisonError};

use env_core::{Policy, Spec};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::value;
use crate::world::World;

/// The policy of this name for an environment.
///
/// # Errors
/// A `ValueError` that says which names there are, or that this policy plays something else.
pub(crate) fn open(name: &str, spec: &Spec) -> PyResult<Box<dyn Policy>> {
    policy::by_name(name, spec).ok_or_else(|| {
        let can = |name: &&str| policy::by_name(name, spec).is_some();
        let able: Vec<&str> = policy::NAMES.iter().copied().filter(can).collect();
        let able = able.join(", ");
        if policy::NAMES.contains(&name) {
            value(format!(
                "partners: `{name}` cannot play `{}` with these parameters; these can: {able}",
                spec.id
            ))
        } else {
            value(format!(
                "partners: there is no partner `{name}`; there is: {able}"
            ))
        }
    })
}

/// A policy that comes with the package.
#[pyclass(module = "coplay._coplay")]
pub(crate) struct Partner {
    policy: Mutex<Box<dyn Policy>>,
}

impl Partner {
    fn policy(&mut self) -> &mut dyn Policy {
        &mut **self
            .policy
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Partner {
    #[new]
    fn new(name: &str, world: PyRef<'_, World>) -> PyResult<Self> {
        let policy = Mutex::new(open(name, world.facts())?);
        Ok(Self { policy })
    }

    /// Starts an episode in a seat.
    fn reset(&mut self, seat: usize, seed: u64) {
        self.policy().reset(seat, seed);
    }

    /// Chooses an action.
    fn act(&mut self, observation: PyReadonlyArray1<'_, f32>) -> PyResult<u16> {
        Ok(self.policy().act(observation.as_slice()?))
    }

    /// The bytes of its state.
    fn get_state<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut bytes = Vec::new();
        self.policy().state(&mut bytes);
        PyBytes::new(py, &bytes)
    }

    /// Takes up a state from its bytes.
    fn set_state(&mut self, state: &[u8]) -> PyResult<()> {
        self.policy().restore(state).map_err(value)
    }
}
