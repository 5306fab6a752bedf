//! `docs/your-environment.md`, as a reader follows it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const PAGE: &str = include_str!("../../docs/your-environment.md");

fn coplay(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coplay"));
    command
        .args(line.split_whitespace().skip(1))
        .current_dir(folder);
    command.output().unwrap()
}

/// The commands of the page.
fn commands() -> Vec<&'static str> {
    let blocks = PAGE.split("```sh\n").skip(1);
    blocks
        .flat_map(|block| block.split("```").next().unwrap().lines())
        .collect()
}

#[test]
fn a_new_environment_works_on_a_host() {
    let dir = tempfile::tempdir().unwrap();
    let commands = commands();
    assert_eq!(commands[0], "coplay new environment --python my_game");
    assert_eq!(commands[1], "cd my_game");
    let made = coplay(dir.path(), commands[0]);
    assert!(made.status.success(), "{made:?}");
    let folder = dir.path().join("my_game");
    let python = std::env::var_os("COPLAY_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
    let options = format!(" --json --steps 80 --python {}", python.display());
    let checked = coplay(&folder, &(commands[2].to_owned() + &options));
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    let report: Value = serde_json::from_str(&text).unwrap();
    for way in ["host", "page"] {
        assert!(report["ways"][way]["ok"].is_boolean(), "{text}");
        assert!(report["ways"][way]["why"].is_string(), "{text}");
    }
    assert_eq!(report["repeats"]["ok"], true, "{text}");
    assert_eq!(report["picture"]["kind"], "shapes", "{text}");
    let lines = std::fs::read_to_string(folder.join("my_game.py"))
        .unwrap()
        .lines()
        .count();
    assert!(lines <= 65, "the template has {lines} lines");
}

#[test]
fn the_keys_of_the_page_are_the_keys_of_the_host() {
    let loading = include_str!("../../python/coplay/host/loading.py");
    let keys = loading
        .split("KEYS = (")
        .nth(1)
        .unwrap()
        .split(')')
        .next()
        .unwrap();
    let documented = |key: &str| PAGE.contains(&format!("| `{key}` |"));
    // Its name, the number of players, and its settings.
    let elsewhere = ["python", "gymnasium", "pettingzoo", "seats", "folder"];
    for key in keys.split('"').skip(1).step_by(2) {
        assert!(documented(key) || elsewhere.contains(&key), "{key}");
    }
}

#[test]
fn what_does_not_work_says_why_and_fails() {
    let dir = tempfile::tempdir().unwrap();
    let text = "class Game:\n    possible_agents = ['one']\n\n\ndef make():\n    return Game()\n";
    std::fs::write(dir.path().join("broken.py"), text).unwrap();
    let checked = coplay(dir.path(), "coplay env check broken.py");
    let told = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(1), "{told}");
    assert!(
        told.contains("Game is no environment: it needs `reset` and `step`"),
        "{told}"
    );
}

/// The block of the page that begins so.
fn block(first: &str) -> &'static str {
    let blocks = PAGE.split("```").skip(1).step_by(2);
    let mut blocks = blocks.filter_map(|block| Some(block.split_once('\n')?.1));
    blocks.find(|block| block.starts_with(first)).unwrap()
}

/// As much of Gymnasium as the page uses, so that the test installs nothing.
const GYMNASIUM: &str = "
import random


class CartPole:
    def reset(self, seed=None):
        self.random = random.Random(seed)
        return self.observe(), {}

    def step(self, action):
        return self.observe(), 1.0, False, False, {}

    def observe(self):
        return [self.random.uniform(-0.05, 0.05) for _ in range(4)]


def make(name):
    assert name == 'CartPole-v1'
    return CartPole()
";

#[test]
fn two_people_can_play_what_the_page_shows() {
    let dir = tempfile::tempdir().unwrap();
    let study = block("format: 1").replace(", requirements: requirements.txt", "");
    for (name, text) in [
        ("two_people.py", block("# two_people.py")),
        ("study.yaml", &study),
        ("gymnasium.py", GYMNASIUM),
        ("thanks.md", "# Thank you\n"),
    ] {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    assert!(commands().contains(&"coplay lint ."));
    let linted = coplay(dir.path(), "coplay lint .");
    let told = String::from_utf8_lossy(&linted.stdout).into_owned();
    assert!(linted.status.success(), "{told}");
    assert!(told.contains("play (env, 2 seats, 2 people)"), "{told}");
    let checked = coplay(
        dir.path(),
        "coplay env check two_people.py:TwoPeople --json",
    );
    let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(report["repeats"]["ok"], true, "{report}");
    assert_eq!(report["picture"]["kind"], "shapes", "{report}");
}
