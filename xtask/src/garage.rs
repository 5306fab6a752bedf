//! A separate object store for tests: Garage, compiled once into `.tools`.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::workspace::{Workspace, run, say};

/// The version that is tested.
const VERSION: &str = "2.5.0";

/// The bucket, and the key that may write to it. They are of this server alone.
const BUCKET: &str = "coplay";
const KEY: &str = "GK0123456789abcdef01234567";
const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const REGION: &str = "garage";

/// For how long a server that starts is waited for.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// Gives the program; compiles it where it is not there, which takes minutes.
///
/// # Errors
/// The index of crates cannot be reached, or this machine lacks what Garage needs to be compiled.
pub(crate) fn install(workspace: &Workspace) -> Result<PathBuf> {
    let place = workspace
        .root
        .join(".tools")
        .join(format!("garage-{VERSION}"));
    let program = place.join("bin/garage");
    if program.is_file() {
        return Ok(program);
    }
    say(format_args!(
        "Garage {VERSION} is compiled, which takes minutes"
    ));
    let mut cargo = workspace.cargo(&["install", "--locked", "--debug", "--quiet"]);
    let build = place.join("build");
    cargo.env("CARGO_TARGET_DIR", &build);
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "false");
    cargo.args(["--no-default-features", "--features", "bundled-libs,lmdb"]);
    cargo.arg("--root").arg(&place);
    cargo.args(["--version", VERSION, "garage"]);
    run("Garage", &mut cargo).with_context(|| format!("Garage {VERSION} cannot be installed"))?;
    fs::remove_dir_all(build).context("removing what Garage was compiled from")?;
    Ok(program)
}

/// A server in a temporary folder, which ends with this.
pub(crate) struct Garage {
    folder: PathBuf,
    port: u16,
    server: Child,
}

impl Garage {
    /// Starts a server with an empty bucket.
    ///
    /// # Errors
    /// It does not answer in time; its log is in the error.
    pub(crate) fn start(workspace: &Workspace, program: &Path) -> Result<Self> {
        let name = format!("coplay-garage-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder)?;
        let free = || -> Result<u16> {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            Ok(listener.local_addr()?.port())
        };
        let (port, own_port) = (free()?, free()?);
        let settings = folder.join("garage.toml");
        fs::write(&settings, settings_text(&folder, port, own_port))?;
        let log = folder.join("log");
        let mut command = workspace.command(program);
        command
            .arg("-c")
            .arg(&settings)
            .args(["server", "--single-node", "--default-bucket"]);
        command.env("GARAGE_DEFAULT_ACCESS_KEY", KEY);
        command.env("GARAGE_DEFAULT_SECRET_KEY", SECRET);
        command.env("GARAGE_DEFAULT_BUCKET", BUCKET);
        command
            .stdout(File::create(&log)?)
            .stderr(File::create(&log)?);
        let server = command.spawn().context("starting Garage")?;
        let mut garage = Self {
            folder,
            port,
            server,
        };
        garage.wait(&log)?;
        say(format_args!("Garage {VERSION} at port {port}"));
        Ok(garage)
    }

    /// Waits until it listens, which it does once its bucket is there.
    fn wait(&mut self, log: &Path) -> Result<()> {
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let has_ended = self.server.try_wait()?.is_some();
            if has_ended || began.elapsed() > STARTS_WITHIN {
                let said = fs::read_to_string(log).unwrap_or_default();
                bail!("Garage does not start: {said}");
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Tells a command where the bucket is.
    pub(crate) fn set_variables(&self, command: &mut Command) {
        command.env("COPLAY_TEST_OBJECT_STORE", format!("s3://{BUCKET}"));
        command.env("AWS_ACCESS_KEY_ID", KEY);
        command.env("AWS_SECRET_ACCESS_KEY", SECRET);
        command.env("AWS_REGION", REGION);
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        command.env("AWS_ENDPOINT_URL", endpoint);
    }
}

fn settings_text(folder: &Path, port: u16, own_port: u16) -> String {
    let folder = folder.display();
    format!(
        r#"metadata_dir = "{folder}/meta"
data_dir = "{folder}/data"
db_engine = "lmdb"
replication_factor = 1
rpc_bind_addr = "127.0.0.1:{own_port}"
rpc_secret = "{SECRET}"

[s3_api]
s3_region = "{REGION}"
api_bind_addr = "127.0.0.1:{port}"
"#
    )
}

impl Drop for Garage {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}
