//! The study of a site without a server: its files, and the facts of its environments from the program that made the
//! site.

use std::collections::BTreeMap;

use protocol::hash::sha256_hex;
use serde::{Deserialize, Serialize};
use server_core::arbiter::{EnvStage, EnvStages};
use study::{DraftStudy, EnvFactsByStage, RecordedFacts, StageKind, Study, StudyFolder};

/// The version of the format, the first byte of a bundle.
const FORMAT: u8 = 1;

/// A study with all that is needed to run it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyBundle {
    /// The version of Coplay that made it.
    pub program: String,
    /// The files of the study folder that the study names, by their path in it.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The facts of its environments and models.
    pub facts: RecordedFacts,
    /// The SHA-256 of the module of each env stage, by its index and parameters.
    pub modules: Vec<(u16, String, String)>,
}

/// A study that can be run.
#[derive(Clone, Debug)]
pub struct RunnableStudy {
    /// The study.
    pub study: Study,
    /// The environments of its env stages.
    pub stages: EnvStages,
}

/// The reason why a bundle cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The bytes are no bundle of this version.
    #[error(
        "the study of this site is of another version of Coplay, or damaged; make the site again with `coplay site`"
    )]
    Malformed,
    /// The study in it has faults.
    #[error("the study of this site cannot be read: {0}")]
    Study(String),
}

impl StudyBundle {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_extend(self, vec![FORMAT]).expect("a bundle has no map of unknown length")
    }

    /// Reads the bytes of a bundle.
    ///
    /// # Errors
    /// [`BundleError::Malformed`]
    pub fn decode(bytes: &[u8]) -> Result<Self, BundleError> {
        match bytes.split_first() {
            Some((&FORMAT, rest)) => postcard::from_bytes(rest).map_err(|_| BundleError::Malformed),
            _ => Err(BundleError::Malformed),
        }
    }

    /// Reads the study.
    ///
    /// # Errors
    /// [`BundleError::Study`]
    pub fn read_study(self) -> Result<RunnableStudy, BundleError> {
        let folder = StudyFolder::in_memory(self.files);
        let read = DraftStudy::read_folder(&folder).check(&self.facts);
        let (study, facts) = read.map_err(|problems| {
            let first = problems.first().map(ToString::to_string);
            BundleError::Study(first.unwrap_or_default())
        })?;
        let modules = self.modules.into_iter();
        let modules = modules.map(|(stage, params, hash)| ((stage, params), hash));
        let modules: BTreeMap<_, _> = modules.collect();
        let stages = make_stages(facts, &modules);
        Ok(RunnableStudy { study, stages })
    }
}

fn make_stages(facts: EnvFactsByStage, modules: &BTreeMap<(u16, String), String>) -> EnvStages {
    let stages = facts.into_iter().map(|(key, facts)| {
        let module = modules.get(&key).cloned().unwrap_or_default();
        (key, EnvStage { facts, module })
    });
    stages.collect()
}

/// The models and the modules that a study brings, by their SHA-256.
pub(crate) fn list_stored(study: &Study) -> BTreeMap<String, Vec<u8>> {
    let models = study.models.iter();
    let models = models.map(|model| (model.sha256.clone(), model.bytes.to_vec()));
    let modules = study.timeline.iter().filter_map(|stage| match &stage.kind {
        StageKind::Env(env) => env.module.as_ref(),
        _ => None,
    });
    let modules = modules.map(|module| (sha256_hex(&module.bytes), module.bytes.to_vec()));
    models.chain(modules).collect()
}
