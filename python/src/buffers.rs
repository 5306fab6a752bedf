//! The NumPy arrays that a batch writes.

use batch::{Arrays, Infos, Observations};
use env_core::Spec;
use numpy::{
    Element, PyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods as _, PyReadwriteArray3,
};
use pyo3::prelude::*;

/// An array of observations, `[instance, seat, value]`.
enum Seen {
    F32(Py<PyArray3<f32>>),
    Compact(Py<PyArray3<i8>>),
}

/// An array of observations while Rust has it alone.
enum SeenMut<'py> {
    F32(PyReadwriteArray3<'py, f32>),
    Compact(PyReadwriteArray3<'py, i8>),
}

impl Seen {
    fn new(py: Python<'_>, compact: bool, shape: [usize; 3]) -> Self {
        if compact {
            Self::Compact(zeros(py, shape))
        } else {
            Self::F32(zeros(py, shape))
        }
    }

    fn to_any(&self, py: Python<'_>) -> Py<PyAny> {
        match self {
            Self::F32(array) => array.clone_ref(py).into_any(),
            Self::Compact(array) => array.clone_ref(py).into_any(),
        }
    }

    fn borrow<'py>(&self, py: Python<'py>) -> PyResult<SeenMut<'py>> {
        Ok(match self {
            Self::F32(array) => SeenMut::F32(array.bind(py).try_readwrite()?),
            Self::Compact(array) => SeenMut::Compact(array.bind(py).try_readwrite()?),
        })
    }
}

impl SeenMut<'_> {
    fn lend(&mut self) -> PyResult<Observations<'_>> {
        Ok(match self {
            Self::F32(array) => Observations::F32(array.as_slice_mut()?),
            Self::Compact(array) => Observations::Compact(array.as_slice_mut()?),
        })
    }
}

fn zeros<T: Element, D: numpy::ndarray::Dimension>(
    py: Python<'_>,
    shape: impl numpy::ndarray::IntoDimension<Dim = D>,
) -> Py<PyArray<T, D>> {
    PyArray::zeros(py, shape, false).unbind()
}

/// The arrays, taken once for the life of a batch.
pub(crate) struct Buffers {
    observations: Seen,
    final_observations: Seen,
    rewards: Py<PyArray2<f32>>,
    terminated: Py<PyArray2<u8>>,
    truncated: Py<PyArray2<u8>>,
    masks: Py<PyArray3<u8>>,
    episode_return: Py<PyArray2<f32>>,
    episode_length: Py<PyArray1<u32>>,
    events: Py<PyArray3<f32>>,
}

impl Buffers {
    /// Takes arrays for this many instances. The arrays of last observations are empty unless wanted.
    pub(crate) fn new(
        py: Python<'_>,
        spec: &Spec,
        instances: usize,
        compact: bool,
        finals: bool,
    ) -> Self {
        let (seats, values) = (usize::from(spec.seats), spec.observation_len());
        let rows = [instances, seats];
        let kept = if finals { instances } else { 0 };
        Self {
            observations: Seen::new(py, compact, [instances, seats, values]),
            final_observations: Seen::new(py, compact, [kept, seats, values]),
            rewards: zeros(py, rows),
            terminated: zeros(py, rows),
            truncated: zeros(py, rows),
            masks: zeros(py, [instances, seats, spec.actions.len()]),
            episode_return: zeros(py, rows),
            episode_length: zeros(py, [instances]),
            events: zeros(py, [instances, seats, spec.events.len()]),
        }
    }

    /// Lends the memory of the arrays to a piece of work.
    pub(crate) fn lend<R>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(Arrays<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        let mut observations = self.observations.borrow(py)?;
        let mut finals = self.final_observations.borrow(py)?;
        let mut rewards = self.rewards.bind(py).try_readwrite()?;
        let mut terminated = self.terminated.bind(py).try_readwrite()?;
        let mut truncated = self.truncated.bind(py).try_readwrite()?;
        let mut masks = self.masks.bind(py).try_readwrite()?;
        let mut episode_return = self.episode_return.bind(py).try_readwrite()?;
        let mut episode_length = self.episode_length.bind(py).try_readwrite()?;
        let mut events = self.events.bind(py).try_readwrite()?;
        let final_observations = match finals.lend()? {
            Observations::F32([]) | Observations::Compact([]) => Observations::None,
            some => some,
        };
        work(Arrays {
            observations: observations.lend()?,
            final_observations,
            rewards: rewards.as_slice_mut()?,
            terminated: terminated.as_slice_mut()?,
            truncated: truncated.as_slice_mut()?,
            masks: Some(masks.as_slice_mut()?),
            infos: Some(Infos {
                episode_return: episode_return.as_slice_mut()?,
                episode_length: episode_length.as_slice_mut()?,
                events: events.as_slice_mut()?,
            }),
        })
    }

    /// The arrays for Python, by the names that [`Arrays`] gives them.
    pub(crate) fn named(&self, py: Python<'_>) -> Vec<(&'static str, Py<PyAny>)> {
        vec![
            ("observations", self.observations.to_any(py)),
            ("final_observations", self.final_observations.to_any(py)),
            ("rewards", self.rewards.clone_ref(py).into_any()),
            ("terminated", self.terminated.clone_ref(py).into_any()),
            ("truncated", self.truncated.clone_ref(py).into_any()),
            ("masks", self.masks.clone_ref(py).into_any()),
            (
                "episode_return",
                self.episode_return.clone_ref(py).into_any(),
            ),
            (
                "episode_length",
                self.episode_length.clone_ref(py).into_any(),
            ),
            ("events", self.events.clone_ref(py).into_any()),
        ]
    }
}
