//! `bench agents`: a decision of networks of the sizes that people train, here and in onnxruntime, natively and in
//! browsers.

use std::path::PathBuf;

use anyhow::Result;

use super::gather;
use crate::figures::Figure;
use crate::workspace::{Workspace, run};
use crate::{build, exports, setup};

/// The version of onnxruntime-web to compare with.
const ORT: &str = "onnxruntime-web@1.22.0";

/// Measures natively, then in the browsers that are there.
pub(super) fn measure(workspace: &Workspace) -> Result<Vec<Figure>> {
    let folder = workspace.target.join("bench-agents");
    let mut figures = Vec::new();
    let mut python = exports::torch(workspace)?.command(workspace, "python");
    python.arg("onnx/benches/agents.py").arg(&folder);
    gather("agents, onnxruntime", &mut python, &mut figures)?;
    let mut cargo = workspace.cargo(&["bench", "-p", "onnx", "--bench", "decision"]);
    gather("agents, native", cargo.env("AGENTS", &folder), &mut figures)?;
    let chromium = setup::browser(workspace)?;
    let ours = build::bindings(workspace, "policy", "decision")?;
    let ort = install_ort(workspace)?;
    let mut node = workspace.node(&chromium);
    node.arg("tests/e2e/bench_agents.mjs");
    for (name, folder) in [("--models", &folder), ("--ours", &ours), ("--ort", &ort)] {
        node.arg(name).arg(folder);
    }
    gather("agents, in browsers", &mut node, &mut figures)?;
    Ok(figures)
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
