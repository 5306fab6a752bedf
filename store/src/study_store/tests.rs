mod beside;
mod desk;
mod erasure;
mod forgetting;
mod ledger;

use protocol::Tick;
use protocol::control::{Answer, EndReason};
use protocol::log::Ending;
use study::Outcome;
use study::recruitment::RecruiterAction;

use super::*;
use crate::Answers;
use crate::DiskFault;
use crate::Group;
use crate::Member;
use crate::Message;
use crate::NewEpisode;
use crate::NewSession;
use crate::PayState;
use crate::StoredChatMessage;
use crate::StoredPosition;
use crate::Wait;

fn new(participant: &str, link: Option<&str>) -> NewSession {
    NewSession {
        number: participant.bytes().last().unwrap().into(),
        participant: participant.into(),
        token: format!("token of {participant}"),
        link: link.map(Into::into),
        study: "overcooked-dyad".into(),
        study_version: "1.2".into(),
        study_hash: "ab".into(),
        identity: None,
        place: at("{\"stage\":0}", None),
    }
}

/// A place, the last one if it has an outcome.
fn at(position: &str, outcome: Option<Outcome>) -> StoredPosition {
    StoredPosition {
        position: position.into(),
        spent_us: 7_000_000,
        seen_us: 9,
        acted_us: 8,
        payment: outcome.map(paid),
    }
}

fn paid(outcome: Outcome) -> study::Payment {
    study::Payment {
        outcome,
        deed: RecruiterAction::Approve,
        code: Some("C123".into()),
        receipt: "R456".into(),
        currency: Some("GBP".into()),
        time_ms: 7_000,
        base: 450,
        bonus: 37,
        time: 0,
        total: 487,
        extra: 37,
        note: None,
    }
}

fn episode(id: &str) -> NewEpisode {
    NewEpisode {
        id: id.into(),
        era: Era(65_535),
        group: "G-1".into(),
        stage: "play".into(),
        path: format!("episodes/{id}.coplay"),
        participants: vec!["P-A".into(), String::new()],
        visits: Vec::new(),
        draw: "{\"seed\":5}".into(),
        bindings: "{\"layout\":\"ring\"}".into(),
    }
}

fn answers() -> Answers {
    let answer = |name: &str, value: &str| Answer {
        name: name.into(),
        value: value.into(),
    };
    let answers = vec![answer("fun", "5"), answer("why", "\"söups, \\\"hot\\\"\"")];
    Answers {
        stage: "survey".into(),
        stage_index: 3,
        visit: 3,
        answers,
        marks: Vec::new(),
        shown: Vec::new(),
        pages_ms: vec![4_000],
    }
}

