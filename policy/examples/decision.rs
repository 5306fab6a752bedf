//! The part of a page that decides, for tests and for `cargo xtask bench agents`: a model, as a page gets it, decides on
//! observations.
#![cfg(target_arch = "wasm32")]

use env_core::contract::{ActionSpec, FieldSpec};
use env_core::{Policy, Spec};
use policy::{Network, Partners};
use wasm_bindgen::prelude::*;

/// A model in a seat.
#[wasm_bindgen]
pub struct Player(Box<dyn Policy>);

#[wasm_bindgen]
impl Player {
    /// Opens a compiled model that observes `values` numbers and has six actions.
    ///
    /// # Errors
    /// The bytes are no such model.
    #[wasm_bindgen(constructor)]
    pub fn new(model: &[u8], values: u32) -> Result<Self, String> {
        let action = |at: usize| ActionSpec {
            name: format!("a{at}"),
            ..ActionSpec::default()
        };
        let spec = Spec {
            id: "lab".into(),
            seats: 1,
            actions: (0..6).map(action).collect(),
            observation: vec![FieldSpec {
                name: "all".into(),
                shape: vec![values],
                ..FieldSpec::default()
            }],
            ..Spec::default()
        };
        let sha256 = "0".repeat(64);
        let mut partners = Partners::default();
        partners
            .add_model(&sha256, model)
            .map_err(|error| error.to_string())?;
        let policy = partners.open(&policy::policy_name("model", &sha256), &spec);
        policy
            .map(Self)
            .ok_or_else(|| "it plays another environment".into())
    }

    /// Forgets all decisions.
    pub fn reset(&mut self) {
        self.0.reset(0, 0);
    }

    /// The action for an observation.
    pub fn act(&mut self, observation: &[f32]) -> u16 {
        self.0.act(observation)
    }
}

/// A model that tells the values of actions.
#[wasm_bindgen]
pub struct Values {
    network: Network,
    memory: Vec<f32>,
}

#[wasm_bindgen]
impl Values {
    /// Opens a compiled model.
    ///
    /// # Errors
    /// The bytes are none.
    #[wasm_bindgen(constructor)]
    pub fn new(model: &[u8]) -> Result<Self, String> {
        let network = Network::decode(model).map_err(|error| error.to_string())?;
        let memory = vec![0.0; network.memory_len()];
        Ok(Self { network, memory })
    }

    /// The values for an observation, after those before it; `mask` has the actions that may have an effect, as bits.
    pub fn next(&mut self, observation: &[f32], mask: u64) -> Vec<f32> {
        self.network.values(observation, mask, &mut self.memory)
    }
}
