//! The peers of the environments: installed from their packages, measured in the same run.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::figures::Figure;
use crate::record;
use crate::workspace::{Workspace, output, say};

/// A program to compare with.
struct Peer {
    /// Its usual name.
    name: &'static str,
    /// Its folder below `target/peers`; those with the same packages share one.
    folder: &'static str,
    /// Its packages, with their versions.
    packages: &'static [&'static str],
    /// The script of `tests/peers` that measures it.
    script: &'static str,
}

const JAX: &str = "jax==0.10.2";

const PEERS: [Peer; 4] = [
    Peer {
        name: "CoGrid NumPy",
        folder: "cogrid",
        packages: &["cogrid==0.3.2", JAX, "jaxlib==0.10.2"],
        script: "cogrid_numpy.py",
    },
    Peer {
        name: "CoGrid JAX",
        folder: "cogrid",
        packages: &["cogrid==0.3.2", JAX, "jaxlib==0.10.2"],
        script: "cogrid_jax.py",
    },
    Peer {
        name: "overcooked-ai",
        folder: "overcooked-ai",
        packages: &["overcooked_ai==1.1.0", "numpy==1.26.4", "scipy==1.13.1"],
        script: "overcooked_ai_steps.py",
    },
    Peer {
        name: "JaxMARL",
        folder: "jaxmarl",
        packages: &["jaxmarl==0.2.0"],
        script: "jaxmarl_overcooked.py",
    },
];

/// The originals of dialects that have a package: the name as in `cargo xtask record`, the script of `tests/peers`,
/// and the argument that it takes.
const ORIGINALS: [(&str, &str, &str); 4] = [
    (
        "overcooked-ai-1.1.0",
        "overcooked_ai_observed.py",
        "overcooked-ai-1.1.0",
    ),
    (
        "overcooked-ai-old",
        "overcooked_ai_observed.py",
        "overcooked-ai-old",
    ),
    ("jaxmarl-0.2.0", "jaxmarl_overcooked.py", "overcooked"),
    ("jaxmarl-v2", "jaxmarl_overcooked.py", "overcooked_v2"),
];

/// The peers' figures, and the names of those that could not be run here.
pub(super) fn measure(workspace: &Workspace) -> (Vec<Figure>, Vec<&'static str>) {
    all(PEERS.iter().map(|peer| {
        let venv = workspace.target.join("peers").join(peer.folder);
        let install = || record::install(workspace, &venv, peer.packages);
        (
            peer.name,
            one(workspace, peer.name, install, peer.script, &[]),
        )
    }))
}

/// The figures of the originals of dialects, and the names of those that could not be run here.
pub(super) fn measure_originals(workspace: &Workspace) -> (Vec<Figure>, Vec<&'static str>) {
    all(ORIGINALS.iter().map(|&(name, script, argument)| {
        let install = || record::fetch_original(workspace, name);
        (name, one(workspace, name, install, script, &[argument]))
    }))
}

fn all(
    measured: impl Iterator<Item = (&'static str, Result<Vec<Figure>>)>,
) -> (Vec<Figure>, Vec<&'static str>) {
    let (mut figures, mut missing) = (Vec::new(), Vec::new());
    for (name, measured) in measured {
        match measured {
            Ok(mut measured) => figures.append(&mut measured),
            Err(error) => {
                say(format_args!("{name} is left out: {error:#}"));
                missing.push(name);
            }
        }
    }
    (figures, missing)
}

fn one(
    workspace: &Workspace,
    name: &str,
    install: impl FnOnce() -> Result<PathBuf>,
    script: &str,
    arguments: &[&str],
) -> Result<Vec<Figure>> {
    let python = install()?;
    say(format_args!("measuring: {name}"));
    let mut command = workspace.command(python);
    command.arg(Path::new("tests/peers").join(script));
    command.args(arguments).env("PYTHONDONTWRITEBYTECODE", "1");
    let figures: Vec<_> = output(&mut command)?
        .lines()
        .filter_map(|line| Figure::read("peers", line))
        .collect();
    anyhow::ensure!(!figures.is_empty(), "it printed no figure");
    Ok(figures)
}
