mod frames;
mod hosted;
mod inputs;
mod people;
mod versions;

use archive::Episode;
use archive::fixtures::{
    PERSON, ZERO, ai_controller, header, key, log_of, pages, play_episode, two_pages,
};
use protocol::change::Change;
use protocol::control::EndReason;
use protocol::log::{Ending, Header, Record};
use protocol::seen;
use protocol::{Controller, Era, Life, Seat, Tick};
use store::{NewEpisode, NewSession, StoredPosition, StudyStore};

use super::*;
use crate::fixtures::{encode, say};

const WASM: &[u8] = b"\0asm";

/// A data folder with one played episode, `e-1`, and its file.
async fn folder() -> (tempfile::TempDir, PathBuf, Header) {
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
    say(&mut episode, 0, 12);
    episode.end(EndReason::Played).unwrap();
    let path = archive::path(&data.path().join(archive::FOLDER), "e-1").unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    for (number, participant) in header.participants.iter().enumerate() {
        let new = new_session(number, participant);
        store.create_session(&new).await.unwrap();
    }
    known(&store, &header).await;
    store.close().await;
    (data, path, header)
}

fn new_session(number: usize, participant: &str) -> NewSession {
    NewSession {
        number,
        participant: participant.into(),
        token: participant.into(),
        link: None,
        study: "overcooked-dyad".into(),
        study_version: "1".into(),
        study_hash: "ab".into(),
        identity: None,
        place: StoredPosition::default(),
    }
}

#[tokio::test]
async fn a_played_episode_is_equal() {
    let (data, path, header) = folder().await;
    let report = verify_data(data.path()).await.unwrap();
    assert!(report.is_fine(), "{report}");
    let found = &report.episodes[0];
    let digest = play_episode(&header).digests.last().unwrap().1;
    assert_eq!(
        (found.ticks, &found.digest, found.reason),
        (12, &format!("{digest:016x}"), Some("played"))
    );
    assert_eq!((&found.path, found.module), (&path, StoredModule::Present));
    assert!(report.to_string().ends_with("1 of 1 episodes verified"));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["episodes"][0]["verdict"], "equal");
    assert_eq!(json["episodes"][0]["module"], "present");
}

#[tokio::test]
async fn a_running_and_torn_episode_is_verified_up_to_its_last_record() {
    let (data, path, header) = folder().await;
    let running = Header {
        episode: "e-2".into(),
        ..header.clone()
    };
    let store = StudyStore::open(data.path()).await.unwrap();
    known(&store, &running).await;
    store.close().await;
    let mut episode = Episode::create(path.parent().unwrap(), running).unwrap();
    say(&mut episode, 0, 5);
    let second = path.with_file_name("e-2.coplay");
    let mut bytes = fs::read(&second).unwrap();
    bytes.extend([9, 0, 0]);
    fs::write(&second, &bytes).unwrap();
    let report = verify_data(data.path()).await.unwrap();
    let found = &report.episodes[1];
    assert_eq!(
        (found.ticks, found.reason, found.torn, &found.verdict),
        (5, None, true, &EpisodeVerdict::Equal)
    );
    assert_eq!(
        fs::read(&second).unwrap(),
        bytes,
        "verification changes nothing"
    );
}

#[tokio::test]
async fn damage_and_forgery_are_found() {
    let (data, path, header) = folder().await;
    let bytes = fs::read(&path).unwrap();
    let mut damaged = bytes.clone();
    damaged[30] ^= 1;
    fs::write(&path, damaged).unwrap();
    let report = verify_data(data.path()).await.unwrap();
    assert!(
        matches!(&report.episodes[0].verdict, EpisodeVerdict::Differs(because) if because.starts_with("byte 8")),
        "{report}"
    );

    // Every checksum is right, but the score is not, or a page had something else.
    let log = log::read_log(&bytes).unwrap();
    let mut score = log.records.clone();
    score.pop();
    score.push(Record::End(Ending {
        score: 1_000,
        ..log.ending.unwrap()
    }));
    let mut claim = log.records;
    let digest = Record::Digest {
        tick: Tick(4),
        seat: Some(ZERO),
        digest: 5,
    };
    claim.insert(claim.len() - 1, digest);
    for (records, word) in [(score, "score: 1000"), (claim, "seat 0")] {
        fs::write(&path, encode(&header, &records)).unwrap();
        let report = verify_data(data.path()).await.unwrap();
        assert!(
            matches!(&report.episodes[0].verdict, EpisodeVerdict::Differs(because) if because.contains(word)),
            "{report}"
        );
        assert!(!report.is_fine());
    }
}

