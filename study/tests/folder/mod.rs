//! Study folders for tests, and a host whose facts a test gives.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use study::stage::{CompiledModel, Env, Model};
use study::{DraftStudy, EnvFacts, EnvFactsByStage, EnvFault, HostFacts};

/// A small study that is good.
#[allow(dead_code, reason = "not every test begins with it")]
pub(crate) const STUDY: &str = "format: 1
study:
  id: small
  version: 1.10
  title: Small
  contact: lab@example.edu
  language: en
timeline:
  - id: how
    type: instructions
    pages: [how.md]
  - id: lobby
    type: lobby
    group_size: 2
    timeout_s: 30
    on_timeout: bot
    bot: {policy: cook}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config:
      layout: cramped_room
    window: 8
    input_delay: {min: 0, max: 3}
    keys:
      move_up: [KeyW, ArrowUp]
      pick_up_or_drop: [Space]
    on_disconnect: {grace_s: 15}
  - id: after
    type: survey
    surveyjs:
      elements:
        - type: rating
          name: fun
          rateMax: 7
          isRequired: true
        - type: radiogroup
          name: place
          choices: [first, second]
  - id: thanks
    type: end
    outcome: completed
    file: thanks.md
";

/// Its own folder for each test.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        // Tests run side by side, and some write the same study.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(env!("CARGO_CRATE_NAME"))
            .join(format!("{number}-{name}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        let folder = Self { path };
        folder.write("how.md", "# How\n\nPlay.\n");
        folder.write("thanks.md", "# Thanks\n");
        folder
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path.join(name), text).expect("a file of the test");
    }

    /// Checks the study against the facts of a host; returns faults as text.
    #[allow(dead_code, reason = "not every test has a host")]
    pub(crate) fn check(&self, host: &Host<'_>) -> Result<EnvFactsByStage, Vec<String>> {
        let checked = DraftStudy::read(&self.path).check(host);
        checked
            .map(|(_, facts)| facts)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }
}

/// A host whose facts a test gives.
#[allow(dead_code, reason = "not every test has a host")]
pub(crate) struct Host<'a> {
    pub(crate) open: &'a dyn Fn(&Env) -> Result<EnvFacts, EnvFault>,
    pub(crate) policies: &'a [&'static str],
    pub(crate) able: Option<&'a [&'static str]>,
}

/// A host that opens environments so, and has the AI partner of the small study.
#[allow(dead_code, reason = "not every test has a host")]
pub(crate) fn opening<'a>(open: &'a dyn Fn(&Env) -> Result<EnvFacts, EnvFault>) -> Host<'a> {
    Host {
        open,
        policies: &["cook", "idle"],
        able: None,
    }
}

impl HostFacts for Host<'_> {
    fn env_facts(&self, env: &Env) -> Result<EnvFacts, EnvFault> {
        (self.open)(env)
    }

    fn policies(&self) -> Vec<&str> {
        self.policies.to_vec()
    }

    fn policies_for(&self, _: &Env) -> Option<Vec<&str>> {
        self.able.map(<[_]>::to_vec)
    }

    fn compile_model(
        &self,
        _: &str,
        _: &Model,
        _: &Env,
    ) -> Result<Option<(String, CompiledModel)>, String> {
        Ok(None)
    }
}

/// Loads a study file with this text, or returns its problems, one per line.
pub(crate) fn load(name: &str, text: &str) -> Result<study::Study, String> {
    let folder = Folder::new(name);
    folder.write("study.yaml", text);
    let told = |problems: Vec<study::Problem>| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    study::load(&folder.path).map_err(told)
}
