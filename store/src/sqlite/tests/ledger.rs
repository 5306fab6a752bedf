//! Rows that decide who is paid what, changed behind the program's back.

use super::*;

/// Three sessions: two that have ended, and one that has ended without pay and goes on.
async fn ended() -> (tempfile::TempDir, SqliteStore) {
    let data = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(data.path()).await.unwrap();
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
    assert_eq!(store.altered_payments().await.unwrap(), [""; 0]);
    let session = store.payments().await.unwrap().remove(0).session;
    store.mark_paid(&[session]).await.unwrap();
    assert_eq!(store.altered_payments().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_changed_payment_or_outcome_is_noticed() {
    let another = "the payment of P-A is not the one that was stored when the session ended";
    let removed = "entry 2 of the ledger of payments was changed or removed";
    for (sql, words) in [
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
        raw_sql(sql).execute(&store.pool).await.unwrap();
        assert_eq!(store.altered_payments().await.unwrap(), words, "{sql}");
    }
}

#[tokio::test]
async fn payments_of_an_older_database_are_taken_as_they_are() {
    let (data, store) = ended().await;
    let older = "DROP TABLE ledger; PRAGMA user_version = 13";
    raw_sql(older).execute(&store.pool).await.unwrap();
    assert_eq!(store.altered_payments().await.unwrap(), [""; 0]);
    store.close().await;
    let store = SqliteStore::open(data.path()).await.unwrap();
    assert_eq!(store.altered_payments().await.unwrap(), [""; 0]);
    for participant in ["P-D", "P-E"] {
        store.create_session(&new(participant, None)).await.unwrap();
        let place = at("{\"stage\":4}", Some(Outcome::Completed));
        store.save_place(participant, &place, None).await.unwrap();
    }
    assert_eq!(store.altered_payments().await.unwrap(), [""; 0]);
    // What came later cannot be passed off as older.
    let sql = "UPDATE ledger SET entry = 'earlier', chain = '' WHERE participant = 'P-D'";
    raw_sql(sql).execute(&store.pool).await.unwrap();
    let altered = store.altered_payments().await.unwrap();
    assert_eq!(
        altered[0],
        "entry 4 of the ledger of payments was changed or removed"
    );
}
