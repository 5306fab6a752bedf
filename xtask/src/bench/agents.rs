//! `bench agents`: a decision of networks of the sizes that people train, here and in onnxruntime, natively and in
//! browsers; the dialects beside their originals; a training.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::{gather, peers};
use crate::figures::Figure;
use crate::workspace::{Workspace, output, run, say};
use crate::{build, exports, python, setup};

/// The version of onnxruntime-web to compare with.
const ORT: &str = "onnxruntime-web@1.22.0";

/// Measures natively, then in the browsers that are there.
pub(super) fn measure(workspace: &Workspace) -> Result<Vec<Figure>> {
    let folder = workspace.target.join("bench-agents");
    let mut figures = Vec::new();
    let mut python = exports::set_up_torch(workspace)?.command(workspace, "python");
    python.arg("onnx/benches/agents.py").arg(&folder);
    gather("agents, onnxruntime", &mut python, &mut figures)?;
    let mut cargo = workspace.cargo(&["bench", "-p", "onnx", "--bench", "decision"]);
    gather("agents, native", cargo.env("AGENTS", &folder), &mut figures)?;
    let chromium = setup::find_chromium(workspace)?;
    let ours = build::make_bindings(workspace, "policy", "decision")?;
    let ort = install_ort(workspace)?;
    let mut node = workspace.node(&chromium);
    node.arg("tests/e2e/bench_agents.mjs");
    for (name, folder) in [("--models", &folder), ("--ours", &ours), ("--ort", &ort)] {
        node.arg(name).arg(folder);
    }
    gather("agents, in browsers", &mut node, &mut figures)?;
    dialects(workspace, &mut figures)?;
    figures.push(training(workspace)?);
    Ok(figures)
}

/// Steps of the rules that published agents speak, with observations, beside their originals.
fn dialects(workspace: &Workspace, figures: &mut Vec<Figure>) -> Result<()> {
    let mut cargo = workspace.cargo(&["bench", "-p", "batch", "--bench", "batch"]);
    gather("dialects", cargo.args(["--", "dialects"]), figures)?;
    let (mut originals, _) = peers::measure_originals(workspace);
    figures.append(&mut originals);
    Ok(())
}

/// Minutes until the example has learned to deliver 7.5 soups an episode.
fn training(workspace: &Workspace) -> Result<Figure> {
    let model = workspace.target.join("bench-agents/self_play.onnx");
    let venv = python::set_up_installed(workspace)?;
    let mut train = venv.command(workspace, "python");
    train.args(["examples/train-overcooked/train.py", "self-play"]);
    train.arg(model).args(["--minutes", "2", "--seed", "1"]);
    say(format_args!("measuring: training, two minutes"));
    let text = output(&mut train)?;
    let minutes = text.lines().find_map(|line| {
        let (_, took) = line.split_once("deliveries an episode: after ")?;
        took.split_once(" minutes")?.0.parse().ok()
    });
    let minutes =
        minutes.with_context(|| format!("the training did not come to 7.5 deliveries:\n{text}"))?;
    let name = "self-play in Cramped Room, until 7.5 deliveries an episode".to_owned();
    Ok(Figure::new("training", name, minutes, "min"))
}

/// Installs onnxruntime-web, 90 MB, unless it is there; gives the folder of its programs.
fn install_ort(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.root.join(".tools").join(ORT);
    let dist = folder.join("node_modules/onnxruntime-web/dist");
    if !dist.is_dir() {
        let mut npm = workspace.command("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
        run("fetching onnxruntime-web", npm.arg(&folder).arg(ORT))?;
    }
    Ok(dist)
}
