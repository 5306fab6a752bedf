//! Rows that decide payments, changed outside of the program.

use server_core::arbiter::Identity;

use super::*;

/// Three sessions: two that have ended, and one that has ended without pay and continues.
async fn ended() -> (tempfile::TempDir, StudyStore) {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    for (participant, outcome) in [
        ("P-A", Outcome::Completed),
        ("P-B", Outcome::PartnerLeft),
        ("P-C", Outcome::Completed),
    ] {
        store.create_session(&new(participant, None)).await.unwrap();
        let mut place = at("{\"stage\":4}", Some(outcome));
        if participant == "P-C" {
            place.payment = place.payment.map(|payment| study::Payment {
                total: 0,
                ..payment
            });
        }
        store.save_place(participant, &place, None).await.unwrap();
        // The first one stands.
        store.save_place(participant, &place, None).await.unwrap();
    }
    let going_on = at("{\"stage\":2}", None);
    store.reopen_session("P-C", &going_on).await.unwrap();
    (data, store)
}

#[tokio::test]
async fn what_was_stored_is_as_it_was_also_once_it_is_paid() {
    let (_data, store) = ended().await;
    assert_eq!(store.read_ledger().await.unwrap().altered, [""; 0]);
    let due = store.list_payments().await.unwrap().remove(0);
    store
        .mark_paid(&[(due.session, due.what.total)])
        .await
        .unwrap();
    assert_eq!(store.read_ledger().await.unwrap().altered, [""; 0]);
}

#[tokio::test]
async fn a_changed_payment_or_outcome_is_noticed() {
    let another = "the payment of P-A is not the one that was stored when the session ended";
    let removed = "entry 2 of the ledger of payments was changed or removed";
    for (sql, words) in [
        (
            "UPDATE payments SET state = 'paid' WHERE session = (SELECT id FROM sessions WHERE participant = 'P-A')",
            vec!["the payment of P-A is `paid`, and was stored as `due`"],
        ),
        (
            "UPDATE payments SET total = 9999 WHERE total = 487 AND session = (SELECT id FROM sessions WHERE participant = 'P-A')",
            vec![another],
        ),
        (
            "UPDATE payments SET code = 'C999' WHERE session = (SELECT id FROM sessions WHERE participant = 'P-A')",
            vec![another],
        ),
        (
            "UPDATE sessions SET outcome = 'completed' WHERE participant = 'P-B'",
            vec!["the outcome of P-B is not the one that the payment is for"],
        ),
        (
            "DELETE FROM payments WHERE session = (SELECT id FROM sessions WHERE participant = 'P-B')",
            vec!["the payment of P-B is missing"],
        ),
        (
            "UPDATE ledger SET entry = replace(entry, '487', '999') WHERE number = 2",
            vec![
                removed,
                "the payment of P-B is not the one that was stored when the session ended",
            ],
        ),
        (
            "UPDATE ledger SET entry = 'earlier', chain = '' WHERE number = 2",
            vec![removed],
        ),
        (
            "DELETE FROM ledger WHERE number = 2",
            vec![
                removed,
                "the payment of P-B is not the one that was stored when the session ended",
            ],
        ),
        (
            "INSERT INTO payments SELECT (SELECT id FROM sessions WHERE participant = 'P-C'), outcome, deed, code, receipt, currency, \
          time_ms, base, bonus, time, total, extra, note, state, at, paid_at FROM payments LIMIT 1",
            vec![
                "the payment of P-C is not the one that was stored when the session ended",
                "the outcome of P-C is not the one that the payment is for",
            ],
        ),
    ] {
        let (_data, store) = ended().await;
        raw_sql(sql).execute(store.file()).await.unwrap();
        assert_eq!(store.read_ledger().await.unwrap().altered, words, "{sql}");
    }
}

/// Makes the tables as they were before identifiers were encrypted and language models were used, without such data.
const PLAIN: &str = "DROP TABLE withdrawn_seats; DROP TABLE identifier_key; DROP TABLE identifiers; DROP TABLE audit; DROP TABLE model_calls; DROP TABLE desk_messages; \
                     ALTER TABLE messages DROP COLUMN partner; \
                     CREATE TABLE identifiers (session TEXT PRIMARY KEY REFERENCES sessions (id), provider TEXT NOT NULL, \
                     participant TEXT NOT NULL UNIQUE, parameters TEXT NOT NULL) STRICT;";

