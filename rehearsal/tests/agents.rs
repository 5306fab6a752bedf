//! Agents that take part in a study instead of people: their rows, their actions, and refusals.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use catalog::StartError;
use dataset::export::{ExportOptions, ObservationKind, export};
use env_core::envs;
use policy::Partners;
use protocol::hash::sha256_hex;
use rehearsal::{AgentOptions, AgentsReport, play_agents};

const STUDY: &str = "format: 1
study: {id: small, version: 1.0.0, title: Small, contact: lab@example.edu}
timeline:
  - {id: consent, type: consent, file: consent.md, else: no_consent}
  - id: alone
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: cook}]
    seat: random
    config: {layout: cramped_room, horizon: 150, tick_hz: 30}
    input_delay: {min: 2, max: 3}
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: leave}
  - id: together
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 240, tick_hz: 10}
    repeat: 2
  - id: after
    type: survey
    title: After
    surveyjs:
      elements:
        - {type: rating, name: fluency, title: We worked well together., rateMin: 1, rateMax: 7, isRequired: true}
  - {id: thanks, type: end, file: thanks.md}
";

/// The same with seats that a person shares, in every mode.
const SHARED: &str = "format: 1
study: {id: shared, version: 1.0.0, title: Shared, contact: lab@example.edu}
timeline:
  - {id: consent, type: consent, file: consent.md, else: no_consent}
  - id: given
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: cook}]
    config: {layout: cramped_room, horizon: 100, tick_hz: 10}
    shared_seat: {partner: {policy: random}, starts: partner}
  - id: corrected
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: cook}]
    config: {layout: cramped_room, horizon: 100, tick_hz: 10}
    shared_seat: {partner: {policy: random}, mode: override}
  - id: chosen
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: cook}]
    config: {layout: cramped_room, horizon: 40, tick_hz: 10}
    mode: turns
    shared_seat: {mode: choose, proposals: [{policy: idle}, {policy: cook}]}
  - {id: thanks, type: end, file: thanks.md}
";

/// The keys of a row of an episode: episode and seat.
type Place = (String, usize);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn clone_cook() -> String {
    let file = root().join("examples/overcooked-coord/cook_clone.onnx");
    format!(
        "{},temperature=0.5,every_ticks=2,name=clone",
        file.display()
    )
}

/// Lets agents take part, with their data in `agents`.
async fn play(
    dir: &Path,
    study: &Path,
    policies: &[&str],
    sessions: usize,
) -> Result<AgentsReport, StartError> {
    play_agents(&AgentOptions {
        study: study.to_owned(),
        policies: policies
            .iter()
            .map(|policy| policy.parse().unwrap())
            .collect(),
        sessions,
        seed: 5,
        data: dir.join("agents"),
    })
    .await
}

/// The same in the study above, which must go well; the tables are in `tables`.
async fn play_well(dir: &Path, policies: &[&str], sessions: usize) -> AgentsReport {
    play_lines(dir, STUDY, policies, sessions).await
}

/// The same in a study of these lines.
async fn play_lines(dir: &Path, lines: &str, policies: &[&str], sessions: usize) -> AgentsReport {
    let study = dir.join("study");
    fs::create_dir(&study).unwrap();
    fs::write(study.join("study.yaml"), lines).unwrap();
    fs::write(study.join("consent.md"), "# Consent\n").unwrap();
    fs::write(study.join("thanks.md"), "# Thanks\n").unwrap();
    let report = play(dir, &study, policies, sessions).await.unwrap();
    assert!(report.is_fine(), "{report}");
    let options = ExportOptions {
        observations: BTreeSet::from([ObservationKind::Features]),
        ..ExportOptions::default()
    };
    let data = dir.join("agents");
    export(&data, &dir.join("tables"), &options).await.unwrap();
    let verified = dataset::verify::verify_data(&data).await.unwrap();
    assert!(verified.is_fine(), "{verified}");
    report
}

