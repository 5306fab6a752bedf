//! The orders of the dashboard, as they are stored.

use server_core::desk::RecruitmentState;

use super::*;
use crate::Intervention;

#[tokio::test]
async fn recruitment_and_places_are_as_they_were_set_last() {
    let data = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(data.path()).await.unwrap();
    let state = async || store.recruitment().await.unwrap();
    assert_eq!(state().await, RecruitmentState::Open);
    assert_eq!(store.places().await.unwrap(), [0; 0]);
    for wanted in [RecruitmentState::Closed, RecruitmentState::Paused] {
        store.set_recruitment(wanted).await.unwrap();
        assert_eq!(state().await, wanted);
    }
    for wanted in [[20, 30], [0, 31]] {
        store.set_places(&wanted).await.unwrap();
        assert_eq!(store.places().await.unwrap(), wanted);
    }
}

#[tokio::test]
async fn a_corrected_payment_is_in_the_ledger_and_a_paid_one_stays() {
    let data = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(data.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    let place = at("{\"stage\":4}", Some(Outcome::Completed));
    store.save_place("P-A", &place, None).await.unwrap();
    let payment = async || store.payments().await.unwrap().remove(0);
    let first = payment().await;
    let corrected = |bonus| study::Payment {
        bonus,
        total: first.what.total + bonus,
        note: Some("a researcher corrected it".to_owned()),
        ..first.what.clone()
    };
    store.correct_payment("P-A", &corrected(50)).await.unwrap();
    assert_eq!(payment().await.what, corrected(50));
    // A place that is stored again brings the old payment not back.
    store.save_place("P-A", &place, None).await.unwrap();
    assert_eq!(payment().await.what, corrected(50));
    assert_eq!(store.ledger().await.unwrap().altered, [""; 0]);

    store
        .mark_paid(std::slice::from_ref(&first.session))
        .await
        .unwrap();
    store.correct_payment("P-A", &corrected(70)).await.unwrap();
    assert_eq!(payment().await.what, corrected(50));
    assert_eq!(store.ledger().await.unwrap().altered, [""; 0]);
}

#[tokio::test]
async fn interventions_are_read_back_from_the_audit_trail_and_nothing_else_is() {
    let data = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(data.path()).await.unwrap();
    store.append_audit("who", "P-A").await.unwrap();
    store.append_audit("desk", "Ada signs in").await.unwrap();
    let done = Intervention {
        at: String::new(),
        by: "Ada".to_owned(),
        order: "end_session".to_owned(),
        participant: Some("P-A".to_owned()),
        detail: "technical".to_owned(),
    };
    store.append_intervention(&done).await.unwrap();
    let read = store.interventions().await.unwrap();
    assert_eq!(read.len(), 1);
    assert!(read[0].at.ends_with('Z'), "{}", read[0].at);
    let at = read[0].at.clone();
    assert_eq!(read, [Intervention { at, ..done }]);
}
