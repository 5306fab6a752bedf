//! What is left of a study once it keeps its data no longer.

use signaling_server::clock::{Clock, Pace};
use signaling_server::retain::{Due, retain};

use crate::game::meet;
use crate::host::{HORIZON, Host};

const DAY_US: u64 = 24 * 3_600 * 1_000_000;

/// A clock that is so many days ahead.
fn ahead(days: u64) -> Clock {
    let pace = Pace {
        shows_us: days * DAY_US,
        ..Pace::REAL
    };
    Clock::paced(pace).1
}

fn logs(host: &Host) -> usize {
    std::fs::read_dir(host.data().join("episodes"))
        .unwrap()
        .count()
}

/// Whether a word is anywhere in the database.
fn is_known(host: &Host, word: &str) -> bool {
    let files = ["coplay.sqlite", "coplay.sqlite-wal"].map(|name| host.data().join(name));
    let bytes = files.iter().filter_map(|file| std::fs::read(file).ok());
    bytes.into_iter().any(|bytes| {
        bytes
            .windows(word.len())
            .any(|found| found == word.as_bytes())
    })
}

#[tokio::test]
async fn answers_and_episodes_are_gone_after_their_days_and_that_people_were_there_is_not() {
    let host = Host::new();
    let file = host.dir.path().join("study/study.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replacen("  version:", "  retention_days: 30\n  version:", 1);
    std::fs::write(&file, text).unwrap();
    let server = host.start().await;
    let mut game = meet(&server).await;
    game.play(HORIZON).await;
    game.finish(0).await;
    server.stop().await;
    assert_eq!(logs(&host), 1);
    assert!(
        is_known(&host, "fluency"),
        "an answer is stored by its item"
    );

    let nothing = retain(host.options(), ahead(29), false).await.unwrap();
    assert_eq!((nothing.sessions, nothing.episodes), (0, 0));
    let would = retain(host.options(), ahead(31), true).await.unwrap();
    assert_eq!(
        (would.sessions, would.episodes, would.erased),
        (2, 1, false)
    );
    assert_eq!(logs(&host), 1);
    let done = retain(host.options(), ahead(31), false).await.unwrap();
    let all = Due {
        erased: true,
        ..would
    };
    assert_eq!(done, all);
    assert_eq!(logs(&host), 0);
    let again = retain(host.options(), ahead(32), true).await.unwrap();
    assert_eq!((again.sessions, again.episodes), (0, 0));

    let out = host.dir.path().join("out");
    let tables = signaling_server::export::export(&host.data(), &out, false)
        .await
        .unwrap();
    assert_eq!((tables.sessions, tables.responses, tables.steps), (2, 0, 0));
    let mut sessions = csv::Reader::from_path(out.join("sessions.csv")).unwrap();
    let names = sessions.headers().unwrap().clone();
    let at = |name: &str| names.iter().position(|known| known == name).unwrap();
    for row in sessions.records().map(Result::unwrap) {
        assert_eq!(&row[at("outcome")], "completed");
        assert!(!row[at("erased_at")].is_empty());
    }
}