#[tokio::test]
async fn payments_of_an_older_database_are_taken_as_they_are() {
    let (data, store) = ended().await;
    let older = format!("{PLAIN} DROP TABLE ledger; PRAGMA user_version = 13");
    let older = sqlx::AssertSqlSafe(older);
    raw_sql(older).execute(store.file()).await.unwrap();
    assert_eq!(store.read_ledger().await.unwrap().altered, [""; 0]);
    store.close().await;
    let store = StudyStore::open(data.path()).await.unwrap();
    assert_eq!(store.read_ledger().await.unwrap().altered, [""; 0]);
    for participant in ["P-D", "P-E"] {
        store.create_session(&new(participant, None)).await.unwrap();
        let place = at("{\"stage\":4}", Some(Outcome::Completed));
        store.save_place(participant, &place, None).await.unwrap();
    }
    assert_eq!(store.read_ledger().await.unwrap().altered, [""; 0]);
    // What came later cannot be passed off as older.
    let sql = "UPDATE ledger SET entry = 'earlier', chain = '' WHERE participant = 'P-D'";
    raw_sql(sql).execute(store.file()).await.unwrap();
    let altered = store.read_ledger().await.unwrap().altered;
    assert_eq!(
        altered[0],
        "entry 4 of the ledger of payments was changed or removed"
    );
}

pub(super) fn identity(participant: &str) -> Identity {
    Identity {
        provider: "prolific".into(),
        participant: participant.into(),
        parameters: [("STUDY_ID".to_owned(), "s1".to_owned())].into(),
    }
}

/// The three sessions: the first one is paid, and recruiters know the first and the last.
async fn paid_and_known() -> (tempfile::TempDir, StudyStore) {
    let (data, store) = ended().await;
    store.set_identity("P-A", &identity("a1")).await.unwrap();
    store.set_identity("P-A", &identity("a2")).await.unwrap();
    store.set_identity("P-C", &identity("c1")).await.unwrap();
    let due = store.list_payments().await.unwrap().remove(0);
    store
        .mark_paid(&[(due.session, due.what.total)])
        .await
        .unwrap();
    (data, store)
}

#[tokio::test]
async fn a_changed_mark_or_identifier_is_noticed() {
    for (sql, words) in [
        (
            "UPDATE payments SET state = 'due' WHERE state = 'paid'",
            "the payment of P-A is `due`, and was stored as `paid`",
        ),
        (
            "UPDATE identifiers SET lookup = 'a9' WHERE session = (SELECT id FROM sessions WHERE participant = 'P-A')",
            "the recruiter's identifier of P-A is not the one that was stored",
        ),
        (
            "UPDATE identifiers SET sealed = zeroblob(60) WHERE session = (SELECT id FROM sessions WHERE participant = 'P-C')",
            "the recruiter's identifier of P-C is not the one that was stored",
        ),
        (
            "DELETE FROM identifiers WHERE session = (SELECT id FROM sessions WHERE participant = 'P-A')",
            "the recruiter's identifier of P-A is missing",
        ),
        (
            "INSERT INTO identifiers (session, lookup, sealed) \
             SELECT id, 'b1', zeroblob(60) FROM sessions WHERE participant = 'P-B'",
            "the recruiter's identifier of P-B is not the one that was stored",
        ),
    ] {
        let (_data, store) = paid_and_known().await;
        assert_eq!(store.read_ledger().await.unwrap().altered, [""; 0]);
        raw_sql(sql).execute(store.file()).await.unwrap();
        assert_eq!(store.read_ledger().await.unwrap().altered, [words], "{sql}");
    }
}

