//! Arguments of `coplay agent`.

use std::path::PathBuf;

use clap::Args;
use rehearsal::AgentPolicy;

use super::args::{data_folder, study_folder};

/// Arguments of `coplay agent check`.
#[derive(Debug, Args)]
pub struct AgentCheckArgs {
    /// The model.
    pub agent: PathBuf,
    /// Environment, as `coplay env show` takes it.
    #[arg(long)]
    pub env: String,
    /// Parameters of the environment as a JSON object; they replace those in the trace.
    #[arg(
        long,
        value_name = "JSON",
        default_value = "",
        hide_default_value = true
    )]
    pub params: String,
    /// Rules of the original implementation, if the trace does not say them.
    #[arg(long)]
    pub rules: Option<String>,
    /// The trace; `coplay agent record` shows how to make one.
    #[arg(long, value_name = "FILE")]
    pub against: PathBuf,
    /// Do not play the episode again: compare only the model's actions for the recorded observations.
    #[arg(long)]
    pub actions_only: bool,
    /// Let the model choose only among the actions that the action mask allows.
    #[arg(long)]
    pub action_mask: bool,
    /// Write the certificate to this file.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `coplay agent play`.
#[derive(Debug, Args)]
pub struct AgentPlayArgs {
    /// Folder that holds study.yaml.
    #[arg(value_parser = study_folder)]
    pub study: PathBuf,
    /// An agent: a policy of this program or the file of an ONNX model, with keys after commas. May be given several times.
    #[arg(long, value_name = "AGENT", required = true)]
    pub policy: Vec<AgentPolicy>,
    /// Number of sessions.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub sessions: u32,
    /// Seed of all random numbers.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// New data folder.
    #[arg(long, value_name = "DIR", value_parser = data_folder())]
    pub data: PathBuf,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}