#[tokio::test]
async fn another_version_is_not_called_equal() {
    let (data, path, header) = folder().await;
    fs::write(
        &path,
        encode(
            &Header {
                env_version: "0.9.0".into(),
                ..header
            },
            &[],
        ),
    )
    .unwrap();
    let report = verify_data(data.path()).await.unwrap();
    assert!(
        matches!(&report.episodes[0].verdict, EpisodeVerdict::Unverified(because) if because.contains("0.9.0"))
    );
    assert!(!report.is_fine());
    assert!(report.to_string().contains("NOT VERIFIED"));
}

#[tokio::test]
async fn a_missing_or_altered_module_is_found() {
    let (data, _, header) = folder().await;
    let module = data
        .path()
        .join("modules")
        .join(&header.module)
        .with_extension("wasm");
    fs::write(&module, b"other").unwrap();
    assert_eq!(
        verify_data(data.path()).await.unwrap().episodes[0].module,
        StoredModule::Altered
    );
    fs::remove_file(&module).unwrap();
    let report = verify_data(data.path()).await.unwrap();
    assert_eq!(report.episodes[0].module, StoredModule::Missing);
    assert!(!report.is_fine());
}

/// Adds an episode to the database of a data folder.
async fn known(store: &StudyStore, header: &Header) {
    let id = header.episode.clone();
    let new = NewEpisode {
        path: format!("episodes/{id}.coplay"),
        id,
        era: Era(0),
        group: header.group.clone(),
        stage: header.stage.clone(),
        participants: header.participants.clone(),
        visits: vec![2; header.participants.len()],
        draw: "{}".into(),
        bindings: "{}".into(),
    };
    store.create_episode(&new).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn what_ends_while_it_is_verified_is_no_fault() {
    let (data, path, header) = folder().await;
    let of = |id: &str| Header {
        episode: id.into(),
        ..header.clone()
    };
    let mut running = Episode::create(path.parent().unwrap(), of("e-2")).unwrap();
    say(&mut running, 0, 5);
    let store = StudyStore::open(data.path()).await.unwrap();
    known(&store, &of("e-2")).await;
    // Reading the last file waits until somebody writes it, and then the others have been read.
    let pipe = path.with_file_name("e-3.coplay");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let folder = data.path().to_owned();
    let verifying = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(verify_data(&folder)).unwrap()
    });
    let mut last = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    let ending = running.end(EndReason::PartnerLeft).unwrap();
    let ended = store
        .end_episode("e-2", ending.reason, Some(ending), None)
        .await;
    ended.unwrap();
    // One that begins and ends meanwhile has no file that was seen.
    known(&store, &of("e-4")).await;
    let ended = store
        .end_episode("e-4", ending.reason, Some(ending), None)
        .await;
    ended.unwrap();
    let bytes = encode(&of("e-3"), &[]);
    std::io::Write::write_all(&mut last, &bytes).unwrap();
    drop(last);
    let report = verifying.join().unwrap();
    assert!(report.is_fine(), "{report}");
    assert_eq!(report.episodes.len(), 3);
}

#[tokio::test]
async fn an_end_that_the_file_could_not_take_is_told_by_the_database() {
    let (data, path, header) = folder().await;
    fs::write(&path, encode(&header, &[])).unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    let report = verify_data(data.path()).await.unwrap();
    assert_eq!(report.episodes[0].reason, None);
    let ended = store
        .end_episode("e-1", EndReason::Technical, None, None)
        .await;
    ended.unwrap();
    let report = verify_data(data.path()).await.unwrap();
    assert!(report.is_fine(), "{report}");
    assert_eq!(report.episodes[0].reason, Some("technical"));
}

#[tokio::test]
async fn a_missing_database_beside_episodes_is_a_fault() {
    let (data, ..) = folder().await;
    fs::remove_file(data.path().join(store::FILE)).unwrap();
    let report = verify_data(data.path()).await.unwrap();
    assert!(report.lacks_database && !report.is_fine());
    let text = report.to_string();
    assert!(
        text.contains("DIFFERS: the database coplay.sqlite is missing"),
        "{text}"
    );
    fs::remove_dir_all(data.path().join(archive::FOLDER)).unwrap();
    fs::create_dir(data.path().join(archive::FOLDER)).unwrap();
    assert!(
        verify_data(data.path()).await.unwrap().is_fine(),
        "nothing was played"
    );
}

