//! The `coplay` command as a script sees it: exit codes, and sentences where something is wrong.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn coplay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coplay"))
        .args(args)
        .output()
        .unwrap()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn an_export_that_leaves_an_episode_out_says_which_and_fails() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    std::fs::create_dir_all(data.join("episodes")).unwrap();
    let args = [
        "export",
        "--data",
        path(&data),
        "--out",
        path(&out),
        "--json",
    ];
    assert_eq!(coplay(&args).status.code(), Some(0));
    std::fs::write(data.join("episodes/E-1.coplay"), "no episode log").unwrap();
    let done = coplay(&args);
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(said.contains("E-1.coplay"), "{said}");
    assert!(out.join("steps.csv").exists() && out.join("responses.csv").exists());
}

#[test]
fn links_that_only_this_machine_can_open_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
    let data = dir.path().join("data");
    let args = [
        "serve",
        path(&example),
        "--data",
        path(&data),
        "--listen",
        "0.0.0.0:0",
    ];
    let mut server = Command::new(env!("CARGO_BIN_EXE_coplay"))
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut out = BufReader::new(server.stdout.take().unwrap());
    out.read_line(&mut first).unwrap();
    server.kill().unwrap();
    let said = String::from_utf8(server.wait_with_output().unwrap().stderr).unwrap();
    assert!(
        first.contains("http://0.0.0.0:") && said.contains("--url"),
        "{first}{said}"
    );
}

#[test]
fn a_study_that_nobody_could_play_without_turn_is_not_started_without() {
    let dir = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
    let (study, data) = (dir.path().join("study"), dir.path().join("data"));
    std::fs::create_dir(&study).unwrap();
    for file in std::fs::read_dir(&example).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), study.join(file.file_name())).unwrap();
        }
    }
    let text = std::fs::read_to_string(example.join("study.yaml")).unwrap();
    let net = "\nnet: {ice: relay, fallback: none}\n";
    std::fs::write(study.join("study.yaml"), text + net).unwrap();
    let args = [
        "dev",
        path(&study),
        "--data",
        path(&data),
        "--port",
        "0",
        "--no-turn",
    ];
    let done = coplay(&args);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(
        said.contains("nobody could play; leave --no-turn out"),
        "{said}"
    );
    assert!(!data.exists(), "nothing of the data folder is touched");
}

#[test]
fn a_port_in_use_and_a_typo_in_the_study_are_told_in_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
    let (study, data) = (dir.path().join("study"), dir.path().join("data"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let args = [
        "dev",
        path(&example),
        "--data",
        path(&data),
        "--port",
        &port,
    ];
    let done = coplay(&args);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(said.contains(&format!("port {port} is in use")), "{said}");
    assert!(!data.exists(), "nothing of the data folder is touched");

    std::fs::create_dir(&study).unwrap();
    let text = std::fs::read_to_string(example.join("study.yaml")).unwrap();
    std::fs::write(
        study.join("study.yaml"),
        text.replace("timeout_s", "timeouts"),
    )
    .unwrap();
    let done = coplay(&["dev", path(&study), "--data", path(&data), "--port", "0"]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(
        said.contains("study.yaml:") && said.contains("timeout_s"),
        "{said}"
    );
    assert!(!data.exists());
}

#[test]
fn lint_tells_every_fault_with_its_line_and_what_a_clean_study_is() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
    let done = coplay(&["lint", path(&example)]);
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(said.contains("play (env, 2 seats, 2 people)"), "{said}");

    let dir = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(example.join("study.yaml")).unwrap();
    let text = text.replace("timeout_s: 30", "timeout_s: soon");
    let text = text.replace("layout: cramped_room", "layout: cramped-room");
    std::fs::write(dir.path().join("study.yaml"), text).unwrap();
    for page in ["how.md", "thanks.md"] {
        std::fs::copy(example.join(page), dir.path().join(page)).unwrap();
    }
    let file = dir.path().join("study.yaml");
    let done = coplay(&["lint", path(&file), "--json"]);
    assert_eq!(done.status.code(), Some(2));
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let fault = &told["faults"][0];
    assert_eq!(
        (&fault["line"], &fault["text"]),
        (&21.into(), &"    timeout_s: soon".into())
    );
    let done = coplay(&["lint", path(dir.path())]);
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(
        said.contains("\n  21 |     timeout_s: soon\n     |                ^\n"),
        "{said}"
    );
    let nowhere = coplay(&["lint", path(&dir.path().join("nowhere"))]);
    assert_eq!(nowhere.status.code(), Some(2));
}

/// Faults of every kind in the files of one folder: the study, a page, a form in another file, an environment's
/// parameter, its keys and seats, and an AI partner.
const MANY: &str = "format: 1
study: {id: many, version: 1.0.0, title: Many, contact: lab@example.edu, colour: red}
timeline:
  - {id: how, type: instructions, pages: [how.md]}
  - id: ask
    type: survey
    surveyjs_file: ask.json
  - id: lobby
    type: lobby
    group_size: 3
    timeout_s: soon
    on_timeout: wait
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner, partner]
    config: {layout: cramped-room}
  - id: alone
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: coook}]
    config: {layout: cramped_room}
    keys: {fly: [KeyF]}
    until: score + 1
  - {id: thanks, type: end, file: thanks.md}
