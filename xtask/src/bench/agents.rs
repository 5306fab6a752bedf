//! `bench agents`: a decision of networks of the sizes that people train, here and in onnxruntime.

use anyhow::Result;

use super::gather;
use crate::exports;
use crate::figures::{machine, object, table};
use crate::options::Options;
use crate::workspace::{Workspace, output};

/// Measures and shows.
pub(super) fn command(workspace: &Workspace, options: &Options) -> Result<()> {
    let folder = workspace.target.join("bench-agents");
    let mut figures = Vec::new();
    let mut python = exports::torch(workspace)?.command(workspace, "python");
    python.arg("onnx/benches/agents.py").arg(&folder);
    gather("agents, onnxruntime", &mut python, &mut figures)?;
    let mut cargo = workspace.cargo(&["bench", "-p", "onnx", "--bench", "decision"]);
    gather("agents, native", cargo.env("AGENTS", &folder), &mut figures)?;
    let date = output(workspace.command("date").args(["-u", "+%Y-%m-%d"]))?;
    let (machine, date) = (machine(), date.trim());
    match options.has("json") {
        true => println!("{}", object(&figures, &machine, date)),
        false => println!("{machine}, {date}\n{}", table(&figures)),
    }
    Ok(())
}