/// Two people; one of them loses the seat and comes back: the records after the header, in order.
fn handed_over(header: &Header) -> Vec<Record> {
    let dir = tempfile::tempdir().unwrap();
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    say(&mut episode, 0, 4);
    episode.take_seat(Seat(1), Controller::Vacant).unwrap();
    let public = key(Seat(1)).verifying_key().to_bytes();
    episode
        .give_seat(Seat(1), PERSON, Some(public), Some(Tick(4)))
        .unwrap();
    log_of(&mut episode).records
}

/// The result of verifying an episode with these records.
async fn judged(header: &Header, records: &[Record]) -> (Verified, String) {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let bytes = encode(header, records);
    fs::write(archive::path(&dir, "e-1").unwrap(), bytes).unwrap();
    let mut report = verify_data(data.path()).await.unwrap();
    let found = report.episodes.remove(0);
    let because = match &found.verdict {
        EpisodeVerdict::Differs(because) => because.clone(),
        EpisodeVerdict::Equal => String::new(),
        EpisodeVerdict::Recorded(because) => format!("recorded: {because}"),
        EpisodeVerdict::Unverified(because) => panic!("not verified: {because}"),
    };
    (found, because)
}

#[tokio::test]
async fn a_seat_must_change_hands_as_the_rules_say() {
    let header = header([PERSON, PERSON], 20);
    let records = handed_over(&header);
    let (found, because) = judged(&header, &records).await;
    assert_eq!((found.changes, because.as_str()), (2, ""));
    assert!(
        found.to_string().contains(", 2 changes of seats"),
        "{found}"
    );
    let take = records.iter().position(is_change).unwrap();
    let give = take + 1;
    let wrong = |at: usize, bend: &dyn Fn(&mut Change)| {
        let mut records = records.clone();
        let Record::Change(change) = &mut records[at] else {
            panic!("{:?}", records[at])
        };
        bend(change);
        records
    };
    for (records, words) in [
        (
            wrong(take, &|change| change.inputs = vec![999]),
            "change 0: seat 1: its last inputs are not those that were played",
        ),
        (
            wrong(give, &|change| change.from = Tick(3)),
            "change 1: seat 1: it is not given back from what was durable on",
        ),
        (
            wrong(take, &|change| change.tick = Tick(3)),
            "a change of a seat that is out of order",
        ),
        (
            wrong(give, &|change| change.life = Life(1)),
            "a change of a seat that is out of order",
        ),
        (
            wrong(take, &|change| change.number = 7),
            "a change of a seat that is out of order",
        ),
    ] {
        let (_, because) = judged(&header, &records).await;
        assert!(because.contains(words), "{because}");
    }
    // An AI partner that plays from the start has nobody to give the seat back to.
    let header = Header {
        controllers: vec![PERSON, ai_controller("idle")],
        ..header
    };
    let back = Record::Change(Change {
        number: 0,
        seat: Seat(1),
        tick: Tick(9),
        controller: PERSON,
        life: Life(1),
        from: Tick(0),
        inputs: Vec::new(),
        key: Some([1; 32]),
    });
    let (_, because) = judged(&header, &[back]).await;
    assert!(because.contains("nobody had lost it"), "{because}");
}

fn is_change(record: &Record) -> bool {
    matches!(record, Record::Change(_))
}

