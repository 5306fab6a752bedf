//! Two processes of one study over a real PostgreSQL server: one is killed or stopped in a running episode, and the other
//! takes over. `cargo xtask postgres` runs them with its own server.

mod objects;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use protocol::control::{Entry, ServerMessage};
use protocol::{Life, Tick};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::oneshot;
use tokio::time::{sleep, sleep_until, timeout};

use super::game::{Match, meet};
use super::host::{HORIZON, Host, Running};
use super::page::{PATIENCE, Page};
use super::verified;

/// The environment variable with the address of the PostgreSQL server.
const VARIABLE: &str = "COPLAY_TEST_POSTGRES";

/// Time of one tick of the study.
const TICK: Duration = Duration::from_millis(100);

/// Time from the message of the start to the first tick, and some more.
const COUNTDOWN: Duration = Duration::from_secs(4);

/// A server in its own process.
struct Process {
    child: tokio::process::Child,
    data: PathBuf,
    log: PathBuf,
}

impl Process {
    /// Starts a server of the study with its own data folder.
    fn start(host: &Host, name: &str, database: &str) -> Self {
        Self::start_with(host, name, database, "127.0.0.1:0", &["--links", "2"])
    }

    fn start_with(host: &Host, name: &str, database: &str, listen: &str, more: &[&str]) -> Self {
        let dir = host.dir.path();
        let (data, log) = (dir.join(name), dir.join(format!("{name}.log")));
        let child = tokio::process::Command::new(env!("CARGO_BIN_EXE_coplay"))
            .arg("serve")
            .arg(dir.join("study"))
            .args(["--listen", listen, "--no-turn", "--json"])
            .args(["--database", database])
            .args(more)
            .arg("--dist")
            .arg(dir.join("dist"))
            .arg("--data")
            .arg(&data)
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { child, data, log }
    }

    /// Waits until it has the study; returns its address and links.
    async fn run(&mut self) -> Running {
        let stdout = self.child.stdout.take().unwrap();
        let mut lines = BufReader::new(stdout).lines();
        let line = timeout(PATIENCE, lines.next_line()).await;
        let line = line.expect("the server takes the study over");
        let line = line.unwrap().unwrap_or_else(|| panic!("{}", self.said()));
        let told: Value = serde_json::from_str(&line).unwrap();
        let address = told["url"].as_str().unwrap();
        let links = told["links"].as_array().unwrap().iter();
        let token = |link: &Value| {
            link.as_str()
                .unwrap()
                .split_once("?s=")
                .unwrap()
                .1
                .to_owned()
        };
        Running {
            address: (address.trim_start_matches("http://"))
                .trim_end_matches('/')
                .to_owned(),
            links: links.map(token).collect(),
            stop: oneshot::channel().0,
            serving: tokio::spawn(async { Ok(()) }),
        }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits for a sentence in its log.
    async fn until_said(&self, words: &str) {
        let began = Instant::now();
        while !self.said().contains(words) {
            assert!(began.elapsed() < PATIENCE, "{words}: {}", self.said());
            sleep(TICK).await;
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.as_ref().is_ok_and(ExitStatus::success), "{sent:?}");
    }

    async fn stop(mut self) -> PathBuf {
        self.signal("-TERM");
        let status = timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap();
        assert!(status.success(), "{status}: {}", self.said());
        self.data
    }
}

/// Makes a database on the server for tests.
fn make_database(name: &str) -> Option<String> {
    let Some(server) = std::env::var(VARIABLE).ok().filter(|it| !it.is_empty()) else {
        eprintln!("not checked: {VARIABLE} names no PostgreSQL server");
        return None;
    };
    let name = format!("{name}_{}", std::process::id());
    let mut psql = Command::new("psql");
    psql.arg(format!("{server}/postgres"));
    let made: std::io::Result<Child> = psql
        .args(["-q", "-c", &format!("CREATE DATABASE {name}")])
        .spawn();
    assert!(made.unwrap().wait().unwrap().success());
    Some(format!("{server}/{name}"))
}

/// The rows that a statement gives.
fn ask_database(database: &str, sql: &str) -> String {
    let mut psql = Command::new("psql");
    let asked = psql.arg(database).args(["-q", "-A", "-t", "-c", sql]);
    let asked = asked.output().unwrap();
    assert!(asked.status.success(), "{asked:?}");
    String::from_utf8(asked.stdout).unwrap().trim().to_owned()
}

/// An episode between two people, at the pace of the study, which servers hold pages to.
struct Paced {
    game: Match,
    began: Instant,
}

impl Paced {
    async fn begin(running: &Running) -> Self {
        Self {
            game: meet(running).await,
            began: Instant::now(),
        }
    }

    /// Plays to the end.
    async fn play_out(&mut self) {
        sleep_until((self.began + COUNTDOWN + TICK * HORIZON).into()).await;
        self.game.play(HORIZON).await;
        self.game.finish().await;
    }

