//! The workspace as cargo describes it, and the running of other programs in it.
//!
//! Whatever a program prints goes to stderr unless its output is asked for,
//! so that a command with `--json` has stdout for itself.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, io};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::setup;

/// The profile in which the test command compiles everything.
pub(crate) const CHECKED: &str = "checked";

/// Where things are.
pub(crate) struct Workspace {
    /// The repository's root.
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    /// The answer of `cargo metadata --no-deps`.
    pub(crate) metadata: Value,
}

impl Workspace {
    /// Asks cargo about the workspace that this program is of.
    pub(crate) fn find() -> Result<Self> {
        Self::at(env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from))
    }

    /// Asks cargo about the workspace around a folder, or around where the caller stands.
    pub(crate) fn at(folder: Option<PathBuf>) -> Result<Self> {
        let mut cargo = Command::new(cargo_program());
        cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
        if let Some(folder) = folder {
            cargo.current_dir(folder);
        }
        let metadata: Value = serde_json::from_str(&output(&mut cargo)?)?;
        let folder = |key: &str| {
            metadata[key]
                .as_str()
                .map(PathBuf::from)
                .with_context(|| format!("no {key}"))
        };
        Ok(Self {
            root: folder("workspace_root")?,
            target: folder("target_directory")?,
            metadata,
        })
    }

    /// A command that runs in the root.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// A cargo command that runs in the root.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = self.command(cargo_program());
        command.args(args);
        command
    }

    /// Returns a command for Node, with the browsers, the server and the network for the end-to-end scripts.
    pub(crate) fn node(&self, chromium: &Path) -> Command {
        let mut node = self.command("node");
        node.env("COPLAY_CHROMIUM", chromium)
            .env("COPLAY_BIN", self.server())
            .env("COPLAY_NET", self.checked("coplay-net"))
            .env("COPLAY_HONEST", self.checked("honest"))
            .env("COPLAY_TARGET", &self.target)
            .env("COPLAY_TEMPLATES", self.target.join("templates"))
            .env("COPLAY_PYTHON", self.root.join(".venv/bin/python"))
            .env("COPLAY_HOME", self.target.join("tmp/page-python"));
        if let Some(firefox) = setup::find_firefox() {
            node.env("COPLAY_FIREFOX", firefox);
        }
        node
    }

    /// Names of the crates and their folders, relative to the root.
    pub(crate) fn packages(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        self.metadata["packages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|package| {
                let folder = Path::new(package["manifest_path"].as_str()?).parent()?;
                Some((
                    package["name"].as_str()?,
                    folder.strip_prefix(&self.root).ok()?.to_owned(),
                ))
            })
    }

    /// Names of the crates and their folders as they stand in a [`Tree`](crate::tidy::Tree), by name.
    pub(crate) fn folders(&self) -> Vec<(&str, String)> {
        let mut folders: Vec<_> = self
            .packages()
            .map(|(name, folder)| (name, folder.to_string_lossy().replace('\\', "/")))
            .collect();
        folders.sort();
        folders
    }

    /// The release build of the server.
    pub(crate) fn server(&self) -> PathBuf {
        self.target
            .join("release")
            .join(format!("coplay{}", env::consts::EXE_SUFFIX))
    }

    /// A program that the test command built.
    pub(crate) fn checked(&self, name: &str) -> PathBuf {
        let folder = self.target.join(CHECKED);
        folder.join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    /// A module of an environment as the page loads it.
    pub(crate) fn module(&self, name: &str) -> PathBuf {
        self.root.join("dist/modules").join(format!("{name}.wasm"))
    }
}

fn cargo_program() -> std::ffi::OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Says what is being done, on stderr.
pub(crate) fn say(text: impl std::fmt::Display) {
    eprintln!("==> {text}");
}

/// Runs a program to its end, with its output on stderr, and says how long it took if that was noticeable.
pub(crate) fn run(what: &str, command: &mut Command) -> Result<()> {
    say(what);
    let start = Instant::now();
    let status = command
        .stdout(Stdio::from(io::stderr()))
        .status()
        .with_context(|| format!("{what}: `{}` could not be started", program(command)))?;
    if !status.success() {
        bail!("{what}: `{}` failed ({status})", line(command));
    }
    let seconds = start.elapsed().as_secs_f64();
    if seconds > 2.0 {
        eprintln!("    {seconds:.0} s");
    }
    Ok(())
}

/// Runs a program to its end and gives what it printed on stdout; stderr passes through.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("`{}` could not be started", program(command)))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", line(command), output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed something else than text", program(command)))
}

/// Becomes the program, so that signals and the exit status are its own.
pub(crate) fn become_program(mut command: Command) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        let error = command.exec();
        Err(error).with_context(|| format!("`{}` could not be started", program(&command)))
    }
    #[cfg(not(unix))]
    {
        let status = command
            .status()
            .with_context(|| format!("`{}` could not be started", program(&command)))?;
        std::process::exit(status.code().unwrap_or(1))
    }
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn line(command: &Command) -> String {
    let words = command
        .get_args()
        .map(|word| word.to_string_lossy().into_owned());
    std::iter::once(program(command))
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}
