//! Episodes from which everybody with data in them has withdrawn are gone from the folder.

use std::fs;
use std::path::Path;

use archive::fixtures::{PERSON, header, pages, play_episode};
use protocol::control::EndReason;
use protocol::log::{Ending, Header};
use protocol::{EnvWay, Seat, Tick};
use server_core::arbiter::HostWork;

use super::*;
use crate::LogState;
use crate::data_folder::DataDir;

/// The persistence of a study by its rule for withdrawals, with three people.
async fn open(data: &DataDir, rule: OnWithdraw) -> Persistence {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
    let (mut study, _) = catalog::read_study(&dir).unwrap();
    study.keeping.on_withdraw = Some(rule);
    Persistence::open(data, Arc::new(study)).await.unwrap()
}

async fn add_people(persistence: &Persistence) {
    for (number, participant) in (0..).zip(["P-A", "P-B", "P-C"]) {
        let session = NewSession {
            number,
            participant: participant.into(),
            token: format!("token of {participant}"),
            link: None,
            study: "overcooked-dyad".into(),
            study_version: "1.2".into(),
            study_hash: "ab".into(),
            identity: None,
            place: place(&study::Progress::default(), Attendance::default(), None),
        };
        persistence.store.create_session(&session).await.unwrap();
    }
}

/// Plays an episode of these people, perhaps to its end.
async fn play(persistence: &Persistence, data: &DataDir, id: &str, people: &[&str], is_over: bool) {
    let path = format!("episodes/{id}.coplay");
    fs::write(data.path().join(&path), id).unwrap();
    let new = NewEpisode {
        id: id.into(),
        era: protocol::Era(7),
        group: format!("G-{id}"),
        stage: "play".into(),
        path,
        participants: people.iter().map(|name| (*name).to_owned()).collect(),
        visits: vec![0; people.len()],
        draw: "{}".into(),
        bindings: "{}".into(),
    };
    persistence.store.create_episode(&new).await.unwrap();
    if is_over {
        persistence.write(ended(id)).await.unwrap();
    }
}

fn ended(id: &str) -> Write {
    let reason = EndReason::Played;
    let ending = Ending {
        ticks: Tick(9),
        reason,
        score: 1,
        digest: 2,
    };
    Write::EpisodeEnded {
        episode: id.into(),
        reason,
        ending: Some(ending),
    }
}

async fn withdraw(persistence: &Persistence, participant: &str) {
    let write = Write::Withdrawal {
        participant: participant.into(),
        receipt: format!("W-{participant}"),
    };
    persistence.write(write).await.unwrap();
}

/// The episodes that have a file, which are the episodes that the database knows.
async fn left(persistence: &Persistence, data: &DataDir) -> Vec<String> {
    let known = persistence.store.episodes().await.unwrap();
    let known: Vec<String> = known.into_iter().map(|episode| episode.id).collect();
    for id in ["alone", "pair", "group", "running"] {
        let file = data.path().join(format!("episodes/{id}.coplay"));
        assert_eq!(file.exists(), known.iter().any(|known| known == id), "{id}");
    }
    known
}

#[tokio::test]
async fn an_episode_goes_with_the_last_of_its_people_who_withdraws() {
    let home = tempfile::tempdir().unwrap();
    let data = DataDir::open(home.path()).unwrap();
    let persistence = open(&data, OnWithdraw::EraseOwn).await;
    add_people(&persistence).await;
    play(&persistence, &data, "alone", &["P-A"], true).await;
    play(&persistence, &data, "pair", &["P-A", "P-B"], true).await;
    play(&persistence, &data, "group", &["P-A", "P-B", "P-C"], true).await;
    play(&persistence, &data, "running", &["P-A"], false).await;
    withdraw(&persistence, "P-A").await;
    assert_eq!(
        left(&persistence, &data).await,
        ["pair", "group", "running"]
    );
    persistence.write(ended("running")).await.unwrap();
    withdraw(&persistence, "P-B").await;
    assert_eq!(left(&persistence, &data).await, ["group"]);
    persistence.store.erase("P-C", &[]).await.unwrap();
    persistence.close().await;
    // A crash came between.
    let persistence = open(&data, OnWithdraw::EraseOwn).await;
    assert!(left(&persistence, &data).await.is_empty());
    persistence.close().await;
}

#[tokio::test]
async fn whoever_withdraws_for_their_group_takes_its_episodes_along_and_no_others() {
    let home = tempfile::tempdir().unwrap();
    let data = DataDir::open(home.path()).unwrap();
    let persistence = open(&data, OnWithdraw::EraseGroup).await;
    add_people(&persistence).await;
    play(&persistence, &data, "pair", &["P-A", "P-B"], true).await;
    play(&persistence, &data, "group", &["P-B", "P-C"], true).await;
    play(&persistence, &data, "running", &["P-A", "P-C"], false).await;
    withdraw(&persistence, "P-A").await;
    assert_eq!(left(&persistence, &data).await, ["group", "running"]);
    persistence.write(ended("running")).await.unwrap();
    assert_eq!(left(&persistence, &data).await, ["group"]);
    persistence.close().await;
}