#[tokio::test]
async fn everything_is_there_after_reopening() {
    let data = tempfile::tempdir().unwrap();
    let ending = Ending {
        ticks: Tick(900),
        reason: EndReason::Played,
        score: -3,
        digest: u64::MAX - 1,
    };
    {
        let store = StudyStore::open(data.path()).await.unwrap();
        store.issue_link("invite").await.unwrap();
        store
            .create_session(&new("P-A", Some("invite")))
            .await
            .unwrap();
        store
            .save_place("P-A", &at("{\"stage\":4}", None), Some(&answers()))
            .await
            .unwrap();
        store
            .save_place("P-A", &at("{\"stage\":4}", Some(Outcome::Completed)), None)
            .await
            .unwrap();
        store
            .save_place("P-A", &at("{\"stage\":4}", Some(Outcome::Withdrew)), None)
            .await
            .unwrap();
        store.create_episode(&episode("e1")).await.unwrap();
        store.create_episode(&episode("e2")).await.unwrap();
        store
            .end_episode("e1", EndReason::Played, Some(ending), None)
            .await
            .unwrap();
        store.set_next_era(Era(7)).await.unwrap();
        // Dropped, not closed: as a killed process leaves it.
    }
    let store = StudyStore::open(data.path()).await.unwrap();
    let session = store.sessions().await.unwrap().remove(0);
    assert_eq!(
        (session.position.as_str(), session.outcome.as_deref()),
        ("{\"stage\":4}", Some("completed"))
    );
    assert!(
        session
            .ended_at
            .is_some_and(|at| at.ends_with('Z') && at >= session.created_at)
    );
    assert_eq!((session.spent_us, session.seen_us), (7_000_000, 9));
    let payments = store.list_payments().await.unwrap();
    let wanted = (paid(Outcome::Completed), PayState::Due);
    let found: Vec<_> = payments.into_iter().map(|p| (p.what, p.state)).collect();
    assert_eq!(
        found,
        [wanted],
        "a session is paid once, and the first one stands"
    );
    assert_eq!(
        (session.token_hash, session.link_hash),
        (token_hash("token of P-A"), Some(token_hash("invite")))
    );
    assert_eq!(
        store.list_links().await.unwrap()[0].participant.as_deref(),
        Some("P-A")
    );
    let running = store.running_episodes().await.unwrap();
    assert_eq!(
        running
            .iter()
            .map(|episode| episode.id.as_str())
            .collect::<Vec<_>>(),
        ["e2"]
    );
    assert_eq!((running[0].era, running[0].ending), (Era(65_535), None));
    assert_eq!(store.episodes().await.unwrap()[0].ending, Some(ending));
    assert_eq!(store.next_era().await.unwrap(), Era(7));
    let responses = store.list_responses().await.unwrap();
    assert_eq!(
        responses
            .iter()
            .map(|response| response.item.as_str())
            .collect::<Vec<_>>(),
        ["fun", "why"]
    );
    assert_eq!(responses[1].session, session.id);
}

#[tokio::test]
async fn no_token_is_stored_as_it_is() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    store.issue_link("invite").await.unwrap();
    store
        .create_session(&new("P-A", Some("invite")))
        .await
        .unwrap();
    store.close().await;
    let bytes = std::fs::read(data.path().join(FILE)).unwrap();
    for secret in ["token of P-A", "invite"] {
        assert!(
            !bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes())
        );
    }
    assert!(
        bytes
            .windows(64)
            .any(|window| window == token_hash("invite").as_bytes())
    );
}

#[tokio::test]
async fn a_new_token_replaces_the_one_before() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    store.set_token("P-A", "fresh").await.unwrap();
    let session = store.sessions().await.unwrap().remove(0);
    assert_eq!(session.token_hash, token_hash("fresh"));
    assert!(matches!(
        store.set_token("P-B", "fresh").await,
        Err(StoreError::Unknown("session"))
    ));
}

#[tokio::test]
async fn a_session_is_made_once_and_whole() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    store.issue_link("invite").await.unwrap();
    store
        .create_session(&new("P-A", Some("invite")))
        .await
        .unwrap();
    // The link is taken, or unknown: neither session nor participant is made.
    assert!(
        store
            .create_session(&new("P-B", Some("invite")))
            .await
            .is_err()
    );
    assert!(
        store
            .create_session(&new("P-B", Some("never issued")))
            .await
            .is_err()
    );
    store.create_session(&new("P-B", None)).await.unwrap();
    assert_eq!(store.sessions().await.unwrap().len(), 2);
}

