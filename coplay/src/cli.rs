//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

mod args;

use args::study_folder;
pub use args::{DevArgs, PayArgs, RehearseArgs, RetainArgs, ServeArgs, StudyArgs, TurnArgs};

/// Runs studies in which people play reinforcement-learning environments together, in their browsers.
#[derive(Debug, Parser)]
#[command(
    name = "coplay",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  coplay new overcooked my-study
      Begin a study from a template; `coplay new` lists them.
  coplay dev my-study
      Try it on this machine: open the two printed links in two windows, and change the study while it runs.
  coplay lint my-study
      Check it, and say what it is.
  coplay serve my-study --listen 0.0.0.0:8080 --data /srv/my-study --links 40 --url http://lab.example.edu:8080
      Run it for participants, who each get one of 40 links.
  coplay verify --data /srv/my-study
      Simulate every stored episode again and compare.
  coplay export --data /srv/my-study --out tables
      Write the data as CSV tables.
  coplay pay --data /srv/my-study --csv prolific --out bonuses.csv --mark-paid
      Write the file of bonuses that Prolific takes, and remember that they are paid.
  coplay new environment my_env && coplay env check my_env.wasm
      Write an environment, and check the module that it is built into.

The log goes to the standard error; RUST_LOG=debug says more, RUST_LOG=error less.
Exit codes: 0 done, 1 something failed or did not verify, 2 the command line or the study file is wrong."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check a study: everything that is wrong or odd, and what the study is.
    #[command(after_help = "\
Each fault is told with file, line, column, field, what is wrong and how to mend it, all in one run.
A study without faults is told in figures: stages, seats, treatments, orders, outcomes and what they pay, time.
Exits with 0 if the study can run, also with warnings, and with 2 if it has faults.

Examples:
  coplay lint my-study
  coplay lint my-study --json | jq '.faults[] | [.line, .message]'")]
    Lint {
        /// Folder that holds study.yaml.
        #[arg(value_parser = study_folder)]
        study: PathBuf,
        /// Print one JSON object for scripts: {"faults":[…],"warnings":[…],"outline":{…}}.
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of study files, for editors.
    #[command(after_help = "\
An editor that knows JSON Schema completes, explains and checks the keys of a study file that begins with
  # yaml-language-server: $schema=study.schema.json

Example:
  coplay schema > my-study/study.schema.json")]
    Schema,
    /// Try a study on this machine.
    #[command(after_help = "\
Opens on 127.0.0.1 only and prints participant links, and one to a page that says who is where; a page without a
link gets a new session too. Change the study while it runs: it is loaded anew and pages follow; faults are printed
and shown on the pages, and what ran before goes on until they are mended.
The data are for trying alone. They stay over restarts, and begin anew when stages, blocks or factors change.

Examples:
  coplay dev my-study
  coplay dev my-study --fresh
      Throw the data of earlier trials away first.
  coplay dev my-study --port 0 --data /tmp/trial
      On a free port, with the data somewhere else.
  coplay dev my-study --json | head -1
      One JSON line for scripts: {\"url\":…,\"links\":[…],\"admin\":…,\"data\":…,\"turn_port\":…}")]
    Dev(DevArgs),
    /// Run a study for participants.
    #[command(after_help = "\
Put a web server with TLS in front of it, so that nobody on the way reads answers or links.
Name the address that participants use with --url: the printed links begin with it.
Open port 3478, UDP and TCP, in the firewall: pages find their partners through it, and where a network lets
nothing else pass, their inputs travel through it. It needs no other port and reaches no other machine.
Without it, pages that cannot reach each other play through the web server's port, with more delay.

