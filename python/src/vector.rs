//! Thousands of instances, stepped together into NumPy arrays.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use batch::{Autoreset, BatchOptions};
use env_core::Spec;
use numpy::{PyArray1, PyArray2, PyArrayMethods as _, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffers::Buffers;
use crate::engine::Engine;
use crate::error::value;
use crate::partner;
use crate::saved::Saved;
use crate::world::Source;

/// Many instances of one environment.
#[pyclass(module = "coplay._coplay")]
pub(crate) struct Vector {
    /// Behind a lock that is never waited for: it makes the batch shareable, and methods have it alone.
    engine: Mutex<Engine>,
    buffers: Buffers,
    spec: Spec,
    instances: usize,
}

impl Vector {
    fn engine(&mut self) -> (&mut Engine, &Buffers) {
        let engine = self
            .engine
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        (engine, &self.buffers)
    }

    fn check_instance(&self, instance: usize) -> PyResult<()> {
        if instance < self.instances {
            return Ok(());
        }
        let last = self.instances - 1;
        Err(value(format!(
            "there is no instance {instance}; this batch has 0 to {last}"
        )))
    }
}

fn mode(name: &str) -> PyResult<Autoreset> {
    match name {
        "next_step" => Ok(Autoreset::NextStep),
        "same_step" => Ok(Autoreset::SameStep),
        "disabled" => Ok(Autoreset::Disabled),
        _ => Err(value(format!(
            "autoreset: there is no mode `{name}`; there is: next_step, same_step, disabled"
        ))),
    }
}

/// Opens a batch of an environment of ours, or of the module of someone else.
fn open(id: &str, params: &str, options: BatchOptions) -> PyResult<Box<dyn batch::Vector>> {
    let batch = match Source::find(id)? {
        Source::Native(id) => batch::open(&id, params, options),
        module => {
            let worlds = (0..options.instances).map(|_| module.open(params));
            batch::of_worlds(worlds.collect::<PyResult<_>>()?, options)
        }
    };
    batch.map_err(value)
}

#[pymethods]
impl Vector {
    /// Opens a batch; `partners` has a name for each seat that the caller does not play.
    #[new]
    #[pyo3(signature = (id, params, instances, *, threads, autoreset, compact, partners))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they have names where it is called"
    )]
    fn new(
        py: Python<'_>,
        id: &str,
        params: &str,
        instances: usize,
        threads: usize,
        autoreset: &str,
        compact: bool,
        partners: Vec<Option<String>>,
    ) -> PyResult<Self> {
        let autoreset = mode(autoreset)?;
        let options = BatchOptions {
            instances,
            threads,
            autoreset,
            in_place: true,
        };
        let batch = py.detach(|| open(id, params, options))?;
        let spec = batch.spec().clone();
        if compact && !spec.compact {
            return Err(value(
                "observation: this environment observes numbers that no byte holds; ask for \"float32\"",
            ));
        }
        let finals = autoreset == Autoreset::SameStep;
        let buffers = Buffers::new(py, &spec, instances, compact, finals);
        let players = |name: &String| {
            let open = partner::opener(name, &spec)?;
            (0..instances).map(|_| open()).collect::<PyResult<Vec<_>>>()
        };
        let partners = partners
            .iter()
            .map(|name| name.as_ref().map(players).transpose())
            .collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            engine: Mutex::new(Engine::new(batch, partners)),
            buffers,
            spec,
            instances,
        })
    }

    /// The spec, as JSON.
    fn spec(&self) -> PyResult<String> {
        serde_json::to_string(&self.spec).map_err(value)
    }

    /// Number of threads that step the instances.
    #[getter]
    fn threads(&mut self) -> usize {
        self.engine().0.threads()
    }

    /// The arrays that every call writes, by name.
    #[getter]
    fn arrays(&self, py: Python<'_>) -> BTreeMap<&'static str, Py<PyAny>> {
        self.buffers.named(py).into_iter().collect()
    }

    /// Restarts episodes, of all instances or of those in `which`; an instance without a seed continues its stream of
    /// seeds. Returns the seeds of the episodes.
    #[pyo3(signature = (seeds, which=None))]
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        seeds: Vec<Option<u64>>,
        which: Option<Vec<bool>>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let (engine, buffers) = self.engine();
        let seeds = buffers.lend(py, |arrays| {
            Ok(py.detach(|| engine.reset(&seeds, which.as_deref(), arrays))?)
        })?;
        Ok(PyArray1::from_vec(py, seeds))
    }

    /// Advances every instance by one step; `actions` is `[instance, seat that the caller plays]`, flattened.
    /// Says whether an episode ended or was started anew.
    fn step(&mut self, py: Python<'_>, actions: PyReadonlyArray1<'_, i64>) -> PyResult<bool> {
        let actions = actions.as_slice()?;
        let (engine, buffers) = self.engine();
        buffers.lend(py, |arrays| Ok(py.detach(|| engine.step(actions, arrays))?))
    }

    /// The actions of the last step, `[instance, seat]`, in a new array.
    fn actions<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u16>>> {
        let seats = usize::from(self.spec.seats);
        let shape = [self.instances, seats];
        PyArray1::from_slice(py, self.engine().0.actions()).reshape(shape)
    }

    /// 1 for each instance whose episode was started anew in the last step.
    fn restarted<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_slice(py, self.engine().0.restarted())
    }

    /// The episode of an instance on its way, as `World.get_state` gives it.
    fn get_state<'py>(
        &mut self,
        py: Python<'py>,
        instance: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.check_instance(instance)?;
        let saved = self.engine().0.save(instance).map_err(value)?;
        Ok(PyBytes::new(py, &saved.to_bytes()))
    }

    /// Takes up the episode of an instance.
    fn set_state(&mut self, py: Python<'_>, instance: usize, state: &[u8]) -> PyResult<()> {
        self.check_instance(instance)?;
        let saved = Saved::from_bytes(state).map_err(value)?;
        let (engine, buffers) = self.engine();
        buffers.lend(py, |arrays| Ok(engine.take_up(instance, &saved, arrays)?))
    }
}