#[tokio::test]
async fn answers_and_position_are_stored_together_and_the_first_answers_stand() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    assert!(matches!(
        store
            .save_place("P-A", &at("{}", None), Some(&answers()))
            .await,
        Err(StoreError::Unknown("session"))
    ));
    assert!(store.list_responses().await.unwrap().is_empty());
    store.create_session(&new("P-A", None)).await.unwrap();
    store
        .save_place("P-A", &at("{\"stage\":4}", None), Some(&answers()))
        .await
        .unwrap();
    let mut second = answers();
    second.answers[0].value = "1".into();
    store
        .save_place("P-A", &at("{\"stage\":4}", None), Some(&second))
        .await
        .unwrap();
    let responses = store.list_responses().await.unwrap();
    assert_eq!((responses.len(), responses[0].value.as_str()), (2, "5"));
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    assert!(matches!(
        store.save_place("P-A", &at("{}", None), None).await,
        Err(StoreError::Unknown("session"))
    ));
    let ended = store
        .end_episode("e1", EndReason::Technical, None, None)
        .await;
    assert!(matches!(ended, Err(StoreError::Unknown("episode"))));
    assert!(
        store.create_episode(&episode("e1")).await.is_err(),
        "a member who is no participant"
    );
    assert!(store.episodes().await.unwrap().is_empty());
}

#[tokio::test]
async fn the_first_end_of_an_episode_stands() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    store.create_episode(&episode("e1")).await.unwrap();
    store
        .end_episode("e1", EndReason::Technical, None, None)
        .await
        .unwrap();
    let ending = Ending {
        ticks: Tick(9),
        reason: EndReason::Played,
        score: 1,
        digest: 2,
    };
    store
        .end_episode("e1", EndReason::Played, Some(ending), None)
        .await
        .unwrap();
    let episode = &store.episodes().await.unwrap()[0];
    assert_eq!(
        (episode.reason, episode.ending),
        (Some(EndReason::Technical), None)
    );
}

#[tokio::test]
async fn the_file_is_as_durable_as_promised() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    for (sql, expected) in [
        ("PRAGMA synchronous", "2"),
        ("PRAGMA journal_mode", "wal"),
        ("PRAGMA foreign_keys", "1"),
    ] {
        let row = sqlx::query(sql).fetch_one(store.file()).await.unwrap();
        let found = row
            .try_get::<i64, _>(0)
            .map_or_else(|_| row.get::<String, _>(0), |number| number.to_string());
        assert_eq!(found, expected, "{sql}");
    }
}

#[tokio::test]
async fn a_reader_sees_a_running_store_and_refuses_a_newer_one() {
    let data = tempfile::tempdir().unwrap();
    assert!(
        StudyStore::read(data.path()).await.is_err(),
        "there is none yet"
    );
    let store = StudyStore::open(data.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    let reader = StudyStore::read(data.path()).await.unwrap();
    assert_eq!(reader.sessions().await.unwrap().len(), 1);
    assert!(
        reader
            .save_place("P-A", &at("{}", None), None)
            .await
            .is_err()
    );
    raw_sql("PRAGMA user_version = 99")
        .execute(store.file())
        .await
        .unwrap();
    assert!(matches!(
        StudyStore::read(data.path()).await,
        Err(StoreError::Newer { found: 99, .. })
    ));
}

#[tokio::test]
async fn groups_and_waits_are_kept_and_brought_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let store = StudyStore::open(dir.path()).await.unwrap();
    store.create_session(&new("P-1", None)).await.unwrap();
    let mut group = Group {
        id: "G-1".into(),
        stage: "lobby".into(),
        draw: "{}".into(),
        size: 2,
        has_ai: false,
        members: vec![Member {
            place: 1,
            participant: "P-1".into(),
            gone: None,
        }],
        chat: None,
        wait: None,
    };
    store.save_group(&group).await.unwrap();
    group.has_ai = true;
    group.chat = Some((3, 1_700_000_000_000_000));
    group.wait = Some((4, 1_700_000_300_000_000));
    group.members[0].gone = Some(server_core::arbiter::DepartureReason::Late);
    store.save_group(&group).await.unwrap();
    assert_eq!(store.list_groups().await.unwrap(), [group]);
    let mut wait = Wait {
        participant: "P-1".into(),
        stage: "lobby".into(),
        visit: 2,
        joined_us: 5,
        left_us: None,
        why: None,
        group: None,
        rtt_us: None,
        loss_permille: None,
    };
    store.save_wait(&wait).await.unwrap();
    (wait.left_us, wait.why) = (Some(9), Some("matched".into()));
    (wait.rtt_us, wait.loss_permille) = (Some(90_001), Some(12));
    wait.group = Some("G-1".into());
    store.save_wait(&wait).await.unwrap();
    store
        .save_wait(&Wait {
            joined_us: 20,
            left_us: None,
            why: None,
            ..wait.clone()
        })
        .await
        .unwrap();
    store.interrupt_waits().await.unwrap();
    let kept = store.list_waits().await.unwrap();
    assert_eq!(kept[0], wait);
    assert_eq!(
        (kept[1].left_us, kept[1].why.as_deref()),
        (None, Some("restart"))
    );
    store.close().await;
}