/// The rows of a table, with their cells by the names of the columns.
fn rows(dir: &Path, table: &str) -> Vec<BTreeMap<String, String>> {
    let file = dir.join("tables").join(format!("{table}.csv"));
    let mut reader = csv::Reader::from_path(file).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

fn place(row: &BTreeMap<String, String>) -> Place {
    (row["episode_id"].clone(), row["seat"].parse().unwrap())
}

/// The observations and actions of agents, by seat and tick; `is_own` says of a row whether an agent has the seat.
fn read_steps(
    dir: &Path,
    is_own: fn(&BTreeMap<String, String>) -> bool,
) -> BTreeMap<Place, Vec<(Vec<f32>, u16)>> {
    let mut observed: BTreeMap<(Place, u32), Vec<f32>> = BTreeMap::new();
    for row in rows(dir, "observations") {
        let numbers = row["observation"].split_whitespace();
        let numbers = numbers.map(|number| number.parse().unwrap()).collect();
        observed.insert((place(&row), row["tick"].parse().unwrap()), numbers);
    }
    let mut steps: BTreeMap<Place, Vec<(Vec<f32>, u16)>> = BTreeMap::new();
    for row in rows(dir, "steps").iter().filter(|row| is_own(row)) {
        let tick = row["tick"].parse().unwrap();
        let of_seat = steps.entry(place(row)).or_default();
        assert_eq!(of_seat.len(), tick as usize, "the rows are in order");
        let seen = observed[&(place(row), tick)].clone();
        of_seat.push((seen, row["action"].parse().unwrap()));
    }
    steps
}

/// The compiled models of a data folder, and the name under which the only one plays.
fn read_models(data: &Path) -> (Partners, String) {
    let mut partners = Partners::default();
    let mut names = Vec::new();
    for entry in fs::read_dir(data.join("networks")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let sha256 = sha256_hex(&bytes);
        if partners.add_model(&sha256, &bytes).is_ok() {
            names.push(policy::policy_name("clone", &sha256));
        }
    }
    assert_eq!(names.len(), 1, "one model for one kitchen");
    (partners, names.remove(0))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_action_is_the_choice_of_the_policy_for_the_exported_observation() {
    let dir = tempfile::tempdir().unwrap();
    let report = play_well(dir.path(), &["cook", &clone_cook(), "random"], 6).await;
    let (partners, model) = read_models(&dir.path().join("agents"));
    let agents: BTreeMap<String, String> = rows(dir.path(), "agents")
        .into_iter()
        .map(|row| (row["participant_id"].clone(), row["agent"].clone()))
        .collect();
    assert_eq!(agents.len(), 6);
    let steps = read_steps(dir.path(), |row| row["controller"] == "human");
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    for seat in rows(dir.path(), "seats")
        .iter()
        .filter(|row| row["controller"] == "human")
    {
        let agent = agents[&seat["participant_id"]].as_str();
        let world = envs::open(&seat["env"], &seat["params"]).unwrap();
        let name = if agent == "clone" { &model } else { agent };
        let mut policy = partners.open(name, world.spec()).unwrap();
        policy.reset(
            place(seat).1,
            u64::from_str_radix(&seat["seed"], 16).unwrap(),
        );
        for (tick, (seen, action)) in steps[&place(seat)].iter().enumerate() {
            let chosen = policy.act(seen);
            assert_eq!(*action, chosen, "{agent} in {:?}, tick {tick}", place(seat));
            *compared.entry(agent).or_default() += 1;
        }
    }
    // Two sessions each, of one episode alone and two together.
    let expected = 2 * (150 + 2 * 240);
    assert_eq!(
        compared,
        BTreeMap::from([
            ("clone", expected),
            ("cook", expected),
            ("random", expected)
        ])
    );
    let scores: Vec<f64> = report
        .agents
        .iter()
        .map(|of| of.mean_score.unwrap())
        .collect();
    assert!(
        scores[0] > scores[2],
        "a cook scores more than chance: {report}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_keeps_a_shared_seat_and_takes_the_proposal_that_it_would_choose() {
    let dir = tempfile::tempdir().unwrap();
    play_lines(dir.path(), SHARED, &["cook"], 1).await;
    let steps = read_steps(dir.path(), |row| row["seat"] == "0");
    let mut compared = BTreeMap::new();
    for seat in rows(dir.path(), "seats")
        .iter()
        .filter(|row| row["seat"] == "0")
    {
        let world = envs::open(&seat["env"], &seat["params"]).unwrap();
        let mut policy = policy::by_name("cook", world.spec()).unwrap();
        policy.reset(0, u64::from_str_radix(&seat["seed"], 16).unwrap());
        let taken = &steps[&place(seat)];
        for (tick, (seen, action)) in taken.iter().enumerate() {
            let chosen = policy.act(seen);
            assert_eq!(*action, chosen, "{} at tick {tick}", seat["stage_id"]);
        }
        compared.insert(seat["stage_id"].clone(), taken.len());
    }
    let expected = [("chosen", 40), ("corrected", 100), ("given", 100)];
    let expected = expected.map(|(stage, ticks)| (stage.to_owned(), ticks));
    assert_eq!(compared, BTreeMap::from(expected));
    let proposed = rows(dir.path(), "proposals");
    assert!(proposed.iter().any(|row| row["stage_id"] == "chosen"));
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_have_rows_in_the_tables_of_people_and_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let report = play_well(dir.path(), &["cook,name=left", "cook,name=right"], 4).await;
    let names: Vec<&str> = report.agents.iter().map(|of| of.agent.as_str()).collect();
    assert_eq!(names, ["left", "right"]);
    for of in &report.agents {
        assert_eq!(
            (of.sessions, of.completed, of.episodes),
            (2, 2, 6),
            "{report}"
        );
    }
    let seats = rows(dir.path(), "seats");
    let mut people: BTreeMap<&String, usize> = BTreeMap::new();
    for seat in seats.iter().filter(|row| row["controller"] == "human") {
        *people.entry(&seat["episode_id"]).or_default() += 1;
    }
    let together = people.values().filter(|count| **count > 1).count();
    let met = report.groups.iter().map(|of| of.episodes).sum::<usize>();
    assert!(met > 0 && met == together, "{report}");
    let sessions = rows(dir.path(), "sessions");
    assert_eq!(sessions.len(), 4);
    assert!(sessions.iter().all(|row| row["outcome"] == "completed"));
    let agents = rows(dir.path(), "agents");
    let known: Vec<&String> = sessions.iter().map(|row| &row["session_id"]).collect();
    assert!(agents.iter().all(|row| known.contains(&&row["session_id"])));
    let answers = rows(dir.path(), "responses");
    assert_eq!(
        answers
            .iter()
            .filter(|row| row["item"] == "fluency")
            .count(),
        4
    );
    for table in ["pages", "groups", "lobby", "keys", "seats"] {
        let count = rows(dir.path(), table).len();
        assert!(count >= 4, "{table} has {count} rows");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_seed_gives_the_same_steps_and_the_same_times() {
    let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for dir in [&one, &other] {
        play_well(dir.path(), &[&clone_cook(), "random"], 2).await;
    }
    for table in ["steps", "responses", "pages", "keys", "sessions", "seats"] {
        let [one, other] = [&one, &other].map(|dir| {
            let mut rows = rows(dir.path(), table);
            // It is made of a secret that the server draws.
            rows.iter_mut()
                .for_each(|row| drop(row.remove("session_id")));
            rows
        });
        assert!(!one.is_empty(), "{table}");
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one, other, "{table}");
        }
        assert_eq!(one.len(), other.len(), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_with_the_stage_and_nothing_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let dyad = root().join("examples/overcooked-dyad");
    let clone = clone_cook();
    let taken = dir.path().join("agents");
    let cases: [(PathBuf, &[&str], &str); 5] = [
        (root().join("tests/hosted"), &["idle"], "`run: host`"),
        (
            dyad.clone(),
            &["cooc"],
            "there is no such policy; there are cook, idle, random",
        ),
        (
            dyad.clone(),
            &["gone.onnx"],
            "cannot read the model gone.onnx",
        ),
        (
            dyad.clone(),
            &["cook", "cook"],
            "two agents are called `cook`",
        ),
        (
            root().join("examples/grid-worlds"),
            &[clone.as_str()],
            "the agent `clone` cannot play",
        ),
    ];
    for (study, policies, part) in cases {
        let error = play(dir.path(), &study, policies, 2).await.unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains(part), "{part} is not in: {text}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("notes.txt"), "mine").unwrap();
    let error = play(dir.path(), &dyad, &["cook"], 2).await.unwrap_err();
    assert!(format!("{error:#}").contains("is there already"));
}
