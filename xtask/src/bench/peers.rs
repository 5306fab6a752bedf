//! The peers of the environments: installed from their packages, measured in the same run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::figures::Figure;
use crate::workspace::{Workspace, output, run, say};

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

/// The peers' figures, and the names of those that could not be run here.
pub(super) fn measure(workspace: &Workspace) -> (Vec<Figure>, Vec<&'static str>) {
    let (mut figures, mut missing) = (Vec::new(), Vec::new());
    for peer in &PEERS {
        match one(workspace, peer) {
            Ok(mut measured) => figures.append(&mut measured),
            Err(error) => {
                say(format_args!("{} is left out: {error:#}", peer.name));
                missing.push(peer.name);
            }
        }
    }
    (figures, missing)
}

fn one(workspace: &Workspace, peer: &Peer) -> Result<Vec<Figure>> {
    let python = installed(workspace, peer)?;
    say(format_args!("measuring: {}", peer.name));
    let script = Path::new("tests/peers").join(peer.script);
    let mut command = workspace.command(python);
    let text = output(command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1"))?;
    let figures: Vec<_> = text
        .lines()
        .filter_map(|line| Figure::read("peers", line))
        .collect();
    anyhow::ensure!(!figures.is_empty(), "it printed no figure");
    Ok(figures)
}

/// The Python of a peer's own environment, made and filled if that was not done.
fn installed(workspace: &Workspace, peer: &Peer) -> Result<PathBuf> {
    let folder = workspace.target.join("peers").join(peer.folder);
    let python = folder.join("bin/python");
    let stamp = folder.join("packages.txt");
    let wanted = peer.packages.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(python);
    }
    let mut make = workspace.command("python3");
    run(
        &format!("making an environment for {}", peer.name),
        make.args(["-m", "venv", "--clear"]).arg(&folder),
    )?;
    let mut pip = workspace.command(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    run(
        &format!("installing {}", peer.name),
        pip.args(peer.packages),
    )?;
    fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))?;
    Ok(python)
}