";

#[test]
fn lint_tells_the_faults_of_all_files_and_of_the_environment_in_one_run() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("study.yaml", MANY);
    write("how.md", "# How\n\n![soup](soup.png)\n");
    write("thanks.md", "# Thanks\n");
    write(
        "ask.json",
        "{\"elements\": [\n  {\"type\": \"text\", \"name\": \"age\", \"visibleIf\": \"{agee} is 3\"},\n  {\"type\": \"rankings\", \"name\": \"r\"}\n]}\n",
    );
    let done = coplay(&["lint", path(dir.path()), "--json"]);
    assert_eq!(done.status.code(), Some(2));
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let found = told["faults"].as_array().unwrap().iter();
    let found: Vec<String> = found
        .map(|fault| {
            format!(
                "{}:{}:{} {}",
                fault["file"].as_str().unwrap(),
                fault["line"],
                fault["column"],
                fault["path"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "study.yaml:2:74 study.colour",
            "study.yaml:11:16 timeline[2].timeout_s",
            "study.yaml:17:14 timeline[3].config.layout",
            "study.yaml:21:22 timeline[4].players[1].policy",
            "study.yaml:23:12 timeline[4].keys.fly",
            "study.yaml:24:12 timeline[4].until",
            "ask.json:2:56 elements[0].visibleIf",
            "ask.json:3:12 elements[1].type",
            "how.md:3:1 ",
        ],
        "{told:#}"
    );
    for fault in told["faults"].as_array().unwrap() {
        let (message, text) = (fault["message"].as_str().unwrap(), fault["text"].as_str());
        assert!(message.len() > 20 && text.is_some(), "{fault}");
    }
    let done = coplay(&["lint", path(dir.path())]);
    let said = String::from_utf8(done.stdout).unwrap();
    for part in [
        "study.yaml:17:14: timeline[3].config.layout: ",
        "did you mean `cramped_room`?",
        "did you mean `cook`?",
        "  24 |     until: score + 1\n     |            ^\n",
        "9 faults, no warnings",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn what_is_no_data_folder_is_not_taken_for_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    for args in [
        &["verify", "--data", path(dir.path())][..],
        &["export", "--data", path(dir.path()), "--out", path(&out)],
    ] {
        let done = coplay(args);
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1));
        assert!(said.contains("is no data folder"), "{said}");
    }
    assert!(!out.exists());
}

#[test]
fn an_environment_is_shown_by_the_name_that_a_study_gives_it() {
    let done = coplay(&["env", "show", "overcooked@2.0.0"]);
    assert_eq!(done.status.code(), Some(0));
    for (name, part) in [
        ("overcooked@1.0.0", "this program has `overcooked@2.0.0`"),
        ("overcoked@2.0.0", "did you mean `overcooked`?"),
    ] {
        let done = coplay(&["env", "show", name]);
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1));
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_rust_environment_without_the_source_code_is_refused_with_what_helps() {
    let dir = tempfile::tempdir().unwrap();
    let new = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coplay"));
        let args = [&["new", "environment", "my_env"], more].concat();
        command.args(args).current_dir(&dir).output().unwrap()
    };
    let done = new(&[]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(done.stdout.is_empty());
    assert!(!dir.path().join("my_env").exists(), "nothing was written");
    let told = |line: &str| said.lines().any(|known| known.trim() == line);
    assert!(
        told("coplay new environment my_env --coplay PATH"),
        "{said}"
    );
    assert!(told("coplay new environment my_env --language c"), "{said}");
    // Its advice works.
    let done = new(&["--language", "c"]);
    assert_eq!(done.status.code(), Some(0));
    assert!(dir.path().join("my_env/my_env.c").exists());
    std::fs::remove_dir_all(dir.path().join("my_env")).unwrap();
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let done = new(&["--coplay", path(&checkout)]);
    assert_eq!(done.status.code(), Some(0));
    let manifest = std::fs::read_to_string(dir.path().join("my_env/Cargo.toml")).unwrap();
    let line = manifest.lines().find(|line| line.starts_with("env-core"));
    let env_core = line.unwrap().split('"').nth(1).unwrap();
    let env_core = dir.path().join("my_env").join(env_core);
    assert!(env_core.join("Cargo.toml").exists(), "{env_core:?}");
}
