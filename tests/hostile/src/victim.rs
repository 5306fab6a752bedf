//! The honest partner of an attacker: a bot of rehearsals, or a real browser.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use rehearsal::HonestPage;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// The script that drives a browser.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/victim.mjs");

/// An honest participant.
pub(crate) enum Victim {
    /// A bot, with the page that browsers run.
    Bot(HonestPage),
    /// A browser.
    Browser(Browser),
}

impl Victim {
    /// True if they take part no more.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Bot(bot) => bot.is_over(),
            Self::Browser(browser) => {
                let state = browser.state();
                state.outcome.is_some() || state.stuck.is_some()
            }
        }
    }

    /// The outcome on their last page.
    pub(crate) fn outcome(&self) -> Option<String> {
        match self {
            Self::Bot(bot) => bot.outcome(),
            Self::Browser(browser) => browser.state().outcome,
        }
    }

    /// The pay on their last page.
    pub(crate) fn pay(&self) -> String {
        match self {
            Self::Bot(bot) => bot.pay(),
            Self::Browser(browser) => browser.state().pay,
        }
    }

    /// The reason why they cannot continue, if they are stuck.
    pub(crate) fn stuck(&self) -> Option<String> {
        match self {
            Self::Bot(bot) => bot.stuck_stage(),
            Self::Browser(browser) => browser.state().stuck,
        }
    }
}

/// The last line of the script, as far as it has said something.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct State {
    outcome: Option<String>,
    pay: String,
    stuck: Option<String>,
}

/// A real browser, which ends with its owner.
pub(crate) struct Browser {
    _process: Child,
    state: Arc<Mutex<State>>,
}

impl Browser {
    /// Opens a participant link, waits until its page is in the waiting room, and plays.
    pub(crate) async fn open(link: &str) -> anyhow::Result<Self> {
        let modules = Path::new(SCRIPT).with_file_name("../e2e/node_modules");
        anyhow::ensure!(
            modules.exists(),
            "there is no browser driver; `cargo xtask setup` brings it"
        );
        let mut process = Command::new("node")
            .args([SCRIPT, link])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("node does not start")?;
        let stdout = process.stdout.take().context("node has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let first = lines.next_line().await?;
        anyhow::ensure!(
            first.as_deref() == Some("{}"),
            "the browser does not come in: {first:?}"
        );
        let state = Arc::new(Mutex::new(State::default()));
        let told = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let said = serde_json::from_str(&line).unwrap_or_else(|_| State {
                    stuck: Some(line),
                    ..State::default()
                });
                *told.lock().unwrap_or_else(PoisonError::into_inner) = said;
            }
        });
        Ok(Self {
            _process: process,
            state,
        })
    }

    fn state(&self) -> State {
        let state = self.state.lock();
        state.unwrap_or_else(PoisonError::into_inner).clone()
    }
}
