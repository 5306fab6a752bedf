//! Measures of adherence.

use std::slice;
use std::sync::Arc;

use protocol::EnvWay;
use study::adherence::AdherenceMeasure;
use study::exclusion::read_exclusions;
use study::stage::AiPartner;

use super::*;

const TICKS: u32 = 120;

/// An episode of a person who plays alone and does what `cook` does, recorded with these measures.
fn as_cook(measures: &[(&str, &str)]) -> (Header, Record) {
    let cook = header([ai_controller("cook"), Controller::Vacant], TICKS);
    let rows = play_episode(&cook).rows;
    let names = measures.iter().map(|(name, policy)| {
        let measure = AdherenceMeasure {
            name: (*name).into(),
            stage: "play".into(),
            policy: AiPartner {
                policy: (*policy).into(),
                ..AiPartner::default()
            },
        };
        measure.to_log()
    });
    let course = Course {
        names: names.collect(),
        ..Course::default()
    };
    let header = Header {
        controllers: vec![PERSON, Controller::Vacant],
        participants: vec!["P-A".into(), String::new()],
        course: Some(course),
        ..cook
    };
    let first = Tick(0);
    (header, Record::Actions { first, rows })
}

async fn exported(
    data: &Path,
    (header, actions): (Header, Record),
    options: &ExportOptions,
) -> ExportReport {
    let dir = data.join(archive::FOLDER);
    fs::create_dir_all(&dir).unwrap();
    StudyStore::open(data).await.unwrap().close().await;
    let records = [sign_rows(&header, slice::from_ref(&actions)), vec![actions]].concat();
    fs::write(dir.join("e-1.coplay"), encode(&header, &records)).unwrap();
    export(data, &data.join("out"), options).await.unwrap()
}

fn chosen(name: &str, policy: &str) -> ChosenMeasure {
    ChosenMeasure {
        name: name.into(),
        stage: "play".into(),
        policy: policy.into(),
        model: None,
    }
}

#[tokio::test]
async fn a_person_who_does_what_a_policy_does_adheres_to_it_wholly() {
    let data = tempfile::tempdir().unwrap();
    let episode = as_cook(&[("greedy", "cook"), ("lazy", "idle")]);
    let Record::Actions { rows, .. } = &episode.1 else {
        panic!("the actions")
    };
    let noop = rows.chunks(2).filter(|row| row[0] == row[1]).count();
    let report = exported(data.path(), episode, &ExportOptions::default()).await;
    assert_eq!(report.skipped, []);
    let table = Cells::read(path(&report, "adherence"));
    let own = "measure policy decisions equal equal_share mean_probability";
    assert_eq!(table.names.join(" "), format!("{KEYS} {own}"));
    assert_eq!(
        table.cells(0, own),
        ["greedy", "cook", "120", "120", "1.0", ""]
    );
    let lazy = table.cells(1, "measure policy decisions equal");
    assert_eq!(lazy, ["lazy", "idle", "120", &noop.to_string()]);
    assert!(noop < 120, "the cook does something");
    assert_eq!(table.rows.len(), 2, "nobody in the other seat has a row");
}

#[tokio::test]
async fn old_data_are_measured_again_with_other_policies() {
    let data = tempfile::tempdir().unwrap();
    let options = ExportOptions {
        adherence: Some(vec![
            chosen("again", "cook"),
            ChosenMeasure {
                stage: "another".into(),
                ..chosen("elsewhere", "cook")
            },
        ]),
        ..ExportOptions::default()
    };
    let report = exported(data.path(), as_cook(&[("lazy", "idle")]), &options).await;
    let table = Cells::read(path(&report, "adherence"));
    assert_eq!(table.column("measure"), ["again"]);
    assert_eq!(table.column("equal_share"), ["1.0"]);
}

#[tokio::test]
async fn a_policy_that_cannot_play_the_episode_is_named_and_the_rest_is_there() {
    let data = tempfile::tempdir().unwrap();
    let options = ExportOptions::default();
    let episode = as_cook(&[("greedy", "chef"), ("lazy", "idle")]);
    let report = exported(data.path(), episode, &options).await;
    let [skipped] = &report.skipped[..] else {
        panic!("{report}")
    };
    assert!(skipped.reason.contains("`greedy`"), "{}", skipped.reason);
    let table = Cells::read(path(&report, "adherence"));
    assert_eq!(table.column("measure"), ["lazy"]);
}

#[tokio::test]
async fn an_episode_on_a_host_has_no_row() {
    let data = tempfile::tempdir().unwrap();
    let (mut header, actions) = as_cook(&[("greedy", "cook")]);
    header.way = EnvWay::Host;
    let report = exported(data.path(), (header, actions), &ExportOptions::default()).await;
    assert_eq!(report.count_rows("adherence"), Some(0));
}

#[tokio::test]
async fn a_rule_asks_for_adherence_over_all_episodes_of_a_session() {
    let data = tempfile::tempdir().unwrap();
    let rules = "adherence: [{name: greedy, stage: play, policy: cook}]
exclusions:
  - {name: follower, when: adherence.greedy.equal_share == 1, reason: did what the cook does}
  - {name: unlikely, when: adherence.greedy.mean_probability < 0.1, reason: did what was unlikely}
";
    let options = ExportOptions {
        exclusions: Some(read_exclusions("rules.yaml", rules).unwrap()),
        ..ExportOptions::default()
    };
    let store = StudyStore::open(data.path()).await.unwrap();
    let session = NewSession {
        number: 0,
        participant: "P-A".into(),
        token: "secret".into(),
        link: None,
        study: "overcooked-dyad".into(),
        study_version: "1".into(),
        study_hash: "ab".into(),
        identity: None,
        place: place(),
    };
    store.create_session(&session).await.unwrap();
    store.close().await;
    let report = exported(data.path(), as_cook(&[("greedy", "cook")]), &options).await;
    let table = Cells::read(path(&report, "exclusions"));
    let rows: Vec<_> = (0..table.rows.len())
        .map(|row| table.cells(row, "rule excluded").join(" "))
        .collect();
    assert_eq!(
        rows,
        ["follower true", "unlikely "],
        "a script has no probability"
    );
}

#[tokio::test]
async fn a_model_tells_how_probable_the_actions_of_people_were() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data-folders");
    let networks = root.join("v1/overcooked-coord/data/networks");
    let file = fs::read_dir(networks).unwrap().next().unwrap().unwrap();
    let sha256 = file
        .path()
        .file_stem()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let model: Arc<[u8]> = fs::read(file.path()).unwrap().into();
    let measure = ChosenMeasure {
        model: Some(model),
        ..chosen("model", &format!("agent.onnx@{sha256}"))
    };
    let options = ExportOptions {
        adherence: Some(vec![measure]),
        ..ExportOptions::default()
    };
    let data = tempfile::tempdir().unwrap();
    let mut episode = as_cook(&[]);
    episode.0.params = format!("{{\"horizon\":{TICKS},\"layout\":\"coordination_ring\"}}");
    let report = exported(data.path(), episode, &options).await;
    assert_eq!(report.skipped, []);
    let table = Cells::read(path(&report, "adherence"));
    let number = |name: &str| table.column(name)[0].parse::<f64>().unwrap();
    // It plays with `every_ticks: 2`.
    assert_eq!(number("decisions"), f64::from(TICKS / 2));
    let probability = number("mean_probability");
    assert!(probability > 0.0 && probability < 1.0, "{probability}");
    assert!(number("equal_share") < 1.0);
}
