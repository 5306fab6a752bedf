//! `record`: trajectories of the Overcooked dialects, by their originals.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};

use crate::options::{Options, Takes};
use crate::workspace::{Workspace, become_program, run};

const HELP: &str = "\
cargo xtask record DIALECT --out DIR [--seed N] [--episodes N] [--layouts A,B]
                              [--random N]

Records a dialect of Overcooked, or Hanabi, by its original, for `cargo xtask parity DIR`: every
kitchen that comes with it, filled up to twenty with random ones of the seed, played by
scripted cooks that deliver. Prints the deliveries of each kitchen. The first time it
installs the original into .tools/dialects.

DIALECT        overcooked-ai-1.1.0, overcooked-ai-old, jaxmarl-0.2.0, jaxmarl-v2 by their packages;
               hanabi, by JaxMARL's package, for each number of players;
               neurips2019, zsc-eval, cec by the executable specification in
               tests/parity/spec, because they have no package
--out DIR      the folder of the recordings
--seed N       the seed of play and of random kitchens (default 0)
--episodes N   episodes a kitchen (default 10)
--layouts A,B  these kitchens alone
--random N     random kitchens, instead of as many as make twenty (not for jaxmarl-v2 and hanabi)
--steps N      steps an episode (default 400; not for jaxmarl-v2 and hanabi)

COPLAY_PYTHON  the Python to install the original for, instead of the python3 in PATH";

/// The folder of the recorders.
const RECORDERS: &str = "tests/parity/record";

/// An environment that can be recorded, and its recorder.
struct Source {
    name: &'static str,
    /// The recorder; the first takes the name, too, and the number of steps.
    program: &'static str,
    /// The folder of its packages.
    folder: &'static str,
    packages: &'static [&'static str],
}

/// The recorder of every dialect of the first Overcooked.
const KITCHENS: &str = "main.py";

const JAXMARL: &[&str] = &["jaxmarl==0.2.0", "jax[cpu]>=0.10,<0.11"];

const SOURCES: [Source; 8] = [
    kitchens(
        "overcooked-ai-1.1.0",
        "overcooked-ai",
        &["overcooked-ai==1.1.0", "numpy==1.26.4", "scipy==1.11.4"],
    ),
    kitchens(
        "overcooked-ai-old",
        "overcooked",
        &["overcooked==0.2.1", "numpy>=2"],
    ),
    kitchens("jaxmarl-0.2.0", "jaxmarl", JAXMARL),
    kitchens("neurips2019", "specification", &["numpy>=2"]),
    kitchens("zsc-eval", "specification", &["numpy>=2"]),
    kitchens("cec", "specification", &["numpy>=2"]),
    Source {
        name: "jaxmarl-v2",
        program: "overcooked_jaxmarl_v2.py",
        folder: "jaxmarl",
        packages: JAXMARL,
    },
    Source {
        name: "hanabi",
        program: "hanabi.py",
        folder: "jaxmarl",
        packages: JAXMARL,
    },
];

const fn kitchens(
    name: &'static str,
    folder: &'static str,
    packages: &'static [&'static str],
) -> Source {
    Source {
        name,
        program: KITCHENS,
        folder,
        packages,
    }
}

/// `cargo xtask record`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        values: &["out", "seed", "episodes", "layouts", "random", "steps"],
        argument: true,
        ..Takes::default()
    };
    let Some(options) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let names = SOURCES.map(|source| source.name).join(", ");
    let dialect = options
        .argument
        .as_deref()
        .with_context(|| format!("name a dialect: {names}"))?;
    let Some(source) = SOURCES.iter().find(|source| source.name == dialect) else {
        bail!("there is no dialect {dialect}; there are {names}");
    };
    let out = options
        .value("out")
        .context("--out names the folder of the recordings")?;
    let workspace = Workspace::find()?;
    let of_kitchens = source.program == KITCHENS;
    for name in ["steps", "random"] {
        if !of_kitchens && options.value(name).is_some() {
            bail!("the recorder of {dialect} decides this itself; leave out --{name}");
        }
    }
    let python = install_source(&workspace, source)?;
    let mut record = workspace.command(python);
    record.arg(workspace.root.join(RECORDERS).join(source.program));
    record.args(of_kitchens.then_some(dialect));
    // A folder that was named is meant from where the caller stands.
    record.current_dir(env::current_dir()?).args(["--out", out]);
    for name in ["seed", "episodes", "layouts", "random", "steps"] {
        if let Some(value) = options.value(name) {
            record.arg(format!("--{name}")).arg(value);
        }
    }
    become_program(record)
}

/// Gives the Python that has the original of a dialect, by its name.
pub(crate) fn fetch_original(workspace: &Workspace, dialect: &str) -> Result<PathBuf> {
    let source = SOURCES.iter().find(|source| source.name == dialect);
    install_source(workspace, source.context("there is no such dialect")?)
}

fn install_source(workspace: &Workspace, source: &Source) -> Result<PathBuf> {
    let venv = workspace.root.join(".tools/dialects").join(source.folder);
    install(workspace, &venv, source.packages)
}

/// Gives the Python of a virtual environment that has the packages, and installs them unless that was done.
pub(crate) fn install(workspace: &Workspace, venv: &Path, packages: &[&str]) -> Result<PathBuf> {
    let python = venv.join("bin/python");
    let (stamp, wanted) = (venv.join("packages.txt"), packages.join("\n"));
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(python);
    }
    let creator = env::var_os("COPLAY_PYTHON").unwrap_or_else(|| "python3".into());
    let mut make = workspace.command(creator);
    make.args(["-m", "venv", "--clear"]).arg(venv);
    run("making a virtual environment", &mut make)?;
    let mut pip = workspace.command(&python);
    pip.args(["-m", "pip", "install", "--quiet"]);
    pip.arg("--disable-pip-version-check").args(packages);
    run(&format!("installing {}", packages.join(", ")), &mut pip)?;
    fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))?;
    Ok(python)
}
