//! `exports`: small policies, exported by today's training libraries, compared with onnxruntime.

use std::path::Path;

use anyhow::Result;

use crate::options::{Options, Takes};
use crate::python::{self, Venv};
use crate::tally::{Count, Tally, run_counted};
use crate::workspace::{CHECKED, Workspace, run};

const HELP: &str = "\
cargo xtask exports

Installs PyTorch, Stable-Baselines3, Flax with jax2onnx, and TensorFlow with tf2onnx into environments
of their own under target/, exports small policies with each (onnx/tests/exports.py), and compares what they compute
here with onnxruntime. The default test does the same with the exports in onnx/tests/exports.
The first time it fetches some gigabytes.";

/// Environments: their packages, and the families of models that they export.
const ENVIRONMENTS: [(&str, &str, &[&str]); 2] = [
    (
        "exports-torch",
        "onnx/tests/exports-torch.txt",
        &["torch", "sb3", "flax"],
    ),
    (
        "exports-tensorflow",
        "onnx/tests/exports-tensorflow.txt",
        &["tensorflow"],
    ),
];

/// `cargo xtask exports`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        ..Takes::default()
    };
    let Some(_) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let workspace = Workspace::find()?;
    let mut tally = Tally::default();
    let result = tally.step("exports beside onnxruntime", |count| {
        check(&workspace, count)
    });
    tally.print_summary();
    result
}

/// The environment with PyTorch and onnxruntime.
pub(crate) fn set_up_torch(workspace: &Workspace) -> Result<Venv> {
    let (name, requirements, _) = ENVIRONMENTS[0];
    environment(workspace, name, requirements)
}

fn environment(workspace: &Workspace, name: &str, requirements: &str) -> Result<Venv> {
    let place = workspace.target.join(name);
    python::environment_at(workspace, &place, Path::new(requirements))
}

/// Exports everything, and compares it.
pub(crate) fn check(workspace: &Workspace, count: &mut Count) -> Result<()> {
    let folder = workspace.target.join("exports");
    for (name, requirements, families) in ENVIRONMENTS {
        let venv = environment(workspace, name, requirements)?;
        let mut script = venv.command(workspace, "python");
        script.arg("onnx/tests/exports.py").args(families);
        run("exporting", script.env("EXPORTS", &folder))?;
    }
    let words = [
        "test",
        "--profile",
        CHECKED,
        "-p",
        "onnx",
        "--test",
        "golden",
    ];
    run_counted(workspace.cargo(&words).env("EXPORTS", &folder), count)
}
