//! Study folders for tests.

use std::path::{Path, PathBuf};

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

/// A folder of its own for each test.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("study")
            .join(name);
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
}
