//! `record`: trajectories of the Overcooked dialects, by their originals.

use std::path::PathBuf;
use std::{env, fs};

use anyhow::{Context as _, Result, bail};

use crate::options::{Options, Takes};
use crate::workspace::{Workspace, become_program, run};

const HELP: &str = "\
cargo xtask record DIALECT --out DIR [--seed N] [--episodes N] [--layouts A,B]

Records an Overcooked dialect by its original, for `cargo xtask parity DIR`: every
kitchen that comes with it, filled up to twenty with random ones of the seed, played by
scripted cooks that deliver. Prints the deliveries of each kitchen. The first time it
installs the original into .tools/dialects.

DIALECT        overcooked-ai-1.1.0, overcooked-ai-old, jaxmarl-0.2.0 by their packages;
               neurips2019, zsc-eval, cec by the executable specification in
               tests/parity/spec, because they have no package
--out DIR      the folder of the recordings
--seed N       the seed of play and of random kitchens (default 0)
--episodes N   episodes a kitchen (default 10)
--layouts A,B  these kitchens alone
--steps N      steps an episode (default 400)

COPLAY_PYTHON  the Python to install the original for, instead of the python3 in PATH";

/// The recorder.
const PROGRAM: &str = "tests/parity/record/main.py";

/// A dialect, the folder of its packages, and the packages.
type Source = (&'static str, &'static str, &'static [&'static str]);

const SOURCES: [Source; 6] = [
    (
        "overcooked-ai-1.1.0",
        "overcooked-ai",
        &["overcooked-ai==1.1.0", "numpy==1.26.4", "scipy==1.11.4"],
    ),
    (
        "overcooked-ai-old",
        "overcooked",
        &["overcooked==0.2.1", "numpy>=2"],
    ),
    (
        "jaxmarl-0.2.0",
        "jaxmarl",
        &["jaxmarl==0.2.0", "jax[cpu]>=0.10,<0.11"],
    ),
    ("neurips2019", "specification", &["numpy>=2"]),
    ("zsc-eval", "specification", &["numpy>=2"]),
    ("cec", "specification", &["numpy>=2"]),
];

/// `cargo xtask record`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        values: &["out", "seed", "episodes", "layouts", "steps"],
        argument: true,
        ..Takes::default()
    };
    let Some(options) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let names = SOURCES.map(|(name, ..)| name).join(", ");
    let dialect = options
        .argument
        .as_deref()
        .with_context(|| format!("name a dialect: {names}"))?;
    let Some(&(_, folder, packages)) = SOURCES.iter().find(|(name, ..)| *name == dialect) else {
        bail!("there is no dialect {dialect}; there are {names}");
    };
    let out = options
        .value("out")
        .context("--out names the folder of the recordings")?;
    let workspace = Workspace::find()?;
    let python = install(&workspace, folder, packages)?;
    let mut record = workspace.command(python);
    record.arg(workspace.root.join(PROGRAM)).arg(dialect);
    // A folder that was named is meant from where the caller stands.
    record.current_dir(env::current_dir()?).args(["--out", out]);
    for name in ["seed", "episodes", "layouts", "steps"] {
        if let Some(value) = options.value(name) {
            record.arg(format!("--{name}")).arg(value);
        }
    }
    become_program(record)
}

/// Gives the Python that has the packages, and installs them unless that was done.
fn install(workspace: &Workspace, folder: &str, packages: &[&str]) -> Result<PathBuf> {
    let venv = workspace.root.join(".tools/dialects").join(folder);
    let python = venv.join("bin/python");
    let (stamp, wanted) = (venv.join("packages.txt"), packages.join("\n"));
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(python);
    }
    let creator = env::var_os("COPLAY_PYTHON").unwrap_or_else(|| "python3".into());
    let mut make = workspace.command(creator);
    make.args(["-m", "venv", "--clear"]).arg(&venv);
    run("making a virtual environment", &mut make)?;
    let mut pip = workspace.command(&python);
    pip.args(["-m", "pip", "install", "--quiet"]);
    pip.arg("--disable-pip-version-check").args(packages);
    run(&format!("installing {}", packages.join(", ")), &mut pip)?;
    fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))?;
    Ok(python)
}
