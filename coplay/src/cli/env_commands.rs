//! The commands of environments, of agents that play them, and of the Python that pages run.

use std::path::PathBuf;

use clap::Subcommand;

use super::agent_args::{AgentCheckArgs, AgentPlayArgs};
use super::args::PythonArgs;

/// The commands about the Python of pages.
#[derive(Debug, Subcommand)]
pub enum PyodideCommand {
    /// Fetch Pyodide and NumPy, or take them from a folder; check them, and store them.
    #[command(after_help = "\
Studies with an environment in Python that pages step (`run: page`) need it; no other study does.
Every file is compared with the SHA-256 of the published release, so that files of different versions are refused.
The server gives the files to participants' browsers, and a study records their hashes.

Examples:
  coplay pyodide install
      Fetch them, and store them for this user, in ~/.coplay (or in COPLAY_HOME).
  coplay pyodide install --from pyodide-0.27.7
      Take them from an unpacked release, without a network.
  coplay pyodide install --from pyodide-0.27.7 --data /srv/my-study
      Store them in the data folder of a study.")]
    Install {
        /// Folder with the files of a release.
        #[arg(long, value_name = "DIR")]
        from: Option<PathBuf>,
        /// Data folder to store them in, instead of the user's own folder.
        #[arg(long)]
        data: Option<PathBuf>,
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
    /// Show the installed release. Exits with 1 if there is none.
    Show {
        /// Data folder to search first.
        #[arg(long)]
        data: Option<PathBuf>,
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
}

/// The commands about environments.
#[derive(Debug, Subcommand)]
pub enum EnvCommand {
    /// List the built-in environments.
    List {
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
    /// Show the parameters, actions, observations and events of an environment.
    #[command(after_help = "\
Examples:
  coplay env show overcooked
  coplay env show overcooked@2.0.0
      Name and version, as in a study file.
  coplay env show my_env.wasm --params '{\"horizon\": 50}' --json")]
    Show {
        /// Id of a built-in environment, such as overcooked, or a file: a module, or a grid world such as my_world.yaml.
        environment: String,
        /// Parameters as a JSON object, instead of the defaults.
        #[arg(
            long,
            value_name = "JSON",
            default_value = "",
            hide_default_value = true
        )]
        params: String,
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
    /// Check that an environment follows the rules that studies and training rely on.
    #[command(after_help = "\
Plays random episodes twice, and compares each step: equal seeds give equal episodes, saved states can be restored, the
digest is the hash of the state, observations are complete, no episode affects the next, and so on. Reports each broken
rule with the first seed and step that broke it.
A module runs within limits: endless loops, unbounded memory and wrong answers are stopped and reported.
Exits with 1 if a rule is broken.

For Python: reports seats, actions, observations, picture, time of a step, and whether equal seeds and actions give equal
steps; then whether the environment works on a host beside the server, and in the page. Exits with 1 if neither works.

Examples:
  coplay env check my_env.wasm
  coplay env check my_game.py
  coplay env check my_game.py:make --requirements requirements.txt --json
  coplay env check gymnasium:ALE/Pong-v5 --requirements requirements.txt --params '{\"tick_hz\": 60}'
  coplay env check my_env.wasm --params '{\"horizon\": 50}' --episodes 100 --seed 7
  coplay env check examples/grid-worlds/treasure_hunt.yaml
  coplay env check overcooked --json")]
    Check {
        /// Id of a built-in environment, such as overcooked, or a file: a module, a grid world such as my_world.yaml, or
        /// Python such as my_game.py or my_game.py:make; or gymnasium:ID or pettingzoo:NAME.
        environment: String,
        /// Parameters as a JSON object, instead of the defaults; for Python, the other keys of `env` in the study file.
        #[arg(
            long,
            value_name = "JSON",
            default_value = "",
            hide_default_value = true
        )]
        params: String,
        /// Number of episodes.
        #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
        episodes: u32,
        /// Seed of the first episode; each further episode uses the next number.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// The options for an environment in Python.
        #[command(flatten)]
        python: PythonArgs,
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
}

/// The commands about models.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Show inputs, outputs, operators and size of a model.
    #[command(after_help = "\
Examples:
  coplay agent show agent.onnx
  coplay agent show agent.onnx --env overcooked --params '{\"layout\": \"cramped_room\"}'
      Also compile it for an environment: memory, multiplications, bytes that a page downloads.
  coplay agent show agent.onnx --env overcooked --rules jaxmarl-0.2.0")]
    Show {
        /// The model.
        agent: PathBuf,
        /// Environment to compile it for, as `coplay env show` takes it.
        #[arg(long)]
        env: Option<String>,
        /// Parameters of the environment as a JSON object.
        #[arg(
            long,
            value_name = "JSON",
            default_value = "",
            hide_default_value = true
        )]
        params: String,
        /// Rules of the original, as a parameter `rules`.
        #[arg(long, requires = "env")]
        rules: Option<String>,
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
    /// Print a Python script that records a trace of an agent.
    #[command(after_help = "\
The script runs as it is where its package is installed, with random actions. One place in it is marked: put your policy
there. It writes trace.npz, for coplay agent check.

Examples:
  coplay agent record
      List the packages.
  coplay agent record jaxmarl > record.py")]
    Record {
        /// The package whose environment the agent was trained in.
        package: Option<String>,
    },
    /// Compare a model with a trace from its own Python: observations and actions, step by step.
    #[command(after_help = "\
Plays the recorded actions again in the environment, and compares the observations with the recorded ones. Then compares
the model's choices with the recorded choices. Reports the first difference of each, with step, seat and field. Exits with
1 if something differs.
With --env overcooked, --rules finds the environment of the original: overcooked-ai-1.1.0, overcooked-ai-old, jaxmarl-0.2.0,
cec, neurips2019, zsc-eval, jaxmarl-v2. A trace that says its rules needs no --rules.
If agent.onnx.certificate.json lies beside the model in the study folder, it is stored with the data.

Examples:
  coplay agent check agent.onnx --env overcooked --against trace.npz
  coplay agent check agent.onnx --env overcooked --rules jaxmarl-0.2.0 --against trace.npz
  coplay agent check agent.onnx --env overcooked --against trace.npz --actions-only
      Do not play the episode again: compare only the model's actions for the recorded observations.
  coplay agent check agent.onnx --env overcooked --against trace.npz --out agent.onnx.certificate.json")]
    Check(AgentCheckArgs),
    /// Let agents take part in a study, in the place of people.
    #[command(after_help = "\
An agent is a policy of this program (cook, idle, random) or the file of an ONNX model. It takes the very stages of the
study: a bot reads, agrees, answers quizzes and forms and waits for partners, and the policy plays the episodes. Its rows
are in the same tables as people's. The table agents.csv says which session was which agent.
Several agents share the sessions, one after the other, and meet in the study's waiting rooms.
Everything runs in one process on a virtual clock, without faults. The same seed gives the same steps. Every session is then
compared with the data, and every episode is verified. Ctrl-C stops and leaves nothing behind.

An agent may have keys, as an AI partner has in the study file: --policy agent.onnx,temperature=0.5,every_ticks=2. The keys
are name, temperature, every_ticks, observation, action_mask, delay_ticks and noise.

Examples:
  coplay agent play my-study --policy agent.onnx --data agents
  coplay agent play my-study --policy agent.onnx,temperature=1,name=warm --policy cook --sessions 40 --data agents
  coplay export --data agents --out tables
  coplay agent play my-study --policy cook --seed 7 --data agents --json | jq .agents")]
    Play(AgentPlayArgs),
}
