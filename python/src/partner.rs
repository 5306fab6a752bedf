//! A policy that plays a seat beside the one that learns.

use std::sync::{Arc, Mutex, PoisonError};

use env_core::{Policy, Spec};
use numpy::PyReadonlyArray1;
use policy::network::ActionChoice;
use policy::{ActionShares, Network, Partners};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;

use crate::error::value;
use crate::world::World;

/// A model, and how it plays: what `coplay.Agent` names.
#[derive(Deserialize)]
struct Order {
    model: String,
    temperature: Option<f32>,
    every_ticks: u8,
    action_mask: bool,
}

impl Order {
    /// The order behind a name: that of an agent, or the path of a model alone.
    fn read(name: &str) -> Option<Self> {
        if name.ends_with(".onnx") {
            return Some(Self {
                model: name.to_owned(),
                temperature: None,
                every_ticks: 1,
                action_mask: false,
            });
        }
        serde_json::from_str(name).ok()
    }

    /// Compiles the model for an environment.
    fn network(&self, spec: &Spec) -> PyResult<Network> {
        let wrong = |why: String| value(format!("partners: {}: {why}", self.model));
        let bytes = std::fs::read(&self.model)
            .map_err(|error| wrong(format!("cannot read it: {error}")))?;
        let choice = ActionChoice {
            every: self.every_ticks,
            temperature: self.temperature,
            is_masked: self.action_mask,
        };
        onnx::read(&bytes, spec, choice).map_err(|error| wrong(error.to_string()))
    }

    fn compile(&self, spec: &Spec) -> PyResult<Partners> {
        let wrong = |why: String| value(format!("partners: {}: {why}", self.model));
        let bytes = self.network(spec)?.encode();
        let bytes = bytes.map_err(|error| wrong(error.to_string()))?;
        let mut partners = Partners::default();
        let added = partners.add_model(&HASH.repeat(64), &bytes);
        added.map_err(|error| wrong(error.to_string()))?;
        Ok(partners)
    }
}

/// A digit of the hash under which a model plays here, where nothing is recorded.
const HASH: &str = "0";

/// Opens policies of this name for an environment: a script, or a model that is compiled once.
///
/// # Errors
/// A `ValueError` that says which names there are, that this policy plays something else, or what is wrong with the
/// model.
pub(crate) fn opener(name: &str, spec: &Spec) -> PyResult<impl Fn() -> PyResult<Box<dyn Policy>>> {
    let order = Order::read(name);
    let partners = order.as_ref().map(|it| it.compile(spec)).transpose()?;
    let (name, spec) = (name.to_owned(), spec.clone());
    Ok(move || match &partners {
        Some(partners) => {
            let name = policy::policy_name("agent", &HASH.repeat(64));
            let policy = partners.open(&name, &spec);
            policy.ok_or_else(|| value("partners: the model does not play this environment"))
        }
        None => script(&name, &spec),
    })
}

/// The probabilities with which a policy would act: a script that is reset in a seat with a seed, or a model, whose
/// compiled bytes may be given.
///
/// # Errors
/// As those of [`opener`].
pub(crate) fn open_shares(
    name: &str,
    spec: &Spec,
    [seat, seed]: [u64; 2],
    compiled: Option<&[u8]>,
) -> PyResult<ActionShares> {
    let network = match (compiled, Order::read(name)) {
        (Some(bytes), _) => Network::decode(bytes).map_err(value)?,
        (None, Some(order)) => order.network(spec)?,
        (None, None) => {
            let policy = Partners::default().open(name, spec);
            let mut policy = policy.map_or_else(|| script(name, spec), Ok)?;
            policy.reset(seat as usize, seed);
            return Ok(ActionShares::of_policy(policy));
        }
    };
    ActionShares::of_network(Arc::new(network), spec).map_err(value)
}

fn script(name: &str, spec: &Spec) -> PyResult<Box<dyn Policy>> {
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
                "partners: there is no partner `{name}`; there is: {able}, or the file of a model (`*.onnx`)"
            ))
        }
    })
}

/// A mask as bits; an action beyond them may always have an effect.
pub(crate) fn mask_bits(allowed: impl Iterator<Item = bool>) -> u64 {
    let bits = allowed.take(64).enumerate();
    bits.fold(0, |bits, (action, is_allowed)| {
        bits | u64::from(is_allowed) << action
    })
}

/// A script or a model in a seat.
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
        let policy = Mutex::new(opener(name, world.facts())?()?);
        Ok(Self { policy })
    }

    /// Starts an episode in a seat.
    fn reset(&mut self, seat: usize, seed: u64) {
        self.policy().reset(seat, seed);
    }

    /// Chooses an action; `mask` has 1 for each action that may have an effect, for models that ask for it.
    #[pyo3(signature = (observation, mask=None))]
    fn act(
        &mut self,
        observation: PyReadonlyArray1<'_, f32>,
        mask: Option<PyReadonlyArray1<'_, i8>>,
    ) -> PyResult<u16> {
        let observation = observation.as_slice()?;
        let Some(mask) = mask else {
            return Ok(self.policy().act(observation));
        };
        let mask = mask_bits(mask.as_slice()?.iter().map(|it| *it != 0));
        Ok(self.policy().act_masked(observation, mask))
    }

    /// Tells if its choices depend on the action mask.
    #[getter]
    fn wants_mask(&mut self) -> bool {
        self.policy().wants_mask()
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