#[tokio::test]
async fn a_hosted_episode_loses_what_was_withdrawn_once_its_world_was_run_again() {
    let home = tempfile::tempdir().unwrap();
    let data = DataDir::open(home.path()).unwrap();
    let persistence = open(&data, OnWithdraw::EraseOwn).await;
    add_people(&persistence).await;
    play(&persistence, &data, "e-1", &["P-A", "P-B"], false).await;
    let path = data.episodes().join("e-1.coplay");
    fs::remove_file(&path).unwrap();
    let header = Header {
        way: EnvWay::Host,
        ..header([PERSON, PERSON], 12)
    };
    let mut episode = archive::Episode::create(&data.episodes(), header).unwrap();
    let step = HostWork {
        steps: true,
        ..HostWork::default()
    };
    while !episode.host(step.clone()).over {}
    episode.end(EndReason::Played).unwrap();
    persistence.write(ended("e-1")).await.unwrap();
    withdraw(&persistence, "P-B").await;
    let names_them = || {
        let bytes = fs::read(&path).unwrap();
        bytes.windows(3).any(|part| part == b"P-B")
    };
    assert!(names_them(), "the thread of the episode may still write");

    episode.repeat_steps().unwrap();
    drop(episode);
    persistence.retry_withdrawals().await.unwrap();
    assert!(!names_them());
    persistence.close().await;
}

#[tokio::test]
async fn a_log_is_the_one_of_the_ledger_also_when_a_crash_interrupts_a_withdrawal() {
    let home = tempfile::tempdir().unwrap();
    let data = DataDir::open(home.path()).unwrap();
    let persistence = open(&data, OnWithdraw::EraseOwn).await;
    add_people(&persistence).await;
    play(&persistence, &data, "e-1", &["P-A", "P-B"], false).await;
    let path = data.episodes().join("e-1.coplay");
    fs::remove_file(&path).unwrap();
    let header = header([PERSON, PERSON], 12);
    let mut episode = archive::Episode::create(&data.episodes(), header.clone()).unwrap();
    for (seat, page) in (0..).map(Seat).zip(&mut pages(&header)) {
        let upload = page.upload_part(&play_episode(&header), 0, 12);
        episode.append_upload(seat, &upload).unwrap();
    }
    episode.end(EndReason::Played).unwrap();
    let before = fs::read(&path).unwrap();
    let store = &persistence.store;
    let state = async |log: &[u8]| store.read_ledger().await.unwrap().logs.compare("e-1", log);
    assert_eq!(state(&before).await, LogState::Unentered, "it runs");
    persistence.write(ended("e-1")).await.unwrap();
    assert_eq!(state(&before).await, LogState::Same);
    assert_eq!(state(&before[1..]).await, LogState::Altered);

    store.record_withdrawal("P-B", "W-1", false).await.unwrap();
    let seat = store.list_withdrawn_seats().await.unwrap().remove(0);
    let prepared = archive::prepare_withdrawal(&path, "P-B", true).unwrap();
    let archive::PreparedWithdrawal::Ready(rewriting) = prepared else {
        panic!("there is something to withdraw")
    };
    let after = rewriting.bytes_after().to_vec();
    let entered = store.enter_rewritten_log(&seat, &before, &after).await;
    entered.unwrap();
    // A crash comes here, or right after the file is replaced.
    for log in [&before, &after] {
        assert_eq!(state(log).await, LogState::Same);
    }
    persistence.retry_withdrawals().await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), after);
    assert_eq!(state(&after).await, LogState::Same);
    assert_eq!(state(&before).await, LogState::Altered, "it was withdrawn");

    // With the last of its people, the log goes.
    withdraw(&persistence, "P-A").await;
    let ledger = store.read_ledger().await.unwrap();
    assert_eq!(ledger.altered, [""; 0]);
    assert_eq!(ledger.logs.compare("e-1", &after), LogState::Altered);
    persistence.close().await;
}

#[tokio::test]
async fn an_import_takes_the_log_that_an_interrupted_one_has_left_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let data = DataDir::open(dir.path()).unwrap();
    let persistence = open(&data, OnWithdraw::EraseOwn).await;
    let logs = std::collections::BTreeMap::from([("E-1".to_owned(), b"a log".to_vec())]);
    let import = || persistence.import(&data, Vec::new(), &logs, 0);
    import().await.unwrap();
    import().await.unwrap();
    let log = dir.path().join("episodes/E-1.coplay");
    assert_eq!(fs::read(&log).unwrap(), b"a log");
    assert_eq!(fs::read_dir(data.episodes()).unwrap().count(), 1);
    fs::write(&log, "another").unwrap();
    let told = import().await.unwrap_err().to_string();
    assert!(
        told.contains("E-1.coplay") && told.contains("delete it"),
        "{told}"
    );
    assert_eq!(fs::read(&log).unwrap(), b"another");
}
