//! The stored orders of the dashboard.

use server_core::arbiter::{DeskCheckRow, DeskMessageRow};
use server_core::desk::RecruitmentState;

use super::*;
use crate::Intervention;

#[tokio::test]
async fn recruitment_and_places_are_as_they_were_set_last() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    let state = async || store.read_recruitment().await.unwrap();
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
    let store = StudyStore::open(data.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    let place = at("{\"stage\":4}", Some(Outcome::Completed));
    store.save_place("P-A", &place, None).await.unwrap();
    let payment = async || store.list_payments().await.unwrap().remove(0);
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
    assert_eq!(store.read_ledger().await.unwrap().altered, [""; 0]);

    // A file was written before the correction, and has another amount.
    let session = first.session.clone();
    let mark = async |total| store.mark_paid(&[(session.clone(), total)]).await;
    let before = mark(first.what.total).await.unwrap_err();
    assert!(matches!(before, StoreError::Marked), "{before}");
    assert_eq!(payment().await.state, PayState::Due);
    mark(first.what.total + 50).await.unwrap();
    assert!(!store.correct_payment("P-A", &corrected(70)).await.unwrap());
    assert_eq!(payment().await.what, corrected(50));
    assert_eq!(store.read_ledger().await.unwrap().altered, [""; 0]);
}

#[tokio::test]
async fn interventions_are_read_back_from_the_audit_trail_and_nothing_else_is() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
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
    let read = store.list_interventions().await.unwrap();
    assert_eq!(read.len(), 1);
    assert!(read[0].at.ends_with('Z'), "{}", read[0].at);
    let at = read[0].at.clone();
    assert_eq!(read, [Intervention { at, ..done }]);
}

fn message(number: u32, by: &str, check: Option<DeskCheckRow>) -> DeskMessageRow {
    DeskMessageRow {
        participant: "P-A".to_owned(),
        number,
        by: by.to_owned(),
        audience: if by.is_empty() {
            "researchers"
        } else {
            "participant"
        }
        .to_owned(),
        stage: 0,
        visit: 1,
        episode: None,
        at_us: 7,
        text: format!("secret words {number}"),
        read_us: None,
        check,
    }
}

#[tokio::test]
async fn messages_with_researchers_are_stored_with_who_read_them_and_go_with_a_withdrawal() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    let check = DeskCheckRow {
        choices: vec!["red".to_owned(), "blue".to_owned()],
        expected: "blue".to_owned(),
        within_s: 30,
        answer: None,
    };
    let rows = [
        message(0, "", None),
        message(1, "Ada", None),
        message(2, "Ada", Some(check)),
    ];
    for row in &rows {
        store.save_desk_message("lobby", row).await.unwrap();
    }
    let read = async || {
        let found = store.desk_messages(Some("P-A")).await.unwrap().into_iter();
        found.map(|it| it.row).collect::<Vec<_>>()
    };
    assert_eq!(read().await, rows);
    assert_eq!(store.desk_messages(Some("P-B")).await.unwrap(), []);
    assert_eq!(store.desk_messages(None).await.unwrap()[0].stage, "lobby");
    let mark = async |own, at_us| {
        store
            .mark_desk_messages_read("P-A", own, 2, at_us)
            .await
            .unwrap();
    };
    mark(true, 8).await;
    mark(true, 9).await;
    mark(false, 10).await;
    store
        .save_check_answer("P-A", 2, "Blue ", 11)
        .await
        .unwrap();
    store.save_check_answer("P-A", 2, "red", 12).await.unwrap();
    let found = read().await;
    let times: Vec<_> = found.iter().map(|row| row.read_us).collect();
    assert_eq!(times, [Some(8), Some(10), None], "the first time stands");
    let check = found[2].check.as_ref().unwrap();
    assert_eq!(check.answer, Some(("Blue ".to_owned(), 11)));
    assert_eq!(check.is_right(), Some(true));

    store.record_withdrawal("P-A", "W-1", false).await.unwrap();
    assert_eq!(read().await, []);
    store.close().await;
    for entry in std::fs::read_dir(data.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let words = b"secret words";
        let is_there = bytes.windows(words.len()).any(|window| window == words);
        assert!(!is_there, "nothing of it is left");
    }
}

#[tokio::test]
async fn of_who_withdrew_nothing_is_kept_once_a_correction_leaves_nothing_to_pay() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    let place = at("{\"stage\":4}", Some(Outcome::Withdrew));
    store.save_place("P-A", &place, None).await.unwrap();
    let identity = ledger::identity("a1");
    store.set_identity("P-A", &identity).await.unwrap();
    store.record_withdrawal("P-A", "W-1", false).await.unwrap();
    assert_eq!(
        store.list_identifiers().await.unwrap().len(),
        1,
        "it is due"
    );
    let nothing = study::Payment {
        bonus: 0,
        total: 0,
        ..store.list_payments().await.unwrap().remove(0).what
    };
    assert!(store.correct_payment("P-A", &nothing).await.unwrap());
    assert!(store.list_identifiers().await.unwrap().is_empty());
    assert_eq!(store.read_ledger().await.unwrap().altered, [""; 0]);
}
