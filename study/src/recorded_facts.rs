//! The facts of a host as data: recorded while a study is checked, so that it can be read again without a host.

use std::cell::RefCell;

use protocol::hash::sha256_hex;
use serde::{Deserialize, Serialize};

use crate::host::{EnvFacts, EnvFault, HostFacts};
use crate::stage::ai_partner::{CompiledModel, Model};
use crate::stage::env::Env;

/// The facts that a host stated about the environments and models of one study.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFacts {
    policies: Vec<String>,
    /// By the key of an environment with its parameters.
    envs: Vec<(String, EnvFacts)>,
    /// The scripts that can play each.
    players: Vec<(String, Vec<String>)>,
    models: Vec<RecordedModel>,
}

/// A model that a host compiled for an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedModel {
    /// The key of model and environment.
    key: String,
    /// The name under which it plays.
    name: String,
    bytes: Vec<u8>,
    certificate: Option<Vec<u8>>,
}

/// A host whose facts are recorded.
pub struct FactsRecorder<'a, H> {
    host: &'a H,
    recorded: RefCell<RecordedFacts>,
}

impl<'a, H: HostFacts> FactsRecorder<'a, H> {
    /// Records the facts of `host`.
    pub fn new(host: &'a H) -> Self {
        Self {
            host,
            recorded: RefCell::default(),
        }
    }

    /// The facts that it stated.
    pub fn into_recorded(self) -> RecordedFacts {
        self.recorded.into_inner()
    }
}

/// Adds an entry, unless the key has one.
fn add<T>(entries: &mut Vec<(String, T)>, key: String, value: T) {
    if !entries.iter().any(|(known, _)| *known == key) {
        entries.push((key, value));
    }
}

fn find<'a, T>(entries: &'a [(String, T)], key: &str) -> Option<&'a T> {
    let found = entries.iter().find(|(known, _)| known == key);
    found.map(|(_, value)| value)
}

/// The environment with its file and its parameters, as one word.
fn env_key(env: &Env) -> String {
    let file = env.module.as_ref().map_or("", |module| &module.sha256);
    format!("{}@{} {file} {}", env.env, env.version, env.config)
}

/// Returns a key for the model, what the study says about it, and the environment that it plays.
fn model_key(file: &str, model: &Model, env: &Env) -> String {
    let model = serde_json::to_string(model).unwrap_or_default();
    format!("{file} {model} {}", env_key(env))
}

impl<H: HostFacts> HostFacts for FactsRecorder<'_, H> {
    fn prepare_env(&self, env: &mut Env) {
        self.host.prepare_env(env);
    }

    fn env_facts(&self, env: &Env) -> Result<EnvFacts, EnvFault> {
        let facts = self.host.env_facts(env)?;
        let envs = &mut self.recorded.borrow_mut().envs;
        add(envs, env_key(env), facts.clone());
        Ok(facts)
    }

    fn policies(&self) -> Vec<&str> {
        let policies = self.host.policies();
        let names = policies.iter().map(|name| (*name).to_owned());
        self.recorded.borrow_mut().policies = names.collect();
        policies
    }

    fn policies_for(&self, env: &Env) -> Option<Vec<&str>> {
        let policies = self.host.policies_for(env)?;
        let names = policies.iter().map(|name| (*name).to_owned()).collect();
        add(&mut self.recorded.borrow_mut().players, env_key(env), names);
        Some(policies)
    }

    fn directives(&self, policy: &str, env: &Env) -> Option<Vec<String>> {
        self.host.directives(policy, env)
    }

    fn compile_model(
        &self,
        file: &str,
        model: &Model,
        env: &Env,
    ) -> Result<Option<(String, CompiledModel)>, String> {
        let made = self.host.compile_model(file, model, env)?;
        if let Some((name, compiled)) = &made {
            self.recorded.borrow_mut().models.push(RecordedModel {
                key: model_key(file, model, env),
                name: name.clone(),
                bytes: compiled.bytes.to_vec(),
                certificate: compiled.certificate.as_deref().map(<[u8]>::to_vec),
            });
        }
        Ok(made)
    }
}

impl HostFacts for RecordedFacts {
    fn env_facts(&self, env: &Env) -> Result<EnvFacts, EnvFault> {
        let facts = find(&self.envs, &env_key(env)).cloned();
        facts.ok_or_else(|| EnvFault::Unknown { known: Vec::new() })
    }

    fn policies(&self) -> Vec<&str> {
        self.policies.iter().map(String::as_str).collect()
    }

    fn policies_for(&self, env: &Env) -> Option<Vec<&str>> {
        let names = find(&self.players, &env_key(env))?;
        Some(names.iter().map(String::as_str).collect())
    }

    fn compile_model(
        &self,
        file: &str,
        model: &Model,
        env: &Env,
    ) -> Result<Option<(String, CompiledModel)>, String> {
        let key = model_key(file, model, env);
        let found = self.models.iter().find(|known| known.key == key);
        Ok(found.map(|found| {
            let compiled = CompiledModel {
                sha256: sha256_hex(&found.bytes),
                bytes: found.bytes.as_slice().into(),
                certificate: found.certificate.as_deref().map(Into::into),
            };
            (found.name.clone(), compiled)
        }))
    }
}
