//! `coplay serve` in its own process, and the researcher's commands afterwards.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// A server that has not said its address by then has failed to start.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// A server that has not stored everything by then hangs.
const STOPS_WITHIN: Duration = Duration::from_secs(120);

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Its process.
    pub(crate) pid: u32,
    /// The address that it listens on.
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Serves the study in `folder/study`, with `folder/data`, for this many pages at the same time.
    ///
    /// # Errors
    /// It does not start; the error has the end of its log.
    pub(crate) async fn start(program: &Path, folder: &Path, pages: usize) -> anyhow::Result<Self> {
        let log_path = folder.join("server.log");
        let log = std::fs::File::create(&log_path)?;
        let mut child = Command::new(program)
            .arg("serve")
            .arg(folder.join("study"))
            .arg("--data")
            .arg(folder.join("data"))
            .args(["--listen", "127.0.0.1:0", "--no-turn", "--open", "--json"])
            .args(["--max-pages", &pages.to_string()])
            .env("COPLAY_KEY_FILE", folder.join("identifiers.key"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let stdout = child.stdout.take().context("the server has no pipe")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = timeout(STARTS_WITHIN, lines.next_line()).await;
        let Ok(Ok(Some(line))) = line else {
            let log = std::fs::read_to_string(&log_path).unwrap_or_default();
            bail!("the server does not start; it says:\n{log}");
        };
        let told: Value = serde_json::from_str(&line).context("the server's first line")?;
        let url = told["url"].as_str().context("the server names no url")?;
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        Ok(Self {
            pid: child.id().context("the server has ended")?,
            address: address
                .parse()
                .with_context(|| format!("the url {url} has no address"))?,
            child,
        })
    }

    /// True while it runs.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to stop, and waits until everything is stored.
    ///
    /// # Errors
    /// It does not stop, or stops with an error.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        let pid = i32::try_from(self.pid)?;
        let pid = rustix::process::Pid::from_raw(pid).context("the server has no process")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let status = timeout(STOPS_WITHIN, self.child.wait()).await;
        let status = status.context("the server does not stop")??;
        anyhow::ensure!(status.success(), "the server stopped with {status}");
        Ok(())
    }
}

/// The findings of `coplay verify` in a data folder.
#[derive(Debug)]
pub(crate) struct Verified {
    /// The ticks of each episode, by its id.
    pub(crate) ticks: BTreeMap<String, u32>,
    /// True if everything is as it was recorded.
    pub(crate) is_fine: bool,
}

/// Verifies a data folder.
///
/// # Errors
/// The command does not run, or says something else.
pub(crate) async fn verify(program: &Path, data: PathBuf) -> anyhow::Result<Verified> {
    let output = Command::new(program)
        .args(["verify", "--json", "--data"])
        .arg(data)
        .output()
        .await?;
    let said = String::from_utf8_lossy(&output.stderr);
    let found: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("`coplay verify` says: {said}"))?;
    let episodes = found["episodes"].as_array().context("no episodes")?;
    let ticks = episodes.iter().map(|episode| {
        let id = episode["episode"]
            .as_str()
            .context("an episode without id")?;
        let ticks = episode["ticks"]
            .as_u64()
            .context("an episode without ticks")?;
        Ok((id.to_owned(), u32::try_from(ticks)?))
    });
    Ok(Verified {
        ticks: ticks.collect::<anyhow::Result<_>>()?,
        is_fine: output.status.success(),
    })
}
