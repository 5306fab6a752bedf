//! Arguments of `coplay export` and `coplay crate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dataset::export::{ObservationKind, TableFormat};

use super::args::data_folder;

/// Arguments of `coplay export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Data folder.
    #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
    pub data: PathBuf,
    /// Folder for the tables; created if missing.
    #[arg(long)]
    pub out: PathBuf,
    /// Format of the tables.
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub format: ExportFormat,
    /// Only new and changed data since this time, such as 2026-11-25 or 2026-11-25T14:00Z.
    #[arg(long, value_name = "TIME", value_parser = point_in_time)]
    pub since: Option<u64>,
    /// Also write the frames that each page showed: one row per frame, up to 60 rows per second and person.
    #[arg(long)]
    pub seen: bool,
    /// Also write every state, computed again.
    #[arg(long)]
    pub states: bool,
    /// Also write the probabilities of all actions at each decision of a model that plays a seat, computed again.
    #[arg(long)]
    pub decisions: bool,
    /// Also write what each seat observes before each tick and at the end, computed again; one kind or several, with commas
    /// between.
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',', num_args = 0..=1, default_missing_value = "features")]
    pub observations: Vec<ObservationArg>,
    /// Add recruiters' identifiers to the table of sessions.
    #[arg(long)]
    pub with_identifiers: bool,
    /// Use the key `exclusions` of this file instead of the study's.
    #[arg(long, value_name = "FILE")]
    pub exclusions: Option<PathBuf>,
    /// Measure adherence as the key `adherence` of the study in this folder says, instead of as it was when people played.
    #[arg(long, value_name = "STUDY")]
    pub adherence: Option<PathBuf>,
    /// Add the columns of this recruiter's file, with one row per participant, to the table of sessions.
    #[arg(long, value_name = "FILE")]
    pub demographics: Option<PathBuf>,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

impl ExportArgs {
    /// The options that are given and mean something for tables alone.
    pub fn list_table_options(&self) -> Vec<&'static str> {
        let options = [
            ("--since", self.since.is_some()),
            ("--seen", self.seen),
            ("--states", self.states),
            ("--decisions", self.decisions),
            ("--observations", !self.observations.is_empty()),
            ("--with-identifiers", self.with_identifiers),
            ("--demographics", self.demographics.is_some()),
            ("--exclusions", self.exclusions.is_some()),
            ("--adherence", self.adherence.is_some()),
        ];
        let given = options.into_iter().filter(|(_, is_given)| *is_given);
        given.map(|(name, _)| name).collect()
    }
}

/// A format of exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Comma-separated values, for spreadsheets.
    Csv,
    /// Typed columns with descriptions, for Python and R.
    Parquet,
    /// One JSON object per line and row.
    Jsonl,
    /// Minari data sets: for each stage, one for each seat and one for all seats.
    Minari,
    /// Data sets of LeRobot (v3.0), one per stage and seat.
    Lerobot,
}

impl ExportFormat {
    /// The format of tables; `None` for data sets.
    pub fn of_tables(self) -> Option<TableFormat> {
        match self {
            Self::Csv => Some(TableFormat::Csv),
            Self::Parquet => Some(TableFormat::Parquet),
            Self::Jsonl => Some(TableFormat::Jsonl),
            Self::Minari | Self::Lerobot => None,
        }
    }
}

/// A kind of observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ObservationArg {
    /// All values that policies see, as one list.
    Features,
    /// The fields of the observation with rows, columns and channels, such as masks of kinds.
    Grid,
    /// The picture that a person sees: red, green and blue at eight pixels a cell.
    Pixels,
    /// As for Atari: four grey pictures of 84 × 84 after every fourth tick, each the lighter of two states.
    Atari,
}

impl From<ObservationArg> for ObservationKind {
    fn from(arg: ObservationArg) -> Self {
        match arg {
            ObservationArg::Features => Self::Features,
            ObservationArg::Grid => Self::Grid,
            ObservationArg::Pixels => Self::Pixels,
            ObservationArg::Atari => Self::Atari,
        }
    }
}

/// Arguments of `coplay crate`.
#[derive(Debug, Args)]
pub struct CrateArgs {
    /// Data folder.
    #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
    pub data: PathBuf,
    /// Archive (if the name ends in .zip) or folder to write. It must not exist yet.
    #[arg(long)]
    pub out: PathBuf,
    /// JSON file with facts that only the authors know: description, authors, license, url; optionally title, citation,
    /// published, uses, limitations, biases and social_impact.
    #[arg(long, value_name = "FILE")]
    pub facts: PathBuf,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

fn point_in_time(text: &str) -> Result<u64, String> {
    let read = dataset::time::parse_unix_us(text);
    read.ok_or_else(|| {
        "write a date such as 2026-11-25, or a time in UTC such as 2026-11-25T14:00Z".into()
    })
}
