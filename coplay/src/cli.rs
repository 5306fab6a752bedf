//! The command line.

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

mod agent_args;
mod args;
mod desk_args;
mod env_commands;
mod export_args;
mod limits;
mod new_command;
mod privacy_args;
mod replay_args;

pub use agent_args::{AgentCheckArgs, AgentPlayArgs};
pub use args::{
    AccessArgs, DevArgs, ImportArgs, PayArgs, PythonArgs, RehearseArgs, RetainArgs, ServeArgs,
    SiteArgs, StudyArgs, TurnArgs,
};
use args::{data_folder, study_folder};
pub use desk_args::{DeskCommand, DeskLinkArgs, DeskTokenArgs, RoleArg};
pub use env_commands::{AgentCommand, EnvCommand, PyodideCommand};
pub use export_args::{CrateArgs, ExportArgs, ExportFormat};
pub use limits::LimitArgs;
pub use new_command::{Language, NewCommand};
pub use privacy_args::{BackupArgs, EraseArgs, RestoreArgs};
pub use replay_args::{BranchArgs, ReplayArgs, VideoArgs};

/// Runs studies in which people play reinforcement-learning environments together, in their browsers.
#[derive(Debug, Parser)]
#[command(
    name = "coplay",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  coplay new overcooked my-study
      Create a study from a template; `coplay new` lists the templates.
  coplay dev my-study
      Try it on this machine. Open the two printed links in two windows, and edit the study while it runs.
  coplay lint my-study
      Check it, and show a summary.
  coplay rehearse my-study
      Let bots take part, with faults, before people do.
  coplay serve my-study --listen 127.0.0.1:8080 --data /srv/my-study --links 40 --url https://study.example.edu
      Run it for participants, behind a web server with TLS. Each gets one of 40 links.
  coplay verify --data /srv/my-study
      Simulate every recorded episode again, and compare.
  coplay export --data /srv/my-study --out tables
      Write the data as CSV tables.
  coplay pay --data /srv/my-study --csv prolific --out bonuses.csv --mark-paid
      Write Prolific's bonus file, and mark the payments in it as paid.
  coplay new environment my_env --language c
      Create an environment from a template. Its README says how to compile and check it.

The log goes to standard error. RUST_LOG=debug shows more, RUST_LOG=error less.
Exit codes: 0 success; 1 a failure, or data that do not verify; 2 an error in the command line or the study file."
)]
pub struct Cli {
    /// File with the key that encrypts recruiters' identifiers. Keep it outside of the data folder [default:
    /// $COPLAY_KEY_FILE; without it, one file for each data folder, on Linux in ~/.config/coplay/keys].
    #[arg(long, global = true, value_name = "FILE", help_heading = "Privacy")]
    pub key: Option<PathBuf>,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of the program.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a study or an environment from a template; without a name, list the templates.
    #[command(after_help = "\
Examples:
  coplay new
  coplay new overcooked my-study && coplay dev my-study")]
    New {
        /// The template.
        #[command(subcommand)]
        what: Option<NewCommand>,
    },
    /// Check a study: report faults and warnings, and show a summary.
    #[command(after_help = "\
Reports all faults in one run, each with file, line, column, key, cause and fix.
For a study without faults, shows a summary: stages, seats, treatments, orders, outcomes with their pay, and duration.
Exits with 0 if the study can run, even with warnings, and with 2 if it has faults.

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
    /// Print the JSON Schema of the study file, for editors.
    #[command(after_help = "\
Editors that support JSON Schema complete, explain and check the keys, if the study file begins with
  # yaml-language-server: $schema=study.schema.json

Example:
  coplay schema > my-study/study.schema.json")]
    Schema,
    /// Try a study on this machine.
    #[command(after_help = "\
Listens on 127.0.0.1 only. Prints participant links, and a link that signs one browser in to the dashboard, which shows
where everybody is. Opening the address without a link starts a new session.
You can edit the study while it runs: saved changes are loaded, and open pages update. Faults are printed and shown on
the pages; the last version without faults keeps running until you fix them.
These data are for trials only. They survive restarts, and are reset when stages, blocks or factors change.

Examples:
  coplay dev my-study
  coplay dev my-study --fresh
      Delete the data of earlier trials first.
  coplay dev my-study --port 0 --data /tmp/trial
      Use a free port and another data folder.
  coplay dev my-study --json | head -1
      Print one JSON line for scripts: {\"url\":…,\"links\":[…],\"desk\":…,\"data\":…,\"turn_port\":…}")]
    Dev(DevArgs),
    /// Rehearse a study: let bots take part, with faults, before people do.
    #[command(after_help = "\
