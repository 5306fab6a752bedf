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
    for wanted in [&[20, 30][..], &[0, 31], &[7]] {
        store.set_places(wanted).await.unwrap();
        assert_eq!(store.places().await.unwrap(), wanted, "none is left");
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
    assert!(store.correct_payment("P-A", &corrected(50)).await.unwrap());
    assert_eq!(payment().await.what, corrected(50));
    // A place that is stored again brings the old payment not back.
    store.save_place("P-A", &place, None).await.unwrap();
    assert_eq!(payment().await.what, corrected(50));
    assert_eq!(store.ledger().await.unwrap().altered, [""; 0]);

    // A file was written before the correction, and has another amount.
    let session = first.session.clone();
    let mark = async |total| store.mark_paid(&[(session.clone(), total)]).await;
    let before = mark(first.what.total).await.unwrap_err();
    assert!(matches!(before, StoreError::Marked), "{before}");
    assert_eq!(payment().await.state, PayState::Due);
    mark(first.what.total + 50).await.unwrap();
    assert!(!store.correct_payment("P-A", &corrected(70)).await.unwrap());
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

#[tokio::test]
async fn of_who_withdrew_nothing_is_kept_once_a_correction_leaves_nothing_to_pay() {
    let data = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(data.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    let place = at("{\"stage\":4}", Some(Outcome::Withdrew));
    store.save_place("P-A", &place, None).await.unwrap();
    let identity = ledger::identity("a1");
    store.set_identity("P-A", &identity).await.unwrap();
    store.withdraw("P-A", "W-1", false).await.unwrap();
    assert_eq!(store.identifiers().await.unwrap().len(), 1, "it is due");
    let nothing = study::Payment {
        bonus: 0,
        total: 0,
        ..store.payments().await.unwrap().remove(0).what
    };
    assert!(store.correct_payment("P-A", &nothing).await.unwrap());
    assert!(store.identifiers().await.unwrap().is_empty());
    assert_eq!(store.ledger().await.unwrap().altered, [""; 0]);
}
