//! The time that a host, or the Python of a page, adds to the environment's own step, and what a page waits for and receives.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{DOCUMENT, gather};
use crate::figures::{as_object, describe_machine, record, table};
use crate::options::Options;
use crate::workspace::{Workspace, output, say};
use crate::{build, hosts, setup};

/// `cargo xtask bench host`.
pub(super) fn command(workspace: &Workspace, options: &Options) -> Result<()> {
    let mut figures = Vec::new();
    let mut bench = workspace.cargo(&["bench", "-p", "env-host", "--bench", "host"]);
    // The Python of the tests has NumPy.
    let python = workspace.root.join(".venv/bin/python");
    if std::env::var_os("COPLAY_PYTHON").is_none() && python.is_file() {
        bench.env("COPLAY_PYTHON", python);
    }
    gather("host", &mut bench, &mut figures)?;
    gather("host, in a page", &mut in_page(workspace)?, &mut figures)?;
    let mut python = workspace.node(&setup::find_chromium(workspace)?);
    python.arg("tests/e2e/bench_python.mjs");
    gather("Python in the page", &mut python, &mut figures)?;
    let date = output(workspace.command("date").args(["-u", "+%Y-%m-%d"]))?;
    let (machine, date) = (describe_machine(), date.trim());
    if options.has("json") {
        println!("{}", as_object(&figures, &machine, date));
    } else {
        println!("{machine}, {date}\n{}", table(&figures));
    }
    if options.has("write") {
        let path = workspace.root.join(DOCUMENT);
        let old = fs::read_to_string(&path).with_context(|| format!("reading {DOCUMENT}"))?;
        let title = format!("Hosts, {date}, {machine}");
        fs::write(&path, record(&old, &figures, &title))
            .with_context(|| format!("writing {DOCUMENT}"))?;
        say(format_args!("wrote {DOCUMENT}"));
    }
    Ok(())
}

/// The program that measures in a page, with the release build of the server.
fn in_page(workspace: &Workspace) -> Result<Command> {
    let chromium = setup::find_chromium(workspace)?;
    build::build_all(workspace, false)?;
    let mut node = workspace.node(&chromium);
    node.arg("tests/e2e/bench_host.mjs");
    if let Some(python) = hosts::find_python(workspace) {
        node.env("COPLAY_PYTHON", python).arg("--heavy");
    }
    Ok(node)
}