Lets bots take part: they read, agree, answer quizzes and surveys, wait, play, and reach the last page. Half of them
follow a script of --faults in which something goes wrong.
Everything runs in one process on a virtual clock, in about a minute: the page, the server's logic and the database are
those of the real program; the network is simulated. The same seed gives the same rehearsal.
With --process, the real program is started, bots use real sockets, and the server is killed with `kill -9`. Time then
runs faster than real time, as fast as the machine allows.
Then every session is compared with the data: it has a declared outcome, every acknowledged answer is in the tables,
every episode verifies, and no assignment has changed.
The report shows outcomes, treatments, the duration of the study, and the waiting times at the arrival rate.
Exits with 1, and prints the trace of the session, if a session is stuck or the data differ.
Bots' packets travel through the server. With --webrtc, bots reach each other, and browsers, by WebRTC: directly, or
through TURN if the study hides addresses; in episodes, time then runs at real speed. The report counts the ways.
With --process --browsers, the first sessions use real pages in a headless Chromium, at real speed. These pages click,
type and press keys, and reach each other by WebRTC.
Ctrl-C stops the rehearsal and leaves nothing behind.

Faults: none, all, or a list of refuse, fail-quiz, drop-lobby, drop-play, return, reload, close-survey, second-tab,
slow-network, withdraw, idle, malformed (an equal share of the sessions each), and server (killed and restarted).

Examples:
  coplay rehearse my-study
      Run 200 sessions with every fault.
  coplay rehearse my-study --sessions 40 --faults none --arrivals-per-min 4
      See how long people wait if four arrive per minute.
  coplay rehearse my-study --process --browsers 2 --sessions 8 --faults none
      Use two real pages and six bots.
  coplay rehearse my-study --process
      Run them with the real program.
  coplay rehearse my-study --webrtc --sessions 8 --browsers 2 --faults none
      Use two real pages and six bots, all of which play by WebRTC.
  coplay rehearse my-study --data trial && coplay export --data trial --out tables
      Get tables to write your analysis with.
  coplay rehearse my-study --seed 7 --faults reload,server --json | jq .stuck")]
    Rehearse(RehearseArgs),
    /// Run a study for participants.
    #[command(after_help = "\
Put a web server with TLS in front, so that nobody on the network can read answers or links.
Give the public address with --url: the printed links begin with it.
Open port 3478, UDP and TCP, in the firewall. Pages use it to find a direct connection to each other; where a network
blocks direct connections, their inputs travel through it. The program needs no other port. It contacts no other machine,
except the provider of a language model, the database of --database, the object store of --object-store, the address of
--webhook, and the package index for the packages of an environment in Python.
Without port 3478, pages that cannot reach each other play through the web server, with more delay.

Examples:
  coplay serve my-study --listen 127.0.0.1:8080 --data /srv/my-study --links 40 --url https://study.example.edu
  coplay serve my-study --listen 127.0.0.1:8080 --data /srv/my-study --open --url https://study.example.edu
      Whoever opens the address takes part, without a link.
  coplay serve my-study --listen 127.0.0.1:8080 --url https://study.example.edu --turn-host 203.0.113.7 --turn-port 443
      If study.example.edu is another machine than this one, and participants' networks block most ports except 443.
  coplay serve my-study --listen 127.0.0.1:8080 --webhook https://lab.example.edu/hook --webhook-secret hook.secret
      Post what happens to a program of yours as it happens; docs/webhook.md describes the posts.
  coplay serve my-study --listen 10.0.0.5:8080 --url https://study.example.edu --database 'postgres://coplay@db.example.edu/study?sslmode=verify-full'
      Share the study with other servers, one of which has it; docs/several-servers.md says when and how.
  coplay serve my-study --listen 10.0.0.5:8080 --url https://study.example.edu --database 'postgres://coplay@db.example.edu/study' --object-store s3://lab/study
      Keep logs of ended episodes in an object store, with the credentials of the environment.")]
    Serve(Box<ServeArgs>),
    /// Write the page of a study as plain files, for any web host.
    #[command(after_help = "\
The files work on every host of plain files, also in a folder below an address: GitHub Pages, S3, the web space of a
university. They are the files that a page loads: the page itself, environments, models, pictures and videos. Compressed
copies (.gz, .br) are for hosts that use them.
Texts, questions and the session come from the server. It answers its own pages, and those of addresses that --site names.
After a change of the study or of Coplay, make the site again and upload it. Pages report a site that is too old.

Examples:
  coplay site my-study --server wss://study.example.edu --out site
      Write the files. Upload them, for example to https://lab.github.io/study/. Then start the server:
  coplay serve my-study --listen 127.0.0.1:8080 --url https://study.example.edu --site https://lab.github.io/study/
      The printed links begin with the address of the site.
  coplay site my-study --offline --out site
      Write a study without a server, for one person at a time, alone or with AI partners. The page stores the data in
      the browser. Participants save them as a file, or the page sends them to the address that the study names
      (`offline: {post: …}`).")]
    Site(SiteArgs),
    /// Import the data of a study without a server into a data folder.
    #[command(after_help = "\
