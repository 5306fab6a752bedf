//! The server of a rehearsal: the program itself, in a separate process that can be killed.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use clock::Pace;

/// A server that has not reported its address by then is taken to have failed to start.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// The line that the server prints when it runs.
#[derive(Debug, Deserialize)]
struct Told {
    url: String,
    links: Vec<String>,
}

/// The arguments that a server is started with.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The program.
    pub(super) program: PathBuf,
    /// The study folder.
    pub(super) study: PathBuf,
    /// The data folder.
    pub(super) data: PathBuf,
    /// The file that its log is written to.
    pub(super) log: PathBuf,
    /// Number of participant links to create.
    pub(super) links: usize,
    /// True if it runs STUN and TURN.
    pub(super) has_turn: bool,
}

/// A running server.
#[derive(Debug)]
pub(super) struct Host {
    child: Child,
    pace: ChildStdin,
    /// The address that it listens on, such as `127.0.0.1:41234`.
    pub(super) address: String,
    /// Tokens of the participant links.
    pub(super) links: Vec<String>,
}

impl Host {
    /// Starts the program.
    ///
    /// # Errors
    /// It cannot be started, or ends; the error includes what it wrote to its log.
    pub(super) async fn start(place: &Place, port: u16, pace: &Pace) -> anyhow::Result<Self> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&place.log)
            .with_context(|| format!("cannot write {}", place.log.display()))?;
        let mut child = Command::new(&place.program)
            .arg("serve")
            .arg(&place.study)
            .arg("--data")
            .arg(&place.data)
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .args(["--links", &place.links.to_string()])
            .args(match place.has_turn {
                true => ["--turn-port", "0"].as_slice(),
                false => &["--no-turn"],
            })
            .args(["--json", "--paced"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", place.program.display()))?;
        let taken = child.stdin.take().zip(child.stdout.take());
        let (mut stdin, stdout) = taken.context("the server has no pipes")?;
        stdin.write_all(format!("{pace}\n").as_bytes()).await?;
        let mut lines = BufReader::new(stdout).lines();
        let line = timeout(STARTS_WITHIN, lines.next_line()).await;
        let Ok(Ok(Some(line))) = line else {
            bail!(
                "the server does not start; it says:\n{}",
                read_tail(&place.log)
            );
        };
        let told: Told = serde_json::from_str(&line).context("the server's first line")?;
        let token = |link: String| Some(link.split_once("?s=")?.1.to_owned());
        Ok(Self {
            child,
            pace: stdin,
            address: (told.url.trim_start_matches("http://"))
                .trim_end_matches('/')
                .to_owned(),
            links: told.links.into_iter().filter_map(token).collect(),
        })
    }

    /// Sets the pace of its clock. If the server is gone, nothing happens.
    pub(super) async fn set_pace(&mut self, pace: &Pace) {
        self.pace
            .write_all(format!("{pace}\n").as_bytes())
            .await
            .ok();
    }

    /// The port that it listens on.
    pub(super) fn port(&self) -> u16 {
        let port = self.address.rsplit(':').next();
        port.and_then(|port| port.parse().ok()).unwrap_or(0)
    }

    /// Seconds of processor time that it has used, where the system reports them.
    pub(super) fn cpu_s(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()?)).ok()?;
        // Source: proc(5); fields 14 and 15, in ticks of 10 ms, after a name that may hold spaces.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
        let user: f64 = fields.next()?.parse().ok()?;
        let system: f64 = fields.next()?.parse().ok()?;
        Some((user + system) / 100.0)
    }

    /// The reason for its end, if it ended without being asked to.
    pub(super) fn poll_exit(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(status.to_string())
    }

    /// Kills it, as a crash of the process would.
    ///
    /// # Errors
    /// The system refuses to.
    pub(super) async fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Stops it, and waits until everything is stored.
    ///
    /// # Errors
    /// It does not stop, or stops with an error.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        let Self {
            mut child, pace, ..
        } = self;
        // The end of its input is its signal to stop.
        drop(pace);
        let status = timeout(STARTS_WITHIN, child.wait()).await;
        let status = status.context("the server does not stop")??;
        anyhow::ensure!(status.success(), "the server stopped with {status}");
        Ok(())
    }
}

/// The last lines of a log.
pub(crate) fn read_tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(30)..];
    last.iter().map(|line| format!("    {line}\n")).collect()
}
