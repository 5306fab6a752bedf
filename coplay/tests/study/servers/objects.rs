//! The same with logs of ended episodes in an object store.

use super::*;

/// The environment variable with the address of a bucket.
const VARIABLE: &str = "COPLAY_TEST_OBJECT_STORE";

/// Counts the logs in objects, and the logs of which something is in rows.
fn count_logs(database: &str) -> (String, String) {
    let objects = ask_database(database, "SELECT count(*) FROM coplay.episode_objects");
    let sql = "SELECT count(DISTINCT path) FROM coplay.episode_parts";
    (objects, ask_database(database, sql))
}

async fn until_moved(database: &str, objects: usize, rows: usize) {
    let wanted = (objects.to_string(), rows.to_string());
    let began = Instant::now();
    while count_logs(database) != wanted {
        let found = count_logs(database);
        assert!(began.elapsed() < PATIENCE, "{found:?} and not {wanted:?}");
        sleep(TICK).await;
    }
}

/// `coplay verify`, with a new data folder that names the database alone.
fn verify_anew(host: &Host, database: &str) {
    let data = host.dir.path().join("third");
    std::fs::create_dir_all(data.join("episodes")).unwrap();
    std::fs::write(data.join("database"), database).unwrap();
    let verify = |name: &str, value: &str| {
        let mut verify = Command::new(env!("CARGO_BIN_EXE_coplay"));
        verify.args(["verify", "--json", "--data"]).arg(&data);
        verify.env(name, value).output().unwrap()
    };
    for (name, value, words) in [
        (
            "AWS_ACCESS_KEY_ID",
            "",
            "the environment has no AWS_ACCESS_KEY_ID",
        ),
        (
            "AWS_ENDPOINT_URL",
            "http://s3.example.edu",
            "use https, or set AWS_ALLOW_HTTP",
        ),
        (
            "AWS_SECRET_ACCESS_KEY",
            "wrong",
            "cannot be read from s3://",
        ),
    ] {
        let refused = verify(name, value);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains(words), "{said}");
    }
    let verified = verify("AWS_ALLOW_HTTP", "false");
    assert!(verified.status.success(), "{verified:?}");
    let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
    let episodes = report["episodes"].as_array().unwrap();
    let ticks = episodes.iter().map(|episode| episode["ticks"].as_u64());
    let ticks: Vec<_> = ticks.collect();
    assert_eq!(ticks, [Some(u64::from(HORIZON)); 2], "{report}");
}

#[tokio::test]
async fn a_server_is_killed_and_another_has_what_moved_and_what_was_played_meanwhile() {
    let bucket = std::env::var(VARIABLE).unwrap_or_default();
    if bucket.is_empty() {
        eprintln!("not checked: {VARIABLE} names no bucket");
        return;
    }
    let Some(database) = make_database("objects") else {
        return;
    };
    let host = Host::new();
    let store = format!("{bucket}/{}", std::process::id());
    let more = ["--links", "4", "--object-store", &store];
    let start = |name| Process::start_with(&host, name, &database, "127.0.0.1:0", &more);
    let mut first = start("first");
    let mut running = first.run().await;
    let mut second = start("second");
    second.until_said("this server waits").await;

    Paced::begin(&running).await.play_out().await;
    until_moved(&database, 1, 0).await;
    running.links.drain(..2);
    let mut game = Paced::begin(&running).await;
    let through = game.play_to(20).await;
    first.child.kill().await.unwrap();
    let killed = Instant::now();
    let running = second.run().await;
    println!(
        "taken over {} ms after the kill",
        killed.elapsed().as_millis()
    );
    game.go_on(&running, through).await;
    until_moved(&database, 2, 0).await;
    let data = second.stop().await;
    let report = dataset::verify::verify_data(&data).await.unwrap();
    assert!(report.is_fine() && report.episodes.len() == 2, "{report}");
    verify_anew(&host, &database);
}
