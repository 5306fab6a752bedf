//! `postgres`: the store and two servers of one study over a real PostgreSQL server and a real object store.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::garage::{self, Garage};
use crate::options::{Options, Takes};
use crate::setup;
use crate::tally::{Count, Tally, run_counted};
use crate::test::{TESTS, tests};
use crate::workspace::{Workspace, output, run, say};

const HELP: &str = "\
cargo xtask postgres

Starts a PostgreSQL server of its own in a temporary folder (Debian: the package
postgresql), and runs the tests of the store over it, those of two data folders that
share it, and two `coplay serve`, of which one is killed or stopped in a running episode.
Then the same with logs of ended episodes in an object store: a Garage server of its own,
which is compiled into .tools the first time.
Part of `cargo xtask test --all`; without PostgreSQL or Garage it says \"not checked\".";

/// The environment variable by which tests find the server.
const VARIABLE: &str = "COPLAY_TEST_POSTGRES";

/// Where Debian has the programs of a server, one folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The user who runs the server if root runs this command, because PostgreSQL refuses root.
const USER: &str = "postgres";

/// Tests of the store that are of a SQLite file: of its log, of its older versions, or with changes by hand in its dialect.
const FILE_ALONE: [&str; 14] = [
    "a_database_that_is_full_says_so",
    "a_reader_sees_a_running_store",
    "beside::an_older_database_is_left_alone",
    "erasure::a_log_that_",
    "erasure::two_programs_write_at_once",
    "ledger::a_changed_mark_or_identifier",
    "ledger::a_changed_payment_or_outcome",
    "ledger::a_database_of_version_14",
    "ledger::an_erased_identifier_leaves_a_hash",
    "ledger::payments_of_an_older_database",
    "ledger::the_last_hash_changes",
    "no_token_is_stored_as_it_is",
    "rows_have_the_time_that_was_told",
    "the_file_is_as_durable_as_promised",
];

/// `cargo xtask postgres`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        ..Takes::default()
    };
    if Options::parse(parser, takes)?.is_none() {
        return Ok(());
    }
    let workspace = Workspace::find()?;
    ensure!(
        find_programs().is_some(),
        "there is no PostgreSQL server on this machine (Debian: `sudo apt-get install postgresql`)"
    );
    let mut tally = Tally::default();
    let result = steps(&workspace, &mut tally);
    tally.print_summary();
    result
}

/// The names of the steps.
const STEP: &str = "several servers (PostgreSQL)";
const OBJECTS: &str = "object store (Garage)";
const NO_OBJECTS: &str = "object store (Garage): not checked";

/// The tests that need an object store.
const OF_OBJECTS: &str = "objects::";

/// Runs the tests, where PostgreSQL is there.
pub(crate) fn check_if_there(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    if find_programs().is_none()
        && let Err(error) = setup::install_by_apt(workspace, "postgresql")
    {
        println!("    {error:#}");
    }
    if find_programs().is_none() {
        for step in [STEP, OBJECTS] {
            println!("\n==> {step}: not checked, as there is no PostgreSQL server on this machine");
        }
        return Ok(());
    }
    steps(workspace, tally)
}

fn steps(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    let programs = find_programs().context("PostgreSQL")?;
    let server = Cluster::start(workspace, &programs)?;
    tally.step(STEP, |count| check(workspace, &server, count))?;
    match garage::install(workspace) {
        Ok(program) => tally.step(OBJECTS, |count| {
            let garage = Garage::start(workspace, &program)?;
            let mut objects = tests(workspace, &TESTS)?;
            objects.env(VARIABLE, &server.address);
            garage.set_variables(&mut objects);
            objects.args(["--", "--nocapture", "--test-threads=1", OF_OBJECTS]);
            run_counted(&mut objects, count)
        }),
        Err(error) => tally.step(NO_OBJECTS, |_| {
            println!("    {error:#}");
            Ok(())
        }),
    }
}

fn check(workspace: &Workspace, server: &Cluster, count: &mut Count) -> Result<()> {
    let mut store = tests(workspace, &["--lib"])?;
    store
        .env(VARIABLE, &server.address)
        .args(["--", "study_store::"]);
    store.args(FILE_ALONE.iter().flat_map(|name| ["--skip", name]));
    run_counted(&mut store, count)?;
    let mut servers = tests(workspace, &TESTS)?;
    servers.env(VARIABLE, &server.address);
    servers.args(["--", "--nocapture", "--test-threads=1", "servers::"]);
    servers.args(["--skip", OF_OBJECTS]);
    run_counted(&mut servers, count)
}

/// The folder of the programs of the newest PostgreSQL server.
fn find_programs() -> Option<PathBuf> {
    if let Some(initdb) = setup::find("initdb") {
        return initdb.parent().map(Path::to_owned);
    }
    let versions = fs::read_dir(DEBIAN).ok()?.flatten();
    let found = versions.filter_map(|version| {
        let number: u32 = version.file_name().to_str()?.parse().ok()?;
        let programs = version.path().join("bin");
        programs
            .join("initdb")
            .is_file()
            .then_some((number, programs))
    });
    found.max().map(|(_, programs)| programs)
}

/// A PostgreSQL server in a temporary folder, which ends with this.
struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    is_root: bool,
    address: String,
}

impl Cluster {
    fn start(workspace: &Workspace, programs: &Path) -> Result<Self> {
        let is_root = output(workspace.command("id").arg("-u"))?.trim() == "0";
        // The folder of the workspace may be closed to the server's user.
        let name = format!("coplay-postgres-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let cluster = Self {
            address: format!("postgres://postgres@127.0.0.1:{port}"),
            folder,
            programs: programs.to_owned(),
            is_root,
        };
        if is_root {
            let mut chown = workspace.command("chown");
            run("chown", chown.arg(USER).arg(&cluster.folder))?;
        }
        say(format_args!("PostgreSQL of {}", programs.display()));
        let mut initdb = cluster.command("initdb");
        initdb.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]);
        output(&mut initdb)?;
        let mut start = cluster.command("pg_ctl");
        let options = format!(
            "-c listen_addresses=127.0.0.1 -p {port} -k {}",
            cluster.folder.display()
        );
        start.args(["-w", "-t", "120", "-o", &options]).arg("-l");
        start.arg(cluster.folder.join("log")).arg("start");
        // It would keep the pipe of an output open.
        if !start
            .stdout(std::process::Stdio::null())
            .status()?
            .success()
        {
            let log = fs::read_to_string(cluster.folder.join("log")).unwrap_or_default();
            bail!("PostgreSQL does not start: {log}");
        }
        Ok(cluster)
    }

    /// A program of the server, with its data folder.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = match self.is_root {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", USER, "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        command.current_dir(&self.folder);
        command.arg("-D").arg(self.folder.join("data"));
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut stop = self.command("pg_ctl");
        stop.args(["-m", "immediate", "stop"])
            .stdout(std::process::Stdio::null());
        stop.status().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}
