//! Clips of AI partners that play by themselves: their faults, their films, and their rows in the tables.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use dataset::verify::{EpisodeVerdict, verify_data};
use protocol::log::read_log;
use server_core::limits::Limits;
use signaling_server::assets::Assets;
use signaling_server::http::build_handler;
use signaling_server::server::{Server, ServerOptions};
use tower::ServiceExt as _;

const STUDY: &str = "format: 1
study: {id: prefer, version: 1.0.0, title: Prefer, contact: lab@example.edu}
partners:
  sp: {policy: agent.onnx, disclose: false, algorithm: SP, training_seed: 3}
timeline:
  - id: compare
    type: watch
    clips:
      - {env: overcooked@2.0.0, config: {layout: cramped_room, horizon: 300, tick_hz: 10}, players: [sp, {policy: cook}], seed: 7, from_s: 2, to_s: 12}
      - {env: overcooked@2.0.0, config: {layout: cramped_room, horizon: 300, tick_hz: 10}, players: [sp, sp], seed: 8}
    choose: {question: Which pair works better together?, tie: true}
  - id: rate
    type: watch
    clips: [{env: overcooked_jaxmarl_v2@1.0.0, config: {horizon: 100, tick_hz: 10}, players: [{policy: random}, {policy: idle}]}]
    rate: {question: How well do they work together?, low: badly, high: well}
  - {id: thanks, type: end, file: thanks.md}
";

/// A folder with the study after a change.
fn study(dir: &Path, from: &str, to: &str) -> PathBuf {
    assert!(
        from.is_empty() || STUDY.matches(from).count() == 1,
        "{from}"
    );
    let study = dir.join("study");
    std::fs::create_dir_all(&study).unwrap();
    let text = match from {
        "" => STUDY.to_owned(),
        from => STUDY.replace(from, to),
    };
    std::fs::write(study.join("study.yaml"), text).unwrap();
    std::fs::write(study.join("thanks.md"), "# Thank you\n").unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR"));
    let model = model.join("../examples/overcooked-coord/cook_clone.onnx");
    std::fs::copy(model, study.join("agent.onnx")).unwrap();
    study
}

#[test]
fn a_clip_that_cannot_be_played_is_refused_at_its_place_with_the_fix() {
    for (from, to, told) in [
        ("", "", ""),
        (
            "{policy: agent.onnx,",
            "{policy: moon.onnx,",
            "partners.sp.policy: ",
        ),
        (
            "players: [sp, {policy: cook}]",
            "players: [sp]",
            "timeline[0].clips[0].players: 1 player here, but `overcooked@2.0.0` with this config has 2 seats; write one AI \
             partner a seat",
        ),
        (
            "players: [sp, {policy: cook}]",
            "players: [sp, moon]",
            "timeline[0].clips[0].players[1]: unknown partner `moon`",
        ),
        (
            "{policy: random}",
            "{policy: cook}",
            "timeline[1].clips[0].players[0].policy: `cook` cannot play `overcooked_jaxmarl_v2`, the environment of this clip",
        ),
        (
            "env: overcooked_jaxmarl_v2@1.0.0,",
            "env: overcooked_jaxmarl@1.0.0,",
            "timeline[1].clips[0].env: unknown environment `overcooked_jaxmarl`",
        ),
        (
            "config: {horizon: 100, tick_hz: 10}",
            "config: {layout: moon}",
            "timeline[1].clips[0].config.layout: ",
        ),
        (
            "config: {horizon: 100, tick_hz: 10}",
            "config: {horizon: 100000}",
            "timeline[1].clips[0]: the episode can last longer than 36000 ticks, the most of a clip; write `to_s: 6000` or less",
        ),
        (
            "env: overcooked_jaxmarl_v2@1.0.0, config: {horizon: 100, tick_hz: 10}, players: [{policy: random}, {policy: idle}]",
            "seed: 1",
            "timeline[1].clips[0].seed: belongs to an episode of AI partners",
        ),
        (
            "env: overcooked_jaxmarl_v2@1.0.0,",
            "env: {gymnasium: CartPole-v1},",
            "timeline[1].clips[0].env: a clip of AI partners needs a built-in environment",
        ),
        (
            "seed: 8}",
            "seed: 8, view: own}",
            "timeline[0].clips[1].view: the participant has no seat",
        ),
        (
            "config: {horizon: 100, tick_hz: 10}",
            "config: {layout: '{{ kitchen }}'}",
            "timeline[1].clips[0].config.layout: a clip is the same for everybody",
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        let linted = catalog::lint::lint_study(&study(home.path(), from, to));
        let text = linted.to_string();
        match told {
            "" => assert!(linted.is_fine() && linted.warnings.is_empty(), "{text}"),
            told => assert!(text.contains(told), "{told}\n{text}"),
        }
    }
}

fn coplay(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coplay"));
    let done = command.args(args).current_dir(dir).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// The cells of some columns of a table.
fn cells<const N: usize>(dir: &Path, table: &str, columns: [&str; N]) -> Vec<[String; N]> {
    let file = dir.join("tables").join(format!("{table}.csv"));
    let mut reader = csv::Reader::from_path(file).unwrap();
    let names = reader.headers().unwrap().clone();
    let at = columns.map(|column| names.iter().position(|name| name == column).unwrap());
    let row = |row: csv::StringRecord| at.map(|at| row[at].to_owned());
    reader.records().map(|it| row(it.unwrap())).collect()
}

#[test]
fn a_rehearsal_names_the_clips_that_were_rated_and_compared() {
    let home = tempfile::tempdir().unwrap();
    study(home.path(), "", "");
    let said = coplay(home.path(), &["lint", "study"]);
    assert!(said.contains("agent.onnx (compare) takes "), "{said}");
    let args = "rehearse study --sessions 6 --arrivals-per-min 20 --faults all --data data --json";
    coplay(home.path(), &args.split(' ').collect::<Vec<_>>());
    coplay(
        home.path(),
        &["export", "--data", "data", "--out", "tables"],
    );

    let columns = [
        "stage_id",
        "clip",
        "seat",
        "seed",
        "partner",
        "algorithm",
        "clip_first_tick",
        "clip_end_tick",
    ];
    let clips = cells(home.path(), "clips", columns);
    assert_eq!(
        clips[..3],
        [
            ["compare", "1", "0", "7", "sp", "SP", "20", "120"],
            ["compare", "1", "1", "7", "", "", "20", "120"],
            ["compare", "2", "0", "8", "sp", "SP", "0", "300"],
        ]
        .map(|row| row.map(str::to_owned))
    );
    assert_eq!(clips.len(), 6);
    let models = cells(home.path(), "clips", ["policy", "model_sha256"]);
    let [policy, model] = &models[0];
    let stored = home.path().join(format!("data/networks/{model}.network"));
    assert!(
        stored.is_file() && *policy == format!("ai@{model}"),
        "{policy}"
    );
    assert_eq!(models[1], ["cook", ""]);

    let columns = [
        "kind",
        "clip",
        "clip_seed",
        "clip_policies",
        "clip_first_tick",
        "clip_end_tick",
    ];
    let rows = cells(home.path(), "annotations", columns);
    let kinds: BTreeSet<&str> = rows.iter().map(|row| &*row[0]).collect();
    assert!(kinds.is_superset(&["choice", "rating"].into()), "{kinds:?}");
    for [kind, clip, seed, policies, first, end] in &rows {
        let of_clip = match (&**kind, &**clip) {
            ("choice", "1") => ("7", format!("ai@{model} cook"), "20", "120"),
            ("choice", "2") => ("8", format!("ai@{model} ai@{model}"), "0", "300"),
            ("rating", "1") => ("0", "random idle".to_owned(), "0", "100"),
            _ => ("", String::new(), "", ""),
        };
        assert_eq!(of_clip, (&**seed, policies.clone(), &**first, &**end));
    }
}

async fn film(server: &Server, stage: &str, clip: usize) -> (StatusCode, Vec<u8>) {
    let order = serde_json::json!({ "session": "none", "stage": stage, "clip": clip });
    let request = Request::post("/film").body(Body::from(order.to_string()));
    let handler = build_handler(server.app.clone());
    let response = handler.oneshot(request.unwrap()).await.unwrap();
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), 1 << 24).await;
    (status, body.unwrap().to_vec())
}

