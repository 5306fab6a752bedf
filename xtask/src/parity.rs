//! `parity`: recorded trajectories through the native library and the wasm module.

use std::process::Command;

use anyhow::Result;

use crate::build;
use crate::options::{Options, Takes};
use crate::tally::{Count, run_counted};
use crate::workspace::{Workspace, become_program};

const HELP: &str = "\
cargo xtask parity [DIR] [--json]

Puts every recorded trajectory (*.jsonl.gz) of a folder through the native library
and through the wasm modules, from the seed and with injected draws, and compares
field for field. Prints per file: steps, mismatches and the first of them; or what
of it is not supported, or malformed. Exits non-zero unless everything is equal.

DIR       the folder (default tests/golden)
--json    one object instead of a table";

/// The recordings that the repository carries.
const GOLDEN: &str = "tests/golden";

/// `cargo xtask parity`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        switches: &["json"],
        argument: true,
        ..Takes::default()
    };
    let Some(options) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let workspace = Workspace::find()?;
    let release = ["run", "--release", "-p", "parity", "--"];
    let folder = options.argument.as_deref();
    let mut replay = replay(&workspace, workspace.cargo(&release), folder)?;
    if options.has("json") {
        replay.arg("--json");
    }
    become_program(replay)
}

/// Compares the repository's own recordings by the program of the test command.
pub(crate) fn check(workspace: &Workspace, count: &mut Count) -> Result<()> {
    let program = workspace.command(workspace.checked("parity"));
    run_counted(&mut replay(workspace, program, None)?, count)
}

fn replay(workspace: &Workspace, mut replay: Command, folder: Option<&str>) -> Result<Command> {
    let modules = build::build_modules(workspace)?;
    // A folder that was named is meant from where the caller stands, and cargo keeps that place.
    replay.current_dir(std::env::current_dir()?);
    match folder {
        Some(folder) => replay.arg(folder),
        None => replay.arg(workspace.root.join(GOLDEN)),
    };
    for module in modules {
        replay.arg("--module").arg(module);
    }
    Ok(replay)
}
