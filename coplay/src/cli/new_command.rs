//! The command that writes templates.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// The templates.
#[derive(Debug, Subcommand)]
pub enum NewCommand {
    /// Create a study in which two people cook together.
    Overcooked {
        /// Folder to create; it must be empty or missing.
        dir: PathBuf,
    },
    /// Create a study in which one person plays several stages.
    Solo {
        /// Folder to create; it must be empty or missing.
        dir: PathBuf,
    },
    /// Create the smallest study: consent, a form, a last page.
    Survey {
        /// Folder to create; it must be empty or missing.
        dir: PathBuf,
    },
    /// Create a complete study that compares your agents: participants play with each, do not know which, and rate it.
    #[command(after_help = "\
The study has a tutorial, a practice round, rounds with each agent in a balanced order and on balanced sides, the
field's rating items after each, an attention check, a debriefing and payment. Lint and rehearse pass as it is.
The folder must be empty or missing; the models are copied into it.

Examples:
  coplay new human-ai --agents sp.onnx fcp.onnx e3t.onnx
      In the folder human-ai, in the first two kitchens that all three can play.
  coplay new human-ai my-study --agents sp.onnx fcp.onnx cook --layouts coordination_ring counter_circuit
      The built-in policy `cook` is the third partner.
  coplay new human-ai --agents fcp.onnx mep.onnx --rules jaxmarl-0.2.0
      For agents that were trained with JaxMARL: its rules, its kitchens and its observation. Agents with another
      observation of these kitchens get that one.
  coplay new human-ai --agents sp.onnx op.onnx --rules jaxmarl-v2 --params '{\"view_radius\": 2}'
      For agents that were trained with JaxMARL's Overcooked V2 and saw two cells in each direction.")]
    HumanAi {
        /// Folder to create.
        #[arg(default_value = "human-ai")]
        dir: PathBuf,
        /// Files of ONNX models, and names of built-in policies: cook, idle, random.
        #[arg(long, num_args = 1.., required = true, value_name = "AGENT")]
        agents: Vec<String>,
        /// Kitchens of Overcooked [default: the first two that all agents can play].
        #[arg(long, num_args = 1.., value_name = "LAYOUT")]
        layouts: Vec<String>,
        /// Rules of published agents: overcooked-ai-1.1.0, overcooked-ai-old, jaxmarl-0.2.0, cec, neurips2019, zsc-eval,
        /// jaxmarl-v2 [default: those of CoGrid].
        #[arg(long, value_name = "RULES")]
        rules: Option<String>,
        /// Further parameters of the environment, as a JSON object: those that the agents were trained with.
        #[arg(long, value_name = "JSON")]
        params: Option<String>,
    },
    /// Create a small, complete environment to start from.
    #[command(after_help = "\
You can build and check it at once; see its README. The folder must be empty or missing.
Rust needs the source code of Coplay; C and Python do not. Python comes with a study that two people play.

Examples:
  coplay new environment --python my_game
  coplay new environment my_env --coplay ../coplay
  coplay new environment games/tag --name tag --language c")]
    Environment {
        /// Folder to create.
        dir: PathBuf,
        /// Id of the environment: lower-case letters, digits and underscores [default: the folder's name].
        #[arg(long)]
        name: Option<String>,
        /// Programming language.
        #[arg(long, value_enum, default_value_t = Language::Rust)]
        language: Language,
        /// The same as `--language python`: one file, and a study that plays it.
        #[arg(long, conflicts_with = "language")]
        python: bool,
        /// Source code of Coplay, to build a Rust environment with [default: the one that contains this folder].
        #[arg(long, value_name = "PATH")]
        coplay: Option<PathBuf>,
    },
}

/// Languages with a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust, with env-core.
    Rust,
    /// C, with the module interface alone.
    C,
    /// Python, with the API of PettingZoo, and a study.
    Python,
}