Examples:
  coplay serve my-study --listen 127.0.0.1:8080 --data /srv/my-study --links 40 --url https://study.example.edu
  coplay serve my-study --listen 0.0.0.0:8080 --data /srv/my-study --open --url https://study.example.edu
  coplay serve my-study --listen 127.0.0.1:8080 --url https://study.example.edu --turn-host 203.0.113.7 --turn-port 443
      Where study.example.edu is another machine than this one, and pages may reach little but port 443.")]
    Serve(ServeArgs),
    /// Have bots take part in a study, with faults, before people do.
    #[command(after_help = "\
Starts the real server on this machine and sends bots through the real protocol: they read, agree, answer quizzes and
surveys, wait, play, and reach the last page, while scripts of --faults go wrong for half of them. Time goes faster than
life, as fast as the machine keeps up with. Then every session is held against the data: it has a declared outcome, every
answer that was acknowledged is in the tables, every episode verifies, nobody was assigned anew.
The report tells outcomes, treatments, how long the study takes and how long people wait at the arrival rate.
Exits with 1, and the trace of the session, if one is stuck or the data have something else.
Bots play through the server, not by WebRTC. With --browsers the first sessions are real pages in a headless Chromium,
which click, type and press keys, and reach each other by WebRTC; time then goes as in life while they are there.
Ctrl-C stops it and leaves nothing behind, no browser either.

Faults: none, all, or some of refuse, fail-quiz, drop-lobby, drop-play, return, reload, close-survey, second-tab,
slow-network, withdraw, idle, malformed (a share of the sessions each), and server (it is killed and started again).

Examples:
  coplay rehearse my-study
      200 sessions with every fault.
  coplay rehearse my-study --sessions 40 --faults none --arrivals-per-min 4
      How long people wait if four come in a minute.
  coplay rehearse my-study --browsers 2 --sessions 8 --faults none
      Two real pages and six bots.
  coplay rehearse my-study --data trial && coplay export --data trial --out tables
      Tables to write the analysis with.
  coplay rehearse my-study --seed 7 --faults reload,server --json | jq .stuck")]
    Rehearse(RehearseArgs),
    /// Write the data as CSV tables.
    #[command(after_help = "\
Writes a table for each kind of thing: sessions, pages, responses, screening, groups, lobby, chat; episodes, seats, steps
(a row for each tick and seat), keys, events, presence and routes. docs/data.md describes every column.
The server may be running. Episodes that cannot be simulated here are left out and named; it then exits with 1.

