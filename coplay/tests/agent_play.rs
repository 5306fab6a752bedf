//! `coplay agent play`: the guide works as it is written, and Ctrl-C leaves nothing behind.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const GUIDE: &str = include_str!("../../docs/agents.md");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The blocks of the guide's section, in their order: the kind and the text.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let (_, section) = GUIDE.split_once("\n## Agents as participants\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let parts = section.split("```").skip(1).step_by(2);
    parts.filter_map(|block| block.split_once('\n')).collect()
}

/// Runs a line of the guide in the root of the repository, with its folders below `dir`.
fn run(line: &str, dir: &Path) -> String {
    let words = line.split_whitespace().skip(1);
    let words = words.map(|word| match word {
        "agents" | "tables" => dir.join(word).display().to_string(),
        word => word.to_owned(),
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_coplay"));
    let done = command.args(words).current_dir(root()).output().unwrap();
    assert!(done.status.success(), "{line}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_guide_goes_as_it_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = blocks();
    let [("sh", lines)] = blocks[..] else {
        panic!("a block of commands: {blocks:?}");
    };
    let said: String = lines.lines().map(|line| run(line, dir.path())).collect();
    assert!(said.contains("mean score"), "{said}");
    let agents = std::fs::read_to_string(dir.path().join("tables/agents.csv")).unwrap();
    assert_eq!(agents.lines().count(), 1 + 6, "{agents}");
    run(
        &format!(
            "coplay verify --data {}",
            dir.path().join("agents").display()
        ),
        dir.path(),
    );
}

#[test]
fn agents_that_are_stopped_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let mut play = Command::new(env!("CARGO_BIN_EXE_coplay"))
        .args(["agent", "play"])
        .arg(root().join("examples/overcooked-dyad"))
        .args(["--policy", "cook", "--sessions", "9000", "--data"])
        .arg(dir.path().join("agents"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut progress = String::new();
    let mut said = BufReader::new(play.stderr.take().unwrap());
    said.read_line(&mut progress).unwrap();
    assert!(progress.contains("of 9000 done"), "{progress}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    let pid = play.id().to_string();
    let asked = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(asked.success());
    assert_eq!(play.wait().unwrap().code(), Some(1));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