    /// Plays up to a tick and uploads; returns the final ticks.
    async fn play_to(&mut self, ticks: u32) -> Tick {
        sleep_until((self.began + COUNTDOWN + TICK * ticks).into()).await;
        self.game.play(ticks).await;
        self.game.archive_both().await
    }

    /// Lets both pages connect to the second server, which has everything acknowledged, and play to the end there.
    async fn go_on(&mut self, running: &Running, through: Tick) {
        for seat in 0..2 {
            let entry = Entry::Resume {
                token: self.game.pages[seat].token.clone(),
                playing: Some((self.game.era, Life(0))),
            };
            let mut page = Page::enter(running, entry).await;
            let resumed = |message| match message {
                ServerMessage::Running { through, .. } => Some(through),
                _ => None,
            };
            let found = page.until(resumed).await;
            assert_eq!(found, through, "what was acknowledged is there");
            self.game.pages[seat] = page;
        }
        self.play_out().await;
    }
}

/// Two servers, of which the first has the study and the second waits, and an episode at the first of which so much is
/// acknowledged.
async fn play_at_first(host: &Host, database: &str) -> ([Process; 2], Paced, Running, Tick) {
    let mut first = Process::start(host, "first", database);
    let running = first.run().await;
    let second = Process::start(host, "second", database);
    second.until_said("this server waits").await;
    let mut game = Paced::begin(&running).await;
    let through = game.play_to(20).await;
    assert!(through.0 >= 20);
    ([first, second], game, running, through)
}

async fn assert_whole(data: &Path) {
    let episode = verified(data).await;
    assert_eq!((episode.ticks, episode.reason), (HORIZON, Some("played")));
}

#[tokio::test]
async fn a_server_is_killed_in_a_running_episode_and_another_takes_over_without_loss() {
    let Some(database) = make_database("killed") else {
        return;
    };
    let host = Host::new();
    let ([mut first, mut second], mut game, before, through) =
        play_at_first(&host, &database).await;
    let links = {
        first.child.kill().await.unwrap();
        let killed = Instant::now();
        let running = second.run().await;
        let took = killed.elapsed();
        println!("taken over {} ms after the kill", took.as_millis());
        game.go_on(&running, through).await;
        assert_eq!(running.links, before.links);
        running.links
    };
    let data = second.stop().await;
    assert_whole(&data).await;

    // It comes back, takes the study over immediately, because the other one has stopped, and has everything.
    let began = Instant::now();
    let mut back = Process::start(&host, "first", &database);
    let running = back.run().await;
    println!("started again within {} ms", began.elapsed().as_millis());
    assert_ne!(
        running.links, links,
        "both have finished, so there are others"
    );
    let mut page = Page::enter(&running, Entry::Invite(links[0].clone())).await;
    page.stage().await;
    assert_whole(&back.stop().await).await;
}

#[tokio::test]
async fn a_server_that_was_stopped_and_returns_is_fenced_and_says_so() {
    let Some(database) = make_database("fenced") else {
        return;
    };
    let host = Host::new();
    let ([mut first, mut second], mut game, _, through) = play_at_first(&host, &database).await;
    first.signal("-STOP");
    let running = second.run().await;
    first.signal("-CONT");
    // What the old one still hears, it cannot store.
    let ended = timeout(PATIENCE, first.child.wait())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ended.code(), Some(1), "{}", first.said());
    let said = first.said();
    assert!(
        said.contains("another server has taken this study over, so this one stops"),
        "{said}"
    );
    game.go_on(&running, through).await;
    assert_whole(&second.stop().await).await;
}

#[tokio::test]
async fn a_server_whose_port_is_taken_does_not_take_the_study() {
    let Some(database) = make_database("port") else {
        return;
    };
    let host = Host::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let mut first = Process::start_with(&host, "first", &database, &listen, &[]);
    let ended = timeout(PATIENCE, first.child.wait()).await.unwrap();
    assert_eq!(ended.unwrap().code(), Some(1), "{}", first.said());
    assert!(
        first.said().contains("is in use by another program"),
        "{}",
        first.said()
    );
    let found = ask_database(&database, "SELECT to_regclass('coplay.servers')");
    assert_eq!(found, "", "it did not even look at the study");

    // The port is taken while it waits: it gives the study up again, and says why.
    drop(taken);
    let mut second = Process::start(&host, "second", &database);
    second.run().await;
    let mut first = Process::start_with(&host, "first", &database, &listen, &[]);
    first.until_said("this server waits").await;
    let _taken = std::net::TcpListener::bind(&listen).unwrap();
    second.stop().await;
    let ended = timeout(PATIENCE, first.child.wait()).await.unwrap();
    assert_eq!(ended.unwrap().code(), Some(1), "{}", first.said());
    let free = "SELECT until <= clock_timestamp() FROM coplay.servers";
    assert_eq!(ask_database(&database, free), "t");
}
