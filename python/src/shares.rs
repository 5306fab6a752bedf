//! Probabilities of the actions of a policy in a seat, state by state.

use std::sync::{Mutex, PoisonError};

use numpy::PyArray1;
use policy::ActionShares;
use pyo3::prelude::*;

use crate::partner::open_shares;
use crate::world::World;

/// A policy that is asked in a seat, from the start of an episode on.
#[pyclass(module = "coplay._coplay")]
pub(crate) struct Shares {
    policy: Mutex<ActionShares>,
    seat: usize,
}

#[pymethods]
impl Shares {
    /// Asks a script, a model, or one whose compiled bytes are given.
    #[new]
    #[pyo3(signature = (name, world, seat, seed, compiled=None))]
    fn new(
        name: &str,
        world: PyRef<'_, World>,
        seat: usize,
        seed: u64,
        compiled: Option<&[u8]>,
    ) -> PyResult<Self> {
        let place = [seat as u64, seed];
        let policy = open_shares(name, world.facts(), place, compiled)?;
        let policy = Mutex::new(policy);
        Ok(Self { policy, seat })
    }

    /// The probability of each action in the next state, in a new array.
    fn next<'py>(
        &mut self,
        py: Python<'py>,
        mut world: PyRefMut<'_, World>,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let (observation, mask) = world.observe_with_mask(self.seat)?;
        let policy = self.policy.get_mut();
        let policy = policy.unwrap_or_else(PoisonError::into_inner);
        let shares = policy.next(world.facts(), &observation, mask);
        Ok(PyArray1::from_vec(py, shares))
    }
}
