//! Real pages in a rehearsal: a Chromium, and people in front of it who click and type.

mod devtools;
mod mishap;
mod page;
mod stages;
mod tab;
mod watch;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::fault::Fault;
use devtools::DevTools;

pub(super) use page::take_part;

/// The names of Chromium and related browsers.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// The environment variable that names the Chromium to use.
const VARIABLE: &str = "COPLAY_CHROMIUM";

/// Its arguments: no window, no other site, no page slowed down for being behind another one, and WebRTC where there is
/// only a loopback interface.
const FLAGS: [&str; 17] = [
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-gpu",
    "--window-size=1280,800",
    "--disable-quic",
    "--disable-sync",
    "--disable-extensions",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--allow-loopback-in-peer-connection",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

/// Passes the standard streams on as the pipes that Chromium wants.
const PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// The time after which a browser that was asked to stop is killed.
const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// The time within which a killed browser is gone, where the system reports it.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// A running Chromium.
#[derive(Debug)]
pub(super) struct Chromium {
    child: Child,
    group: Group,
    tools: DevTools,
    profile: tempfile::TempDir,
    /// Its product name, such as `HeadlessChrome/140.0.7339.80`.
    pub(super) product: String,
}

impl Chromium {
    /// Starts it, with a separate profile in a folder.
    ///
    /// # Errors
    /// There is none, or it does not start; the error says what to do.
    pub(super) async fn start(named: Option<&Path>, scratch: &Path) -> anyhow::Result<Self> {
        let program = find(named)?;
        let profile = tempfile::tempdir_in(scratch).context("a folder for the browser")?;
        let log = scratch.join("chromium.log");
        let mut command = Command::new("sh");
        command.args(["-c", PIPES]).arg(&program).args(FLAGS);
        if is_root() {
            // Chromium refuses to run its sandbox as root.
            command.arg("--no-sandbox");
        }
        if cfg!(target_os = "linux") {
            // Files that it puts beside its profile are removed with it. Elsewhere the path of its socket may become
            // too long.
            command.env("TMPDIR", profile.path());
        }
        let said = std::fs::File::create(&log).with_context(|| log.display().to_string())?;
        command
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(said)
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let group = Group::led_by(&child);
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (to, from) = pipes.context("the browser has no pipes")?;
        let tools = DevTools::over(to, from);
        let version = tools.call(None, "Browser.getVersion", json!({})).await;
        let Ok(version) = version else {
            let said = crate::process::host::read_tail(&log);
            bail!(
                "{} does not start as a browser; it says:\n{said}",
                program.display()
            );
        };
        Ok(Self {
            child,
            group,
            tools,
            profile,
            product: version["product"].as_str().unwrap_or_default().to_owned(),
        })
    }

    /// The connection to it.
    pub(super) fn open_tools(&self) -> DevTools {
        self.tools.clone()
    }

    /// Stops it.
    pub(super) async fn stop(mut self) {
        // It may be gone already.
        let _ = self.tools.call(None, "Browser.close", json!({})).await;
        let _ = timeout(STOPS_WITHIN, self.child.wait()).await;
    }
}

impl Drop for Chromium {
    /// Removes its folder once nobody writes there any more: a helper that outlives it creates the folder again.
    fn drop(&mut self) {
        self.group.kill();
        let _ = self.child.start_kill();
        let since = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && since.elapsed() < STOPS_WITHIN {
            std::thread::sleep(Duration::from_millis(5));
        }
        let since = Instant::now();
        while self.group.is_there() && since.elapsed() < GONE_WITHIN {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Where the system does not report processes, a helper may still write.
        let since = Instant::now();
        while std::fs::remove_dir_all(self.profile.path()).is_err() && since.elapsed() < GONE_WITHIN
        {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A browser and its helpers, where the system has groups of processes.
#[derive(Debug)]
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    fn led_by(child: &Child) -> Self {
        let number = child.id().and_then(|id| i32::try_from(id).ok());
        Self {
            leader: number.and_then(rustix::process::Pid::from_raw),
        }
    }

    fn kill(&self) {
        let kill =
            |leader| rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        // It may be gone already.
        let _ = self.leader.map(kill);
    }

    fn is_there(&self) -> bool {
        let is_there = |leader| rustix::process::test_kill_process_group(leader).is_ok();
        self.leader.is_some_and(is_there)
    }
}

#[cfg(not(unix))]
impl Group {
    fn led_by(_: &Child) -> Self {
        Self {}
    }

    fn kill(&self) {}

    fn is_there(&self) -> bool {
        false
    }
}

/// Returns true if a fault can happen to a real page.
pub(super) fn can_have(fault: Fault) -> bool {
    !matches!(fault, Fault::Malformed | Fault::Server)
}

/// The browser to use: the one that is named, or the first in the path.
fn find(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let variable = std::env::var_os(VARIABLE).map(PathBuf::from);
    if let Some(named) = named.map(Path::to_owned).or(variable) {
        anyhow::ensure!(
            named.exists(),
            "there is no browser at {}; --chromium or {VARIABLE} names one",
            named.display()
        );
        return Ok(named);
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut all = NAMES.iter().flat_map(|name| {
        let folders = std::env::split_paths(&paths);
        folders
            .map(move |folder| folder.join(name))
            .collect::<Vec<_>>()
    });
    all.find(|path| path.is_file()).with_context(|| {
        format!(
            "--browsers wants Chromium or Chrome, and there is none in PATH ({}); install one (Debian: `sudo apt-get \
             install chromium`), or name one: --chromium /path/to/chrome, or {VARIABLE}",
            NAMES.join(", ")
        )
    })
}

/// Returns true if this process runs as root, where the system reports it.
fn is_root() -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
    }
    #[cfg(not(unix))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_that_is_not_there_is_told_by_its_name() {
        let error = find(Some(Path::new("/no/such/chrome"))).unwrap_err();
        assert!(
            error.to_string().contains("/no/such/chrome") && error.to_string().contains(VARIABLE),
            "{error}"
        );
    }
}
