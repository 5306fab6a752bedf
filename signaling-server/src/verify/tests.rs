use protocol::control::EndReason;
use protocol::log::{Ending, Header};
use protocol::{Era, Tick};

use super::*;
use crate::archive::Episode;
use crate::archive::tests::{PERSON, ZERO, header, part, played};
use crate::store::NewEpisode;

const WASM: &[u8] = b"\0asm";

/// A data folder with one played episode, `e-1`, and its file.
fn folder() -> (tempfile::TempDir, PathBuf, Header) {
    let data = tempfile::tempdir().unwrap();
    for part in [archive::FOLDER, "modules"] {
        fs::create_dir(data.path().join(part)).unwrap();
    }
    let header = Header {
        module: sha256_hex(WASM),
        ..header([PERSON, PERSON], 12)
    };
    fs::write(
        data.path()
            .join("modules")
            .join(&header.module)
            .with_extension("wasm"),
        WASM,
    )
    .unwrap();
    let mut episode = Episode::create(&data.path().join(archive::FOLDER), header.clone()).unwrap();
    episode.absorb(ZERO, &played(&header)).unwrap();
    episode.end(EndReason::Played).unwrap();
    let path = archive::path(&data.path().join(archive::FOLDER), "e-1").unwrap();
    (data, path, header)
}

#[tokio::test]
async fn a_played_episode_is_equal() {
    let (data, path, header) = folder();
    let report = verify(data.path()).await.unwrap();
    assert!(report.is_fine(), "{report}");
    let found = &report.episodes[0];
    let digest = played(&header).digests.last().unwrap().1;
    assert_eq!(
        (found.ticks, &found.digest, found.reason),
        (12, &format!("{digest:016x}"), Some("played"))
    );
    assert_eq!((&found.path, found.module), (&path, Module::Present));
    assert!(report.to_string().ends_with("1 of 1 episodes verified"));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["episodes"][0]["verdict"], "equal");
    assert_eq!(json["episodes"][0]["module"], "present");
}

#[tokio::test]
async fn a_running_and_torn_episode_is_verified_up_to_its_last_record() {
    let (data, path, header) = folder();
    let running = Header {
        episode: "e-2".into(),
        ..header.clone()
    };
    let mut episode = Episode::create(path.parent().unwrap(), running).unwrap();
    episode.absorb(ZERO, &part(&played(&header), 0, 5)).unwrap();
    let second = path.with_file_name("e-2.coplay");
    let mut bytes = fs::read(&second).unwrap();
    bytes.extend([9, 0, 0]);
    fs::write(&second, &bytes).unwrap();
    let report = verify(data.path()).await.unwrap();
    let found = &report.episodes[1];
    assert_eq!(
        (found.ticks, found.reason, found.torn, &found.verdict),
        (5, None, true, &Verdict::Equal)
    );
    assert_eq!(
        fs::read(&second).unwrap(),
        bytes,
        "verification changes nothing"
    );
}

#[tokio::test]
async fn damage_and_forgery_are_found() {
    let (data, path, header) = folder();
    let bytes = fs::read(&path).unwrap();
    let mut damaged = bytes.clone();
    damaged[30] ^= 1;
    fs::write(&path, damaged).unwrap();
    let report = verify(data.path()).await.unwrap();
    assert!(
        matches!(&report.episodes[0].verdict, Verdict::Differs(because) if because.starts_with("byte 8")),
        "{report}"
    );

    // Every checksum is right, but the score is not.
    let all = played(&header);
    let ending = Ending {
        ticks: Tick(12),
        reason: EndReason::Played,
        score: 1_000,
        digest: all.digests.last().unwrap().1,
    };
    let claim = Record::Digest {
        tick: Tick(4),
        seat: Some(ZERO),
        digest: 5,
    };
    let rows = Record::Actions {
        first: Tick(0),
        rows: all.rows,
    };
    for (records, word) in [
        (vec![rows.clone(), Record::End(ending)], "score: 1000"),
        (vec![rows, claim], "seat 0"),
    ] {
        let mut forged = log::begin(&header).unwrap();
        records
            .iter()
            .for_each(|record| log::append(record, &mut forged).unwrap());
        fs::write(&path, forged).unwrap();
        let report = verify(data.path()).await.unwrap();
        assert!(
            matches!(&report.episodes[0].verdict, Verdict::Differs(because) if because.contains(word)),
            "{report}"
        );
        assert!(!report.is_fine());
    }
}

#[tokio::test]
async fn another_version_is_not_called_equal() {
    let (data, path, header) = folder();
    fs::write(
        &path,
        log::begin(&Header {
            env_version: "0.9.0".into(),
            ..header
        })
        .unwrap(),
    )
    .unwrap();
    let report = verify(data.path()).await.unwrap();
    assert!(
        matches!(&report.episodes[0].verdict, Verdict::Unverified(because) if because.contains("0.9.0"))
    );
    assert!(!report.is_fine());
    assert!(report.to_string().contains("NOT VERIFIED"));
}

#[tokio::test]
async fn a_missing_or_altered_module_is_found() {
    let (data, _, header) = folder();
    let module = data
        .path()
        .join("modules")
        .join(&header.module)
        .with_extension("wasm");
    fs::write(&module, b"other").unwrap();
    assert_eq!(
        verify(data.path()).await.unwrap().episodes[0].module,
        Module::Altered
    );
    fs::remove_file(&module).unwrap();
    let report = verify(data.path()).await.unwrap();
    assert_eq!(report.episodes[0].module, Module::Missing);
    assert!(!report.is_fine());
}

#[tokio::test]
async fn the_database_is_held_against_the_files() {
    let (data, path, header) = folder();
    let ending = log::read(&fs::read(&path).unwrap())
        .unwrap()
        .ending
        .unwrap();
    let store = SqliteStore::open(data.path()).await.unwrap();
    for (id, ending) in [("e-1", ending), ("e-9", ending)] {
        let new = NewEpisode {
            id: id.into(),
            era: Era(0),
            group: header.group.clone(),
            stage: header.stage.clone(),
            path: format!("episodes/{id}.coplay"),
            participants: vec![],
        };
        store.create_episode(&new).await.unwrap();
        store
            .end_episode(id, ending.reason, Some(ending))
            .await
            .unwrap();
    }
    let report = verify(data.path()).await.unwrap();
    assert_eq!(
        (report.episodes[0].verdict.clone(), report.missing.clone()),
        (Verdict::Equal, vec!["e-9".to_owned()])
    );
    assert!(!report.is_fine());
    fs::write(&path, log::begin(&header).unwrap()).unwrap();
    let report = verify(data.path()).await.unwrap();
    assert!(
        matches!(&report.episodes[0].verdict, Verdict::Differs(because) if because.contains("database"))
    );
}