Takes the files that participants saved or pages sent, in a study that `coplay site --offline` wrote. Runs the server's
part of the study with them, and writes an ordinary data folder: every other command works with it.
Participants who are already in the folder are skipped, so you can import a file again.
Use the same study folder and the same version of Coplay as for the site. Parts of a file from another version are skipped
and counted. A file that cannot be imported stops no other file; the command then exits with 1.

Examples:
  coplay import my-study downloads/*.coplay-journal --data data
  coplay verify --data data && coplay export --data data --out tables")]
    Import(ImportArgs),
    /// Write the data as tables.
    #[command(after_help = "\
Writes one file per table, such as sessions, responses, episodes, steps (one row per tick and seat) and events; and
tables.json, which describes every table and column. docs/data.md does so in words.
When all tables are complete, they replace the tables of an earlier export. If the command is interrupted, nothing changes.
The server may be running. Episodes that this program cannot simulate are skipped and listed; the exit code is then 1.
Recruiters' identifiers are left out, unless --with-identifiers asks for them. The database records each use of this option.

Examples:
  coplay export --data coplay-data --out tables
  coplay export --data coplay-data --out tables --format parquet
  coplay export --data coplay-data --out new --since 2026-11-25T14:00Z
      Only new and changed data since this time, such as answers and ended episodes.
  coplay export --data coplay-data --out tables --demographics prolific_export.csv
      Add columns from the recruiter's file of participants, without identifiers.
  coplay export --data coplay-data --out datasets --format minari
      Write data sets for offline reinforcement learning, into a new folder; --format lerobot writes those of LeRobot.
  coplay export --data coplay-data --out tables --exclusions my-study/study.yaml
      Run changed exclusion rules over old data.
  coplay export --data coplay-data --out tables --adherence my-study
      Measure old data with the policies that the study file of this folder names under adherence.
  coplay export --data coplay-data --out tables --json | jq .skipped")]
    Export(ExportArgs),
    /// Write study and data as one archive for publication.
    #[command(after_help = "\
Writes recordings, modules, models, study files and tables, and describes them as RO-Crate, Croissant (with RAI), Psych-DS
and BIDS. Recruiters' identifiers, keys and completion codes are left out, and so are the recordings of groups from which
somebody withdrew. `coplay verify FILE.zip` checks every file and simulates every episode again.

The file of facts, at least:
  {\"description\": \"…\", \"authors\": [\"…\"], \"license\": \"CC-BY-4.0\", \"url\": \"https://doi.org/…\"}

Example:
  coplay crate --data coplay-data --facts facts.json --out study.zip")]
    Crate(CrateArgs),
    /// Find the session of a person, to answer a complaint.
    #[command(after_help = "\
Takes a pseudonym, a session, a reference number, or a recruiter's identifier of a participant or submission. Shows the
session, its outcome and pay, the stages with answers, and the episodes. Exits with 1 if nobody has the identifier.
The database records each use in its audit trail.

Example:
  coplay who 5f1c0a2b3c4d5e6f7a8b9c0d --data coplay-data")]
    Who {
        /// The identifier.
        id: String,
        /// Data folder.
        #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
        data: PathBuf,
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
    /// Simulate every recorded episode again, and compare.
    #[command(after_help = "\
Compares each recorded digest, score and end with a new simulation, and reports differences. Compares the database with
the recorded episodes, and the payments with their ledger. Exits with 1 if anything differs.
The last hash of the ledger is printed. Note it elsewhere: with --ledger-hash, a later run fails if the ledger has lost it.

Example:
  coplay verify --data coplay-data --json")]
    Verify {
        /// An archive or folder that `coplay crate` wrote, instead of a data folder.
        #[arg(value_name = "CRATE", conflicts_with_all = ["data", "ledger_hash"])]
        published: Option<PathBuf>,
        /// Data folder.
        #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
        data: PathBuf,
        /// A hash of the ledger of payments that an earlier run printed; the run fails if the ledger no longer has it.
        #[arg(long, value_name = "HASH")]
        ledger_hash: Option<String>,
        /// Print one JSON object for scripts.
        #[arg(long)]
        json: bool,
    },
    /// Show an episode again, tick by tick, and what each seat's page showed.
    Replay(ReplayArgs),
    /// Continue an episode from a recorded state with another controller, and summarise the results.
    Branch(BranchArgs),
    /// Show the payments due, and write the recruiter's bonus file.
    #[command(after_help = "\
The payment of a session is computed once, when the session ends, by the rule of its outcome in the study file: base,
bonus (from the scores of the server's own simulation) and time.
This command transfers no money. It shows what is due. --csv writes the amounts that are not part of the recruiter's
approval. --mark-paid marks them as paid, so they are never written again.
The file must not exist; its name ends in .part until it is complete. It is also written if nothing is due. The server may
be running.

Examples:
  coplay pay --data /srv/my-study
      Show outcome, base, bonus, time and total of every session, and the median hourly wage.
  coplay pay --data /srv/my-study --csv prolific --out bonuses.csv --mark-paid
      Write the bonuses. Then paste the lines of bonuses.csv into Bulk bonus payments on Prolific.
  coplay pay --data /srv/my-study --verify C7K3QX2M
      Look up a completion code or a reference number. Exits with 1 if nobody has it.")]
    Pay(PayArgs),
    /// Erase data that are past their retention period, while no server runs.
    #[command(after_help = "\
If a study sets `retention_days`, the data of a participant are erased that many days after their last activity:
recruiters' identifiers, answers, chat, measurements, and the logs of episodes. The session itself, its treatment,
outcome and payment stay. A running server does this at its start and every day. This command does it while no server
runs; with --dry-run it only shows what it would erase.

Examples:
  coplay retain my-study --data /srv/my-study --dry-run
  coplay retain my-study --data /srv/my-study --json | jq .sessions")]
    Retain(RetainArgs),
    /// Erase one participant from a data folder.
    Erase(EraseArgs),
    /// Write a backup of a study, also while its servers run.
    Backup(BackupArgs),
    /// Restore a backup into a new data folder, or into a new database.
    Restore(RestoreArgs),
    /// Give researchers and programs access to the dashboard, and revoke it.
    Desk {
        /// The command.
        #[command(subcommand)]
        command: DeskCommand,
    },
    /// List, show and check environments.
    Env {
        /// The command.
        #[command(subcommand)]
        command: EnvCommand,
    },
    /// Install Pyodide: Python for pages (`run: page`).
    Pyodide {
        /// The command.
        #[command(subcommand)]
        command: PyodideCommand,
    },
    /// Examine a model, and let agents take part in a study.
    Agent {
        /// The command.
        #[command(subcommand)]
        command: AgentCommand,
    },
    /// Print the completions of this command for a shell.
    #[command(after_help = "\
The wheel and the archive of a release contain them already.

Examples:
  coplay completions bash > ~/.local/share/bash-completion/completions/coplay
  coplay completions fish > ~/.config/fish/completions/coplay.fish")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of this command, one for each subcommand, into a folder.
    #[command(after_help = "\
Example:
  coplay manual --out ~/.local/share/man/man1
      Then `man coplay` and `man coplay-serve` show them.")]
    Manual {
        /// Folder to write to; created if missing.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

impl Command {
    /// The data folder whose logs of episodes a command reads, if it does.
    pub fn find_data_to_read(&self) -> Option<&Path> {
        match self {
            Self::Export(args) => Some(&args.data),
            Self::Crate(args) => Some(&args.data),
            Self::Replay(args) => Some(&args.data),
            Self::Branch(args) => Some(&args.data),
            Self::Verify {
                published: None,
                data,
                ..
            } => Some(data),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// The words of a line as a shell has them: single quotes hold a word together.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for letter in line.chars() {
            match letter {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                letter => words.last_mut().unwrap().push(letter),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn a_site_has_a_server_or_is_offline() {
        let site = |rest: &[&str]| {
            let words = ["coplay", "site", "study", "--out", "site"];
            Cli::try_parse_from(words.iter().chain(rest))
        };
        let lacks = site(&[]).unwrap_err().to_string();
        assert!(lacks.contains("<--server <URL>|--offline>"), "{lacks}");
        let server = ["--server", "wss://study.example.edu"];
        assert!(site(&server).is_ok() && site(&["--offline"]).is_ok());
        assert!(site(&[&server[..], &["--offline"]].concat()).is_err());
    }

    #[test]
    fn every_example_of_the_help_is_a_command() {
        let root = Cli::command();
        let mut commands = vec![&root];
        let mut count = 0;
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands());
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            let examples = help.lines().filter_map(|line| line.strip_prefix("  "));
            for example in examples.filter(|line| line.starts_with("coplay ")) {
                for part in example.split(" && ") {
                    let part = part.split(['|', '>']).next().unwrap();
                    let parsed = Cli::try_parse_from(words(part));
                    assert!(parsed.is_ok(), "{part}: {}", parsed.unwrap_err());
                    count += 1;
                }
            }
        }
        assert!(count > 30, "{count}");
    }
}