Examples:
  coplay export --data coplay-data --out tables
  coplay export --data coplay-data --out tables --json | jq .skipped")]
    Export {
        /// Data folder.
        #[arg(long, default_value = "coplay-data")]
        data: PathBuf,
        /// Folder for the tables; it is made if it is not there.
        #[arg(long)]
        out: PathBuf,
        /// Write also what each page showed, a row for each frame: up to 60 rows a second and person.
        #[arg(long)]
        seen: bool,
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
    /// Simulate every stored episode again and compare.
    #[command(after_help = "\
Compares each recorded digest, score and end with a fresh simulation, and says what differs.
Exits with 1 if anything does.

Example:
  coplay verify --data coplay-data --json")]
    Verify {
        /// Data folder.
        #[arg(long, default_value = "coplay-data")]
        data: PathBuf,
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
    /// Say who is paid what, and write the file that a recruiter takes.
    #[command(after_help = "\
What a session is paid is computed once, when it ends: base, bonus (from the scores of the server's own simulation) and
time, by the rule of its outcome in the study file. This command pays nothing by itself: it shows what is due, and with
--csv writes what a provider does not pay by its own approval. With --mark-paid those payments are never written again.
The file must not be there yet; until it is whole it has the ending .part. The server may be running.

Examples:
  coplay pay --data /srv/my-study
      What would be paid: outcome, base, bonus, time and total of every session, and the median wage.
  coplay pay --data /srv/my-study --csv prolific --out bonuses.csv --mark-paid
      Then paste the lines of bonuses.csv into Bulk bonus payments on Prolific.
  coplay pay --data /srv/my-study --verify C7K3QX2M
      What a completion code, or the number of a visit, stands for; exits with 1 if nobody has it.")]
    Pay(PayArgs),
    /// Erase what a study keeps no longer.
    #[command(after_help = "\
A study with `retention_days` keeps what was recorded of somebody for so many days after they were last there. Then
whom a recruiter calls how, answers, chat, what was measured, and the logs of episodes are erased; that they were
there, their treatment, how their way ended and what they are paid stays. A running server does this by itself, when
it starts and every day. This command does it where no server runs, and with --dry-run only says what it would erase.

Examples:
  coplay retain my-study --data /srv/my-study --dry-run
  coplay retain my-study --data /srv/my-study --json | jq .sessions")]
    Retain(RetainArgs),
    /// Look at environments and check them.
    Env {
        /// What to do.
        #[command(subcommand)]
        command: EnvCommand,
    },
    /// Begin a study or an environment from a template; without one, list them.
    #[command(after_help = "\
Examples:
  coplay new
  coplay new overcooked my-study && coplay dev my-study")]
    New {
        /// What to begin with.
        #[command(subcommand)]
        what: Option<NewCommand>,
    },
}

/// What to do with environments.
#[derive(Debug, Subcommand)]
pub enum EnvCommand {
    /// List the environments of this program.
    List {
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
    /// Show parameters, actions, observation and events of an environment.
    #[command(after_help = "\
Examples:
  coplay env show overcooked
  coplay env show overcooked@2.0.0
      The way a study names it.
  coplay env show my_env.wasm --params '{\"horizon\": 50}' --json")]
    Show {
        /// An id, such as overcooked, or the file of a module.
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
    /// Check that an environment keeps the laws that studies and training rely on.
    #[command(after_help = "\
Plays random episodes in two instances side by side and compares them at every step: the same seed gives the
same episode, a saved state comes back, the digest is the hash of the state, observations are whole, nothing
leaks from episode to episode, and so on. Each law is told with the first seed and step that broke it.
A module runs within limits: one that loops, grows or lies is stopped, and told of.
Exits with 1 if a law is broken.

Examples:
  coplay env check my_env.wasm
  coplay env check my_env.wasm --params '{\"horizon\": 50}' --episodes 100 --seed 7
  coplay env check overcooked --json")]
    Check {
        /// An id, such as overcooked, or the file of a module.
        environment: String,
        /// Parameters as a JSON object, instead of the defaults.
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
        /// Seed of the first episode; the next has the next number.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
}

/// What to start.
#[derive(Debug, Subcommand)]
pub enum NewCommand {
    /// Write a study in which two people cook together.
    Overcooked {
        /// Folder to write; it must be empty or not there yet.
        dir: PathBuf,
    },
    /// Write a study in which one person plays in stages.
    Solo {
        /// Folder to write; it must be empty or not there yet.
        dir: PathBuf,
    },
    /// Write the smallest study: consent, a form, a last page.
    Survey {
        /// Folder to write; it must be empty or not there yet.
        dir: PathBuf,
    },
    /// Write a small, complete environment to begin with.
    #[command(after_help = "\
It can be built and checked as it is, and its README says how. The folder must be empty or not there yet.

Examples:
  coplay new environment my_env
  coplay new environment games/tag --name tag --language c")]
    Environment {
        /// Folder to write.
        dir: PathBuf,
        /// Id of the environment: small letters, digits and underscores [default: the folder's name].
        #[arg(long)]
        name: Option<String>,
        /// Language to write it in.
        #[arg(long, value_enum, default_value_t = Language::Rust)]
        language: Language,
        /// Checkout of Coplay that a Rust environment is built with [default: the one around this folder].
        #[arg(long, value_name = "PATH")]
        coplay: Option<PathBuf>,
    },
}

/// Languages that there is a template in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust, with env-core.
    Rust,
    /// C, with nothing but the interface.
    C,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
