//! Folders that cannot be exported.

use super::*;

#[tokio::test]
async fn a_missing_database_beside_episodes_is_named() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let header = header([PERSON, PERSON], 12);
    let mut episode = archive::Episode::create(&dir, header).unwrap();
    say(&mut episode, 0, 5);
    let out = data.path().join("out");
    let report = export(data.path(), &out, &ExportOptions::default())
        .await
        .unwrap();
    let [missing] = &report.skipped[..] else {
        panic!("{report}")
    };
    assert!(missing.path.ends_with(store::FILE));
    assert_eq!(report.count_rows("steps"), Some(10), "the rest is there");
}

#[tokio::test]
async fn a_new_database_beside_old_episodes_is_named() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let header = header([PERSON, PERSON], 12);
    let mut episode = archive::Episode::create(&dir, header).unwrap();
    say(&mut episode, 0, 12);
    episode.end(EndReason::Played).unwrap();
    store::StudyStore::open(data.path())
        .await
        .unwrap()
        .close()
        .await;
    let out = data.path().join("out");
    let report = export(data.path(), &out, &ExportOptions::default())
        .await
        .unwrap();
    let [unknown] = &report.unknown[..] else {
        panic!("{report}")
    };
    assert!(unknown.ends_with("episodes/e-1.coplay"), "{report}");
    assert!(!report.is_fine());
    let ledger = crate::pay::pay(data.path(), None).await.unwrap();
    let [because] = &ledger.altered[..] else {
        panic!("{ledger}")
    };
    assert!(
        because.contains("1 ended episode, such as e-1"),
        "{because}"
    );
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let error = export(
        Path::new("/nowhere/at all"),
        Path::new("/tmp"),
        &ExportOptions::default(),
    )
    .await
    .unwrap_err();
    assert!(error.to_string().contains("/nowhere/at all"));
}
