//! `python`: the Python package, as people install it, with its tests and its types.

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};

use crate::build;
use crate::options::{Options, Takes};
use crate::setup;
use crate::tally::{Count, Tally, run_counted};
use crate::workspace::{CHECKED, Workspace, output, run};

const HELP: &str = "\
cargo xtask python [--profile NAME]

Builds the wheel of the Python package, installs it into .venv with what
its tests need, and runs them: the official tests of Gymnasium and PettingZoo, short
runs of Stable-Baselines3 and TorchRL, the loader of Minari, every snippet of
docs/python.md, docs/analysis.md and docs/joining-tables.md, the example
python/examples/clone_cook.py with little training, the types.
The first time it fetches some gigabytes of PyTorch.

--profile NAME   the profile of cargo to build it with (default release)

COPLAY_PYTHON   the Python to make .venv with, instead of the python3 in PATH";

/// The packages that the tests need beside ours.
const REQUIREMENTS: &str = "python/requirements-test.txt";

/// `cargo xtask python`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        values: &["profile"],
        ..Takes::default()
    };
    let Some(options) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let profile = options.value("profile").unwrap_or("release");
    let workspace = Workspace::find()?;
    let mut tally = Tally::default();
    let result = tally.step("Python package", |count| check(&workspace, profile, count));
    tally.print_summary();
    result
}

/// Builds the package in a profile, installs and tests it.
fn check(workspace: &Workspace, profile: &str, count: &mut Count) -> Result<()> {
    let venv = set_up_environment(workspace)?;
    install(workspace, &venv, profile)?;
    let modules = build::build_modules(workspace)?;
    build::build_examples(workspace, &["matrix_game", "public_goods"])?;
    let program = program(workspace, profile)?;
    let mut pytest = venv.command(workspace, "python");
    pytest.env("COPLAY_PROGRAM", program);
    pytest.args(["-m", "pytest", "--config-file=python/pyproject.toml"]);
    pytest.args(["--rootdir=python", "--color=no", "python/tests"]);
    if let Some(folder) = modules.first().and_then(|module| module.parent()) {
        pytest.env("COPLAY_MODULES", folder);
    }
    run_counted(&mut pytest, count)?;
    example(workspace, &venv)?;
    let mut stubtest = venv.command(workspace, "stubtest");
    run(
        "comparing the stubs with the native module",
        stubtest.arg("coplay._coplay"),
    )?;
    let mut mypy = venv.command(workspace, "mypy");
    run(
        "checking the types",
        mypy.current_dir(workspace.root.join("python")),
    )?;
    count.passed += 3;
    Ok(())
}

/// The program `coplay`, which exports the data that the tests read; the tests of everything have compiled it.
fn program(workspace: &Workspace, profile: &str) -> Result<PathBuf> {
    let folder = workspace.target.join(profile);
    let program = folder.join(format!("coplay{EXE_SUFFIX}"));
    if profile != CHECKED || !program.exists() {
        let build = [
            "build",
            "--profile",
            profile,
            "-p",
            "coplay",
            "--bin",
            "coplay",
        ];
        run("building coplay", &mut workspace.cargo(&build))?;
    }
    Ok(program)
}

/// Runs the example that trains a model, with so little training that it takes seconds, and looks for the model.
fn example(workspace: &Workspace, venv: &Venv) -> Result<()> {
    let model = workspace.target.join("clone_cook.onnx");
    if model.exists() {
        fs::remove_file(&model).with_context(|| format!("removing {}", model.display()))?;
    }
    let mut python = venv.command(workspace, "python");
    python.arg("python/examples/clone_cook.py").arg(&model);
    python.args(["--rounds", "2", "--episodes", "1", "--steps", "100"]);
    let told = output(python.args(["--scored", "1"])).context("running clone_cook.py")?;
    for kitchen in ["cramped_room", "counter_circuit"] {
        if !told.contains(kitchen) {
            bail!("clone_cook.py tells no scores of {kitchen}:\n{told}");
        }
    }
    let written = fs::metadata(&model).context("clone_cook.py wrote no model")?;
    if written.len() < 10_000 {
        bail!(
            "clone_cook.py wrote {} bytes, which are no model",
            written.len()
        );
    }
    Ok(())
}

