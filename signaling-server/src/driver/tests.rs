//! Erasures that had to wait while the server runs.

use std::path::Path;
use std::time::Duration;

use archive::Episode;
use archive::fixtures::{PERSON, header};
use protocol::EnvWay;
use protocol::control::EndReason;
use protocol::log::Header;
use server_core::arbiter::{Attendance, EpisodeRow, HostWork};
use store::data_folder::DataDir;
use study::recruitment::Provider;
use study::{OnWithdraw, Progress};

use super::*;
use crate::episode_writer::Surroundings;
use crate::model_client::ModelAccess;

async fn persistence(data: &DataDir) -> Persistence {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
    let (mut study, _) = catalog::read_study(&dir).unwrap();
    study.keeping.on_withdraw = Some(OnWithdraw::EraseOwn);
    // No key of identifiers is needed then.
    study.recruitment.provider = Provider::None;
    let persistence = Persistence::open(data, Arc::new(study)).await.unwrap();
    for (number, participant) in ["P-A", "P-B"].into_iter().enumerate() {
        let session = Write::NewSession {
            number,
            participant: participant.to_owned(),
            token: format!("token of {participant}"),
            link: None,
            identity: None,
            progress: Progress::default(),
            attendance: Attendance::default(),
            payment: None,
        };
        persistence.write(session).await.unwrap();
    }
    persistence
}

/// Plays a hosted episode to its end; its world is not run again yet.
async fn play(data: &DataDir, persistence: &Persistence) -> Episode {
    let header = Header {
        way: EnvWay::Host,
        ..header([PERSON, PERSON], 12)
    };
    let row = EpisodeRow {
        episode: header.episode.clone(),
        era: Era(7),
        group: header.group.clone(),
        stage: 0,
        participants: header.participants.clone(),
        visits: vec![0; 2],
        draw: Default::default(),
        bindings: Default::default(),
    };
    persistence.write(Write::Episode(row)).await.unwrap();
    let mut episode = Episode::create(&data.episodes(), header).unwrap();
    let step = HostWork {
        steps: true,
        ..HostWork::default()
    };
    while !episode.host(step.clone()).over {}
    let ending = episode.end(EndReason::Played).unwrap();
    let ended = Write::EpisodeEnded {
        episode: "e-1".to_owned(),
        reason: EndReason::Played,
        ending: Some(ending),
    };
    persistence.write(ended).await.unwrap();
    episode
}

#[tokio::test]
async fn a_hosted_episode_loses_what_was_withdrawn_while_the_server_runs() {
    let home = tempfile::tempdir().unwrap();
    let data = DataDir::open(home.path()).unwrap();
    let persistence = persistence(&data).await;
    let mut episode = play(&data, &persistence).await;
    let (results, _heard) = mpsc::unbounded_channel();
    let freed = Arc::new(Notify::new());
    let disk = Arc::new(DiskRoom::new(data.path()));
    let around = Surroundings {
        files: data.episode_files(),
        disk: Arc::clone(&disk),
        faults: Arc::default(),
        results: results.clone(),
        freed: Arc::clone(&freed),
    };
    let executor = Executor {
        feed: None,
        persistence,
        connections: Arc::default(),
        disk: Arc::clone(&disk),
        notifier: None,
        writers: EpisodeWriters::start(around).unwrap(),
        models: Arc::new(ModelClient::new(ModelAccess::Refuse)),
        results,
        freed: Arc::clone(&freed),
    };
    let (todo, todos) = mpsc::channel(8);
    let carrying = tokio::spawn(carry_out(executor, todos));
    let withdrawal = Write::Withdrawal {
        participant: "P-B".to_owned(),
        receipt: "W-1".to_owned(),
    };
    let effect = Todo::Effect(Effect::Store(withdrawal));
    todo.send(effect).await.ok().unwrap();
    let (answer, answered) = oneshot::channel();
    todo.send(Todo::Answer(answer, Ok(()))).await.ok().unwrap();
    answered.await.unwrap().unwrap();
    let names_them = || {
        let bytes = std::fs::read(data.episodes().join("e-1.coplay")).unwrap();
        bytes.windows(3).any(|part| part == b"P-B")
    };
    assert!(names_them(), "its thread may still write to the file");

    episode.repeat_steps().unwrap();
    drop(episode);
    freed.notify_one();
    let erased = async {
        while names_them() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let erased = tokio::time::timeout(Duration::from_secs(60), erased).await;
    erased.expect("it is erased while the server runs");
    drop(todo);
    carrying.await.unwrap().unwrap();
}
