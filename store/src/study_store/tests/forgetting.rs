//! Sessions that nobody has begun are forgotten whole, and no others.

use std::collections::BTreeMap;

use server_core::arbiter::Identity;

use super::*;
use crate::Session;

#[tokio::test]
async fn a_session_that_nobody_began_is_forgotten_and_one_with_an_answer_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = StudyStore::open(dir.path()).await.unwrap();
    store.issue_link("invite").await.unwrap();
    let identity = Identity {
        provider: "label".into(),
        participant: "somebody".into(),
        parameters: BTreeMap::new(),
    };
    let idle = NewSession {
        identity: Some(identity),
        ..new("P-A", Some("invite"))
    };
    store.create_session(&idle).await.unwrap();
    store.issue_link("other").await.unwrap();
    let other = new("P-B", Some("other"));
    store.create_session(&other).await.unwrap();
    let place = at("{}", None);
    let saved = store.save_place("P-B", &place, Some(&answers())).await;
    saved.unwrap();
    let numbers = |sessions: Vec<Session>| -> Vec<usize> {
        sessions.iter().map(|session| session.number).collect()
    };
    assert_eq!(numbers(store.sessions().await.unwrap()), [65, 66]);
    for participant in ["P-A", "P-B", "P-nobody"] {
        store.forget_session(participant).await.unwrap();
    }
    assert_eq!(numbers(store.sessions().await.unwrap()), [66]);
    assert!(store.list_identifiers().await.unwrap().is_empty());
    assert!(!store.list_responses().await.unwrap().is_empty());
    // The link is as if nobody had used it, and so is the name.
    assert_eq!(store.list_links().await.unwrap()[0].participant, None);
    store.create_session(&idle).await.unwrap();
    let again = new("P-C", Some("other"));
    store.create_session(&again).await.unwrap();
}