/// A virtual environment.
pub(crate) struct Venv(PathBuf);

impl Venv {
    /// Makes one in a folder with these requirements, unless that was done.
    pub(crate) fn with(workspace: &Workspace, folder: PathBuf, requirements: &str) -> Result<Self> {
        let venv = Self(folder);
        let wanted = fs::read_to_string(workspace.root.join(requirements))
            .with_context(|| format!("reading {requirements}"))?;
        let name = Path::new(requirements)
            .file_name()
            .context("requirements are a file")?;
        let stamp = venv.0.join(name);
        if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
            return Ok(venv);
        }
        create(workspace, &venv.0)?;
        let mut pip = venv.command(workspace, "python");
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        // What is imported is compiled then; the rest of the packages never is.
        pip.args(["--no-compile", "--requirement", requirements]);
        run("installing the packages", &mut pip)?;
        fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))?;
        Ok(venv)
    }

    /// One that is there already.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// A program of it, run in the root.
    pub(crate) fn command(&self, workspace: &Workspace, program: &str) -> std::process::Command {
        let folder = if cfg!(windows) { "Scripts" } else { "bin" };
        workspace.command(self.0.join(folder).join(format!("{program}{EXE_SUFFIX}")))
    }
}

/// Makes `.venv` with the packages for the tests, unless that was done.
pub(crate) fn set_up_environment(workspace: &Workspace) -> Result<Venv> {
    environment_at(
        workspace,
        &workspace.root.join(".venv"),
        Path::new(REQUIREMENTS),
    )
}

/// Makes an environment with some packages, unless that was done.
pub(crate) fn environment_at(
    workspace: &Workspace,
    folder: &Path,
    requirements: &Path,
) -> Result<Venv> {
    let requirements = requirements.to_string_lossy();
    Venv::with(workspace, folder.to_owned(), &requirements)
}

/// Makes an empty environment, with a Python that is new enough.
pub(crate) fn create(workspace: &Workspace, folder: &Path) -> Result<()> {
    let python = env::var_os("COPLAY_PYTHON").unwrap_or_else(|| "python3".into());
    let ask = "import sys; print(sys.version_info >= (3, 11))";
    let answer = output(workspace.command(&python).args(["-c", ask]));
    if !answer.is_ok_and(|answer| answer.trim() == "True") {
        bail!(
            "the Python tests want Python 3.11 or newer, and `{}` is none: install it (Debian: `python3-venv`), \
             or name one: `COPLAY_PYTHON=/path/to/python3 cargo xtask ...`",
            python.display()
        );
    }
    let parts = output(
        workspace
            .command(&python)
            .args(["-c", "import ensurepip, venv"]),
    );
    if parts.is_err() {
        // Debian keeps them in a separate package.
        setup::install_by_apt(workspace, "python3-venv")?;
    }
    let mut make = workspace.command(&python);
    run(
        "making a virtual environment",
        make.args(["-m", "venv", "--clear"]).arg(folder),
    )
}

/// Makes `.venv` with the package as people install it.
pub(crate) fn set_up_installed(workspace: &Workspace) -> Result<Venv> {
    let venv = set_up_environment(workspace)?;
    install(workspace, &venv, "release")?;
    Ok(venv)
}

/// Builds the wheel and puts it into the environment.
fn install(workspace: &Workspace, venv: &Venv, profile: &str) -> Result<()> {
    let wheels = workspace.target.join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).with_context(|| format!("emptying {}", wheels.display()))?;
    }
    let mut maturin = venv.command(workspace, "maturin");
    maturin.args(["build", "--profile", profile, "--quiet"]);
    maturin.args(["--manifest-path", "python/Cargo.toml", "--out"]);
    run("building the wheel", maturin.arg(&wheels))?;
    let wheel = fs::read_dir(&wheels)?
        .next()
        .context("maturin left no wheel")??
        .path();
    let mut pip = venv.command(workspace, "python");
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    pip.args(["--force-reinstall", "--no-deps"]);
    run("installing the wheel", pip.arg(wheel))
}
