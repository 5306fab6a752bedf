//! Arguments of `coplay desk`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use store::desk_keys::DeskRole;

use super::args::data_folder;

/// The commands about the researcher's dashboard.
#[derive(Debug, Subcommand)]
pub enum DeskCommand {
    /// Print a link that signs one browser in.
    #[command(after_help = "\
`coplay serve` prints such a link at its start. It opens once, within 24 hours.

Examples:
  coplay desk link --data /srv/my-study --url https://study.example.edu
  coplay desk link --data /srv/my-study --name 'Bo Li' --role look")]
    Link(DeskLinkArgs),
    /// Print a token: the secret for a program, such as coplay.Study in Python.
    #[command(after_help = "\
The token is shown once; only its hash is stored. It is valid until it is revoked.

Examples:
  coplay desk token --data /srv/my-study --name nightly-report
  coplay desk token --data /srv/my-study --name pilot-script --role act --json")]
    Token(DeskTokenArgs),
    /// List the valid links, signed-in browsers (`session`) and tokens.
    List {
        /// Data folder.
        #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
        data: PathBuf,
        /// Print one JSON list for scripts.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a link, a signed-in browser or a token, at once.
    #[command(after_help = "\
Example:
  coplay desk revoke 3 --data /srv/my-study")]
    Revoke {
        /// Its number, as `coplay desk list` shows it.
        id: i64,
        /// Data folder.
        #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
        data: PathBuf,
    },
}

/// The rights of a researcher or program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// See everything.
    Look,
    /// Also intervene: change recruitment, places, waits, sessions and bonuses.
    Act,
    /// Also let others in, and revoke access.
    Administer,
}

impl From<RoleArg> for DeskRole {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Look => Self::Look,
            RoleArg::Act => Self::Act,
            RoleArg::Administer => Self::Administer,
        }
    }
}

/// Arguments of `coplay desk link`.
#[derive(Debug, Args)]
pub struct DeskLinkArgs {
    /// Data folder.
    #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
    pub data: PathBuf,
    /// Name of the researcher; without it, the page asks for it.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub name: String,
    /// Their rights.
    #[arg(long, value_enum, default_value_t = RoleArg::Administer)]
    pub role: RoleArg,
    /// Public address of the server, for the link.
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    pub url: String,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `coplay desk token`.
#[derive(Debug, Args)]
pub struct DeskTokenArgs {
    /// Data folder.
    #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
    pub data: PathBuf,
    /// Name of the program, for the audit trail.
    #[arg(long)]
    pub name: String,
    /// Its rights.
    #[arg(long, value_enum, default_value_t = RoleArg::Look)]
    pub role: RoleArg,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}