fn message(participant: &str, number: u32) -> Message {
    Message {
        partner: String::new(),
        group: "G-1".into(),
        number,
        participant: participant.into(),
        place: 0,
        stage: "play".into(),
        visit: 3,
        group_visit: 1,
        turn: number,
        episode: Some("e1".into()),
        tick: Some(40 + number),
        sent_us: u64::MAX,
        at_us: 1_700_000_000_000_000,
        text: "Söups, \"hot\"\n, now \u{1f9c5}".into(),
    }
}

#[tokio::test]
async fn messages_are_kept_in_their_order_with_the_seat_of_who_wrote_them() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    store.create_session(&new("P-B", None)).await.unwrap();
    let played = NewEpisode {
        participants: vec![String::new(), "P-A".into(), "P-B".into()],
        visits: vec![0, 3, 3],
        ..episode("e1")
    };
    store.create_episode(&played).await.unwrap();
    let second = Message {
        episode: None,
        tick: None,
        ..message("P-B", 1)
    };
    store.save_message(&second).await.unwrap();
    store.save_message(&message("P-A", 0)).await.unwrap();
    assert!(
        store.save_message(&message("P-A", 0)).await.is_err(),
        "each number is there once"
    );
    let all = store.messages().await.unwrap();
    let found: Vec<_> = all.iter().map(|said| (said.seat, &said.message)).collect();
    assert_eq!(found, [(Some(1), &message("P-A", 0)), (None, &second)]);
    assert_eq!(
        (all[0].study.as_str(), all[0].study_version.as_str()),
        ("overcooked-dyad", "1.2")
    );
}

#[tokio::test]
async fn who_withdraws_takes_their_messages_along_or_those_of_their_group() {
    for (group, left) in [(false, vec!["P-B".to_owned()]), (true, Vec::new())] {
        let data = tempfile::tempdir().unwrap();
        let store = StudyStore::open(data.path()).await.unwrap();
        store.create_session(&new("P-A", None)).await.unwrap();
        store.create_session(&new("P-B", None)).await.unwrap();
        let played = NewEpisode {
            participants: vec!["P-A".into(), "P-B".into()],
            ..episode("e1")
        };
        store.create_episode(&played).await.unwrap();
        store.save_message(&message("P-A", 0)).await.unwrap();
        store.save_message(&message("P-B", 1)).await.unwrap();
        store.record_withdrawal("P-A", "W-1", group).await.unwrap();
        let all = store.messages().await.unwrap();
        let of = |said: StoredChatMessage| said.message.participant;
        assert_eq!(all.into_iter().map(of).collect::<Vec<_>>(), left);
    }
}

#[tokio::test]
async fn a_database_that_is_full_says_so_and_goes_on_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let store = StudyStore::open(dir.path()).await.unwrap();
    let set_most = async |pages: u32| {
        let sql = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
        sqlx::raw_sql(sql).execute(store.file()).await.unwrap();
    };
    // SQLite takes no less than there is.
    set_most(1).await;
    let long = "x".repeat(100_000);
    let full = store.keep_study("hash", &long).await.unwrap_err();
    assert_eq!(full.disk_fault(), Some(DiskFault::Full), "{full}");
    set_most(1_000_000).await;
    store.keep_study("hash", &long).await.unwrap();
}