/// The entries of identifiers in the ledger.
async fn entered(store: &StudyStore) -> Vec<String> {
    let sql = "SELECT entry FROM ledger WHERE entry LIKE 'identifier%' ORDER BY number";
    let rows = sqlx::query(sql).fetch_all(store.file()).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn an_erased_identifier_leaves_a_hash_that_nobody_can_try_names_against() {
    let (_data, store) = paid_and_known().await;
    let before = store.read_ledger().await.unwrap();
    store.erase("P-A", &[]).await.unwrap();
    assert_eq!(store.read_ledger().await.unwrap(), before);
    // The same name gives another hash each time.
    for _ in 0..2 {
        store.set_identity("P-C", &identity("c1")).await.unwrap();
    }
    let mut entries = entered(&store).await;
    assert_eq!(entries.len(), 5);
    entries.sort();
    entries.dedup();
    assert_eq!(entries.len(), 5, "{entries:?}");
}

#[tokio::test]
async fn of_who_withdrew_the_identifier_stays_until_the_payment_is_made() {
    let (_data, store) = ended().await;
    let named = async || -> Vec<String> {
        let known = store.list_identifiers().await.unwrap();
        known.into_iter().map(|known| known.pseudonym).collect()
    };
    for participant in ["P-A", "P-C"] {
        let own = identity(participant);
        store.set_identity(participant, &own).await.unwrap();
    }
    let due = store.list_payments().await.unwrap().remove(0);
    assert_eq!(
        (due.participant.as_str(), due.state),
        ("P-A", PayState::Due)
    );
    store.record_withdrawal("P-A", "W-1", false).await.unwrap();
    assert_eq!(named().await, ["P-A", "P-C"]);
    // They open the recruiter's link again: the payment goes to the person whom the link names now.
    let again = store.set_identity("P-A", &identity("again")).await;
    assert_eq!((again.unwrap(), named().await.len()), ((), 2));
    store
        .mark_paid(&[(due.session, due.what.total)])
        .await
        .unwrap();
    assert_eq!(named().await, ["P-C"]);
    let again = store.set_identity("P-A", &identity("again")).await;
    assert_eq!(
        (again.unwrap(), named().await),
        ((), vec!["P-C".to_owned()])
    );
    assert_eq!(store.read_ledger().await.unwrap().altered, [""; 0]);
}

#[tokio::test]
async fn a_database_of_version_14_is_entered_as_it_is() {
    let (data, store) = paid_and_known().await;
    // As the program before left it.
    let older = format!(
        "DELETE FROM ledger WHERE entry = 'paid' OR entry LIKE 'identifier%'; {PLAIN} INSERT INTO identifiers \
         SELECT id, 'prolific', 'name of ' || participant, '{{}}' FROM sessions WHERE participant <> 'P-B'; \
         PRAGMA user_version = 14"
    );
    let older = sqlx::AssertSqlSafe(older);
    raw_sql(older).execute(store.file()).await.unwrap();
    assert_eq!(store.read_ledger().await.unwrap().altered, [""; 0]);
    store.close().await;
    let store = StudyStore::open(data.path()).await.unwrap();
    let state = store.read_ledger().await.unwrap();
    // The mark, the identifiers as they were, and again as they are encrypted.
    assert_eq!((state.altered, state.hashes.len()), (vec![], 4 + 1 + 2 + 2));
    let known = store.list_identifiers().await.unwrap();
    let names: Vec<_> = known
        .iter()
        .map(|it| it.identity.participant.as_str())
        .collect();
    assert_eq!(names, ["name of P-A", "name of P-C"]);
    let sql = "UPDATE payments SET state = 'due' WHERE state = 'paid'; DELETE FROM identifiers";
    raw_sql(sql).execute(store.file()).await.unwrap();
    assert_eq!(
        store.read_ledger().await.unwrap().altered,
        [
            "the payment of P-A is `due`, and was stored as `paid`",
            "the recruiter's identifier of P-A is missing",
            "the recruiter's identifier of P-C is missing",
        ]
    );
}

#[tokio::test]
async fn the_last_hash_changes_with_every_entry_and_shows_a_shortened_ledger() {
    let (_data, store) = paid_and_known().await;
    let whole = store.read_ledger().await.unwrap().hashes;
    let sql = "DELETE FROM ledger WHERE number = (SELECT max(number) FROM ledger); \
               UPDATE payments SET state = 'due', paid_at = NULL WHERE state = 'paid'";
    raw_sql(sql).execute(store.file()).await.unwrap();
    let shortened = store.read_ledger().await.unwrap();
    assert_eq!(shortened.altered, [""; 0], "nothing inside shows it");
    assert_eq!(shortened.hashes, whole[..whole.len() - 1]);
}
