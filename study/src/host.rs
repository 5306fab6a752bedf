//! The facts of a host that a study depends on: its environments, its scripts, and the models that it can play.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::stage::ai_partner::{AiPartner, CompiledModel, Model};
use crate::stage::env::Env;
use crate::timeline::fill;
use crate::timeline::tree::Bindings;

/// The facts of an environment with the study's parameters, as far as a study depends on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvFacts {
    /// Number of seats.
    pub seats: u8,
    /// Ticks per second.
    pub tick_hz: u16,
    /// The most ticks of an episode.
    pub horizon: u32,
    /// Names of the actions, by index.
    pub actions: Vec<String>,
    /// Index of the action that does nothing.
    pub noop: u16,
    /// True if it is a module of an older version of the interface, which lacks later additions.
    pub is_old: bool,
    /// For an environment on a host: the facts that pages get, as JSON.
    pub page_facts: Option<String>,
    /// True if its state holds what some players must not see.
    #[serde(default)]
    pub is_secret: bool,
}

/// The reason why an environment cannot be opened as the study says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvFault {
    /// There is no environment with this id; these exist.
    Unknown {
        /// Ids with versions, as a study would name them.
        known: Vec<String>,
    },
    /// It is there in another version.
    Version {
        /// The version that is there.
        found: String,
    },
    /// The module of the study folder is not fit.
    Module {
        /// The fault and its fix.
        reason: String,
    },
    /// The environment in Python cannot be opened.
    Python {
        /// The fault and its fix.
        reason: String,
    },
    /// It refuses a parameter.
    Config {
        /// The parameter, below `config`; empty for all of them.
        field: String,
        /// The fault and its fix.
        reason: String,
    },
}

/// The facts of what an env stage can play, by its index and its parameters as JSON ([`Env::params`]).
pub type EnvFactsByStage = BTreeMap<(u16, String), EnvFacts>;

/// Facts of a host that a study is checked against.
pub trait HostFacts {
    /// Opens an environment in Python, and completes its stage: its version, and the file that pages step, if they do.
    /// [`Self::env_facts`] reports why it cannot be opened.
    fn prepare_env(&self, _env: &mut Env) {}

    /// The facts of an environment with the parameters of its stage.
    ///
    /// # Errors
    /// The [`EnvFault`] that keeps it from being opened.
    fn env_facts(&self, env: &Env) -> Result<EnvFacts, EnvFault>;

    /// Names of all scripts.
    fn policies(&self) -> Vec<&str>;

    /// Names of the scripts that can play an environment; `None` if it cannot be opened, which [`Self::env_facts`] reports.
    fn policies_for(&self, env: &Env) -> Option<Vec<&str>>;

    /// The words of the directives that a script can follow in an environment; `None` if that is not known here.
    fn directives(&self, _policy: &str, _env: &Env) -> Option<Vec<String>> {
        None
    }

    /// Returns the name under which a model plays an environment, and the model as it is played; `None` if the
    /// environment cannot be opened. `file` is the file of the model.
    ///
    /// # Errors
    /// The reason why it cannot play, and how to fix it.
    fn compile_model(
        &self,
        file: &str,
        model: &Model,
        env: &Env,
    ) -> Result<Option<(String, CompiledModel)>, String>;
}

/// An AI partner whose rules of training the study gives, at a stage that it plays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrainedPartner {
    /// Its name in `partners`.
    pub name: String,
    /// The rules that it was trained on.
    pub rules: String,
    /// The index of the stage.
    pub stage: u16,
}

/// A model of an AI partner that was compiled for an environment.
pub(crate) struct PartnerModel {
    /// The AI partner, with the file of its model as its policy.
    pub partner: AiPartner,
    /// The name under which it plays.
    pub name: String,
    pub model: CompiledModel,
}

impl Env {
    /// Returns the longest prediction, ticks: the study's own, else 267 ms, but at least 8 ticks and at most 16.
    pub fn window(&self, facts: &EnvFacts) -> u8 {
        let usual = (u32::from(facts.tick_hz) * 16).div_ceil(60).clamp(8, 16);
        self.window.unwrap_or(usual as u8)
    }

    /// Returns its parameters with these values for names.
    pub fn params(&self, bindings: &Bindings) -> Value {
        fill::fill_value(&self.config, bindings)
    }

    /// The study's keys as key code and action index, for the page; empty if the study maps none.
    /// Actions that the facts do not name are left out: [`crate::DraftStudy::check`] has reported them.
    pub fn key_map(&self, facts: &EnvFacts) -> Vec<(String, u16)> {
        let index = |action: &String| {
            (0u16..)
                .zip(&facts.actions)
                .find(|(_, name)| *name == action)
                .map(|(i, _)| i)
        };
        self.keys
            .iter()
            .filter_map(|(action, codes)| Some((index(action)?, codes)))
            .flat_map(|(index, codes)| codes.iter().map(move |code| (code.clone(), index)))
            .collect()
    }
}
