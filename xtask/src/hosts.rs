//! `hosts`: heavy environments from their packages, unmodified, through the host in Python.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::options::{Options, Takes};
use crate::python::Venv;
use crate::tally::{Count, Tally, run_counted};
use crate::workspace::{CHECKED, Workspace, run};
use crate::{build, setup};

const HELP: &str = "\
cargo xtask hosts

Atari for one and for two players (ale-py, multi-agent-ale-py), Craftax and XLand-MiniGrid,
stepped and drawn through the host in Python, twice each: equal seeds and actions have to
give equal steps. Then one person plays each of them in Chromium, with real keys. The first
time it installs their packages, about a gigabyte, into .tools.";

/// The packages of the environments.
const REQUIREMENTS: &str = "python/requirements-hosts.txt";

/// `cargo xtask hosts`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        ..Takes::default()
    };
    if Options::parse(parser, takes)?.is_none() {
        return Ok(());
    }
    let workspace = Workspace::find()?;
    let mut tally = Tally::default();
    let chromium = setup::find_chromium(&workspace)?;
    build::page(&workspace, false)?;
    let mut cargo = workspace.cargo(&["build", "--quiet", "--profile", CHECKED, "-p", "coplay"]);
    run("the program", &mut cargo)?;
    let result = tally
        .step("heavy environments on hosts", |count| {
            check(&workspace, count)
        })
        .and_then(|()| {
            tally.step("heavy environments in a browser", |count| {
                check_pages(&workspace, &chromium, count)
            })
        });
    tally.print_summary();
    result
}

/// The folder of the Python with the packages.
const FOLDER: &str = ".tools/hosts";

/// The Python with the packages, if they were installed.
pub(crate) fn find_python(workspace: &Workspace) -> Option<PathBuf> {
    let python = workspace.root.join(FOLDER).join("bin/python");
    python.is_file().then_some(python)
}

/// Plays each in a browser, once [`check`] has installed the packages.
pub(crate) fn check_pages(workspace: &Workspace, chromium: &Path, count: &mut Count) -> Result<()> {
    let mut node = workspace.node(chromium);
    node.env("COPLAY_BIN", workspace.checked("coplay"))
        .env(
            "COPLAY_PYTHON",
            workspace.root.join(FOLDER).join("bin/python"),
        )
        .args(["--test", "--test-reporter=spec", "heavy_hosts.mjs"])
        .current_dir(workspace.root.join("tests/e2e"));
    run_counted(&mut node, count)
}

/// Installs the packages and runs the tests.
pub(crate) fn check(workspace: &Workspace, count: &mut Count) -> Result<()> {
    let folder = workspace.root.join(FOLDER);
    let venv = Venv::with(workspace, folder, REQUIREMENTS)?;
    let modules = workspace.target.join("hosts");
    copy_host(
        &workspace.root.join("python/coplay/host"),
        &modules.join("coplay_host"),
    )?;
    let mut pytest = venv.command(workspace, "python");
    pytest.args(["-m", "pytest", "--config-file=python/pyproject.toml"]);
    pytest.args(["--rootdir=python", "--color=no", "python/heavy"]);
    pytest
        .env("PYTHONPATH", &modules)
        .env("COPLAY_HOST_MODULE", "coplay_host");
    run_counted(&mut pytest, count)
}

/// Copies the files of the host, so that it runs without the native half of the package.
fn copy_host(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("making {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let path = entry?.path();
        if let Some(name) = path
            .file_name()
            .filter(|_| path.extension().is_some_and(|end| end == "py"))
        {
            fs::copy(&path, to.join(name))
                .with_context(|| format!("copying {}", path.display()))?;
        }
    }
    Ok(())
}