/// Verifies the clips of a data folder, as they are and after a change of each.
async fn check_verified(data: &Path, clips: &BTreeSet<PathBuf>) {
    let report = verify_data(data).await.unwrap();
    assert!(
        report.is_fine() && report.clips.len() == clips.len(),
        "{report}"
    );
    assert!(
        report
            .to_string()
            .contains("clip compare-1: 120 ticks: equal\n"),
        "{report}"
    );
    for path in clips {
        let good = std::fs::read(path).unwrap();
        let last = clips.last().unwrap();
        let other = std::fs::read(if path == last {
            clips.first().unwrap()
        } else {
            last
        })
        .unwrap();
        let mut changed = good.clone();
        *changed.last_mut().unwrap() ^= 1;
        for bytes in [&changed[..], &good[..good.len() / 2], &other[..]] {
            std::fs::write(path, bytes).unwrap();
            let report = verify_data(data).await.unwrap();
            let wrong = report
                .clips
                .iter()
                .filter(|clip| clip.verdict != EpisodeVerdict::Equal);
            assert_eq!((wrong.count(), report.is_fine()), (1, false), "{report}");
        }
        std::fs::write(path, good).unwrap();
    }
}

#[tokio::test]
async fn every_server_makes_the_same_episode_and_shows_it() {
    let mut logs = Vec::new();
    for _ in 0..2 {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        let options = ServerOptions {
            study: study(home.path(), "", ""),
            data: data.clone(),
            links: 1,
            open: false,
            assets: Assets::Folder(home.path().join("dist")),
            limits: Limits::default(),
            turn: None,
            access: Default::default(),
            models: Default::default(),
            changed: Default::default(),
        };
        let server = Server::start(options).await.unwrap();
        let (status, shown) = film(&server, "compare", 1).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(film(&server, "compare", 1).await, (status, shown.clone()));
        assert_ne!(film(&server, "compare", 2).await.1, shown);
        assert_eq!(film(&server, "compare", 3).await.0, StatusCode::NOT_FOUND);

        let studies = std::fs::read_dir(data.join("studies")).unwrap();
        let paths = studies.map(|entry| entry.unwrap().path());
        let clips = paths.filter(|path| path.extension().is_some_and(|it| it == "clip"));
        let clips: BTreeSet<PathBuf> = clips.collect();
        let all: Vec<Vec<u8>> = clips
            .iter()
            .map(|path| std::fs::read(path).unwrap())
            .collect();
        assert_eq!(all.len(), 3);
        for bytes in &all {
            let log = read_log(bytes).unwrap();
            let stored = archive::open_stored(&data.join(archive::FOLDER));
            let replica = archive::replay(&log, stored, |_, _| {}).unwrap();
            assert_eq!(replica.ticks(), log.through);
        }
        check_verified(&data, &clips).await;
        logs.push(all);
    }
    assert_eq!(logs[0], logs[1]);
}