#[tokio::test]
async fn a_page_that_diverged_is_named_and_no_fault_of_the_file() {
    let header = header([PERSON, PERSON], 20);
    let dir = tempfile::tempdir().unwrap();
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let [mut one, mut two] = pages(&header);
    let all = play_episode(&header);
    episode
        .append_upload(ZERO, &one.upload_part(&all, 0, 8))
        .unwrap();
    let mut wrong = two.upload_part(&all, 0, 8);
    wrong.digests[0].1 ^= 1;
    assert!(!episode.append_upload(Seat(1), &wrong).unwrap().diverged);
    // It was asked to send its digests again.
    episode.recheck(Seat(1));
    wrong.recheck = 1;
    assert!(episode.append_upload(Seat(1), &wrong).unwrap().diverged);
    episode.take_seat(Seat(1), ai_controller("idle")).unwrap();
    let records = log_of(&mut episode).records;
    let (found, because) = judged(&header, &records).await;
    let named = DivergedPage {
        seat: 1,
        life: 0,
        tick: 4,
    };
    assert_eq!(
        (found.diverged.as_slice(), because.as_str()),
        (&[named][..], "")
    );
    assert!(
        found
            .to_string()
            .contains("the page of seat 1 diverged at tick 4")
    );

    let at = |is: fn(&Record) -> bool| records.iter().position(is).unwrap();
    let name = at(|record| matches!(record, Record::Diverged { .. }));
    let claim = Record::Digest {
        tick: Tick(4),
        seat: Some(Seat(1)),
        digest: 5,
    };
    let mut claimed = records.clone();
    claimed.insert(name, claim);
    let (_, because) = judged(&header, &claimed).await;
    assert_eq!(because, "", "nothing else is expected of it");
    claimed.remove(name + 1);
    let (_, because) = judged(&header, &claimed).await;
    assert!(
        because.contains("tick 4: the page of seat 1 had digest"),
        "{because}"
    );
    // Whose wrong digest it was cannot be put off to the next page of the seat.
    claimed.push(records[name].clone());
    let (_, because) = judged(&header, &claimed).await;
    assert!(
        because.contains("tick 4: the page of seat 1 had digest"),
        "{because}"
    );
    let mut slander = records;
    if let Record::Diverged { expected, .. } = &mut slander[name] {
        *expected ^= 1;
    }
    let (_, because) = judged(&header, &slander).await;
    assert!(because.contains("is said to differ"), "{because}");
}

#[tokio::test]
async fn who_told_another_page_something_else_is_named_and_that_page_is_not() {
    let header = header([PERSON, PERSON], 40);
    let dir = tempfile::tempdir().unwrap();
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let all = play_episode(&header);
    say(&mut episode, 0, 8);
    let mut records = log_of(&mut episode).records;
    let durable = all.rows[2 * 5];
    let digest = Record::Digest {
        tick: Tick(8),
        seat: Some(Seat(1)),
        digest: 5,
    };
    let told = Record::Equivocation {
        seat: ZERO,
        tick: Tick(5),
        by: Seat(1),
        durable,
        told: durable ^ 1,
    };
    records.extend([told, digest]);
    let (found, because) = judged(&header, &records).await;
    let lie = Equivocation {
        seat: 0,
        life: 0,
        tick: 5,
        by: 1,
        by_life: 0,
        durable,
        told: durable ^ 1,
    };
    assert_eq!(
        (&found.equivocations[..], because.as_str()),
        (&[lie][..], "")
    );
    assert_eq!(found.diverged, []);
    let line = found.to_string();
    assert!(
        line.contains(", seat 0 told seat 1 something else at tick 5"),
        "{line}"
    );
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["equivocations"][0]["by"], 1);

    let is_lie = |record: &Record| matches!(record, Record::Equivocation { .. });
    let at = records.iter().position(is_lie).unwrap();
    let mut silent = records.clone();
    silent.remove(at);
    let (_, because) = judged(&header, &silent).await;
    assert!(
        because.contains("tick 8: the page of seat 1 had digest"),
        "{because}"
    );
    let mut slander = records;
    if let Record::Equivocation { durable, .. } = &mut slander[at] {
        *durable ^= 1;
    }
    let (_, because) = judged(&header, &slander).await;
    assert!(because.contains("seat 0 is said to have told"), "{because}");
}

#[test]
fn an_ai_partner_may_follow_directives_and_may_not_become_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, ai_controller("cook:wait")], 12);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    let directed = episode
        .apply_directive(Seat(1), "fetch_plate", None)
        .unwrap();
    assert!(matches!(
        directed,
        server_core::arbiter::Directed::Applied(_)
    ));
    let log = log_of(&mut episode);
    assert_eq!(order::changes(&log), Ok(()));
    episode.apply_directive(Seat(1), "wait", None).unwrap();
    let log = log_of(&mut episode);
    assert_eq!(order::changes(&log), Ok(()));
    // The first directive, and one after another.
    for number in [0, 1] {
        let mut forged = log.clone();
        let mut changes = forged.records.iter_mut().filter_map(|record| match record {
            Record::Change(change) => Some(change),
            _ => None,
        });
        changes.nth(number).unwrap().controller = ai_controller("random");
        let refused = order::changes(&forged).unwrap_err();
        assert!(refused.contains("nobody had lost it"), "{refused}");
    }
}
