//! Arguments of the larger commands, and how the command line is read.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgGroup, Args};
use dataset::pay::PaymentFormat;
use rehearsal::Faults;
use signaling_server::site_rules::find_origin;
use store::study_version::OnStudyChange;

use super::LimitArgs;

/// Arguments of `coplay dev`.
#[derive(Debug, Args)]
pub struct DevArgs {
    /// The study and its data.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Delete the data of earlier trials first.
    #[arg(long)]
    pub fresh: bool,
    /// Also accept requests from this origin, such as https://tunnel.example.edu. By default, only addresses of this
    /// machine are accepted. May be given several times.
    #[arg(long, value_parser = parse_address)]
    pub origin: Vec<String>,
    /// Do not reload the study when its files change.
    #[arg(long)]
    pub no_reload: bool,
    /// STUN and TURN.
    #[command(flatten)]
    pub turn: TurnArgs,
    /// The rules for who may enter.
    #[command(flatten)]
    pub access: AccessArgs,
    /// Print one JSON line to standard output instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `coplay serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The study and its data.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Address and port to listen on.
    #[arg(long, value_name = "ADDR", value_parser = listener)]
    pub listen: SocketAddr,
    /// Public address of the server, for the printed links.
    #[arg(long, value_parser = parse_address)]
    pub url: Option<String>,
    /// STUN and TURN.
    #[command(flatten)]
    pub turn: TurnArgs,
    /// The rules for who may enter.
    #[command(flatten)]
    pub access: AccessArgs,
    /// Let people in without a link: everybody who opens the address gets a session.
    #[arg(long)]
    pub open: bool,
    /// Address of the web server in front, whose header X-Forwarded-For is believed. Without it, all its visitors count as
    /// one address. May be given several times.
    #[arg(long, value_name = "ADDRESS")]
    pub trusted_proxy: Vec<IpAddr>,
    /// Address that hears what happens in the study, as JSON by POST: https, or http on this machine.
    #[arg(long, value_name = "URL", requires = "webhook_secret")]
    pub webhook: Option<String>,
    /// File with the secret under which posts to the webhook are signed, at least 16 characters.
    #[arg(long, value_name = "FILE", requires = "webhook")]
    pub webhook_secret: Option<PathBuf>,
    /// Address of a PostgreSQL database that several servers of the study share, such as postgres://coplay@db.example.edu/study.
    /// One server has the study, and the others take over when it fails. The data folder, one for each server, stays with
    /// the database.
    #[arg(long, value_name = "ADDRESS")]
    pub database: Option<String>,
    /// With --database: object store to which logs of ended episodes move, such as s3://my-bucket/my-study. The study stays
    /// with it. Credentials and endpoint are in the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION,
    /// AWS_ENDPOINT_URL.
    #[arg(long, value_name = "ADDRESS")]
    pub object_store: Option<String>,
    /// How to handle participants who are in the middle of another version of the study.
    #[arg(long, value_enum, default_value_t = Changed::Refuse)]
    pub changed: Changed,
    /// Print one JSON line to standard output instead of text.
    #[arg(long)]
    pub json: bool,
    /// Run by a clock whose pace comes on standard input, and stop when that ends: for rehearsals.
    #[arg(long, hide = true)]
    pub paced: bool,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Arguments of `coplay rehearse`.
#[derive(Debug, Args)]
pub struct RehearseArgs {
    /// Folder that holds study.yaml, such as my-study.
    #[arg(value_parser = study_folder)]
    pub study: PathBuf,
    /// Number of sessions.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub sessions: u32,
    /// Faults to include: none, all, or names separated by commas.
    #[arg(long, default_value = "all", value_name = "NAMES")]
    pub faults: Faults,
    /// How many times the server is killed, if `server` is among the faults.
    #[arg(long, default_value_t = 3)]
    pub kills: u32,
    /// Average number of people who arrive per minute.
    #[arg(long, default_value_t = 10.0, value_name = "RATE", value_parser = parse_positive)]
    pub arrivals_per_min: f64,
    /// Seed of bots and faults.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Start the real program and use real sockets, instead of one process on a virtual clock.
    #[arg(long)]
    pub process: bool,
    /// Let bots play over data channels of WebRTC, with each other and with browsers; includes --process.
    #[arg(long)]
    pub webrtc: bool,
    /// With --process: maximum speed, as a multiple of real time [default: 60].
    #[arg(long, value_name = "TIMES", value_parser = parse_positive)]
    pub speed: Option<f64>,
    /// With --process: number of sessions with real pages in a headless Chromium; these are the first ones.
    #[arg(long, default_value_t = 0, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(..=50))]
    pub browsers: u32,
    /// With --process: Chromium or Chrome to use [default: $COPLAY_CHROMIUM, otherwise the first in PATH].
    #[arg(long, value_name = "PROGRAM")]
    pub chromium: Option<PathBuf>,
    /// Keep the data in this new folder, instead of deleting them at the end.
    #[arg(long, value_parser = data_folder())]
    pub data: Option<PathBuf>,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

impl RehearseArgs {
    /// True if the real program is rehearsed.
    pub fn is_process(&self) -> bool {
        self.process || self.webrtc
    }

    /// The reason why these arguments do not go together, if they do not.
    pub fn refusal(&self) -> Option<&'static str> {
        let is_virtual = !self.is_process();
        if is_virtual && (self.browsers > 0 || self.chromium.is_some()) {
            return Some(
                "a browser cannot run on a virtual clock; add --process, which starts the real program",
            );
        }
        (is_virtual && self.speed.is_some()).then_some(
            "a rehearsal on a virtual clock always runs as fast as it can; add --process, or leave --speed out",
        )
    }
}

/// Arguments of `coplay env check` for an environment in Python.
#[derive(Debug, Args)]
pub struct PythonArgs {
    /// For Python: number of steps.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: u32,
    /// For Python: file with the packages that the environment needs; they are installed once, below the data folder.
    #[arg(long, value_name = "FILE")]
    pub requirements: Option<PathBuf>,
    /// For Python: the interpreter [default: the first python3 in PATH].
    #[arg(long, value_name = "PROGRAM")]
    pub python: Option<PathBuf>,
    /// For Python: data folder.
    #[arg(long, default_value = "coplay-dev-data", value_parser = data_folder())]
    pub data: PathBuf,
}

/// Arguments of `coplay pay`.
#[derive(Debug, Args)]
pub struct PayArgs {
    /// Data folder.
    #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
    pub data: PathBuf,
    /// Only show the payments; this is the default.
    #[arg(long, conflicts_with_all = ["csv", "out", "mark_paid"])]
    pub dry_run: bool,
    /// Write the payments that are due, in this format.
    #[arg(long, value_enum, requires = "out")]
    pub csv: Option<Recruiter>,
    /// File to write.
    #[arg(long, value_name = "FILE", requires = "csv")]
    pub out: Option<PathBuf>,
    /// Mark the payments in the file as paid.
    #[arg(long, requires = "csv")]
    pub mark_paid: bool,
    /// Look up a completion code or a reference number.
    #[arg(long, value_name = "CODE", conflicts_with_all = ["csv", "dry_run"])]
    pub verify: Option<String>,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `coplay retain`.
#[derive(Debug, Args)]
pub struct RetainArgs {
    /// Folder that holds study.yaml.
    #[arg(value_parser = study_folder)]
    pub study: PathBuf,
    /// Data folder.
    #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
    pub data: PathBuf,
    /// Only show what would be erased; a server may be running.
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of the STUN and TURN server, through which pages find and reach each other.
#[derive(Clone, Debug, Args)]
pub struct TurnArgs {
    /// Port of the STUN and TURN server, UDP and TCP [default: 3478; for dev a free port].
    #[arg(long, value_name = "PORT")]
    pub turn_port: Option<u16>,
    /// Host name or address of that port, as participants reach it [default: the host of the printed links].
    #[arg(long, value_name = "HOST")]
    pub turn_host: Option<String>,
    /// Run no STUN and TURN server.
    #[arg(long, conflicts_with_all = ["turn_port", "turn_host"])]
    pub no_turn: bool,
}

/// Arguments that say who may enter.
#[derive(Clone, Debug, Args)]
pub struct AccessArgs {
    /// File with the secret under which the recruiter signs links, if the study sets `signature`.
    #[arg(long, value_name = "FILE")]
    pub signature_key: Option<PathBuf>,
    /// Address of a site (`coplay site`) where participants open the study. The server answers its pages, and printed links
    /// begin with it. May be given several times.
    #[arg(long, value_name = "URL", value_parser = site_address)]
    pub site: Vec<String>,
    /// Address of a page that may show the study in a frame, such as https://lab.qualtrics.com. It gets messages
    /// about the group, the episodes and the end. May be given several times.
    #[arg(long, value_name = "URL", value_parser = site_address)]
    pub parent: Vec<String>,
}

/// Arguments of `coplay site`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("way").required(true))]
pub struct SiteArgs {
    /// Folder that holds study.yaml, such as my-study.
    #[arg(value_parser = study_folder)]
    pub study: PathBuf,
    /// Address of the server, as pages reach it, such as wss://study.example.edu.
    #[arg(long, value_name = "URL", value_parser = session_address, group = "way")]
    pub server: Option<String>,
    /// Make a study without a server, for participants alone or with AI partners; the data stay in the browser until they
    /// are saved or sent.
    #[arg(long, group = "way")]
    pub offline: bool,
    /// Folder to write; it must be empty or missing, or hold an older site.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Folder of built pages, instead of the built-in ones.
    #[arg(long)]
    pub dist: Option<PathBuf>,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `coplay import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// Folder that holds study.yaml, as it was when the site was made.
    #[arg(value_parser = study_folder)]
    pub study: PathBuf,
    /// Files that participants saved or pages sent (.coplay-journal).
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Data folder; created if missing.
    #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
    pub data: PathBuf,
    /// Also import files from another version of Coplay; results can differ.
    #[arg(long)]
    pub any_version: bool,
    /// Folder of built pages, instead of the built-in ones.
    #[arg(long)]
    pub dist: Option<PathBuf>,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

/// The study and its data.
#[derive(Clone, Debug, Args)]
pub struct StudyArgs {
    /// Folder that holds study.yaml, such as my-study.
    #[arg(value_parser = study_folder)]
    pub study: PathBuf,
    /// Data folder; created if missing [default: coplay-data; for dev coplay-dev-data].
    #[arg(long, value_parser = data_folder())]
    pub data: Option<PathBuf>,
    /// Number of participant links for people who have not finished.
    #[arg(long, default_value_t = 2)]
    pub links: usize,
    /// Folder of built pages, instead of the built-in ones.
    #[arg(long)]
    pub dist: Option<PathBuf>,
    /// File with the key of the provider of language models, if the study has one that needs a key. Without it, the
    /// variable COPLAY_MODEL_KEY is read.
    #[arg(long, value_name = "FILE")]
    pub model_key: Option<PathBuf>,
}

/// A number above 0.
pub(super) fn parse_positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

/// The address and port to listen on.
fn listener(named: &str) -> Result<SocketAddr, String> {
    let wanted = named.parse();
    wanted.map_err(|_| match named.parse::<u16>() {
        Ok(port) => format!(
            "an address comes before the port; write 127.0.0.1:{port} behind a web server on this machine, or 0.0.0.0:{port} for everybody"
        ),
        Err(_) => "write an address and a port, such as 127.0.0.1:8080".to_owned(),
    })
}

/// The folder of a study, also if its file was named.
pub(super) fn study_folder(named: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(named);
    if !path.is_file() {
        return Ok(path);
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new(".")).to_owned();
    match path.file_name() {
        Some(name) if name == study::FILE => Ok(folder),
        _ => Err(format!(
            "it is a file; name the folder that holds {}, such as {}",
            study::FILE,
            folder.display()
        )),
    }
}

/// A data folder, there or not.
pub(super) fn data_folder() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|named| read_data_folder(PathBuf::from(named)))
}

fn read_data_folder(path: PathBuf) -> Result<PathBuf, String> {
    match path.read_dir() {
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err("it is a file; name a data folder, such as coplay-data".to_owned())
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(format!(
            "this user may not read it ({error}); a data folder belongs to the user who runs the server"
        )),
        _ => Ok(path),
    }
}

/// The address of a server for sessions: `wss://`, or `https://` which means the same.
fn session_address(named: &str) -> Result<String, String> {
    let given = ["wss", "https", "ws", "http"].iter().find_map(|scheme| {
        let rest = named.strip_prefix(scheme)?.strip_prefix("://")?;
        Some((
            if scheme.ends_with('s') && *scheme != "ws" {
                "wss"
            } else {
                "ws"
            },
            rest,
        ))
    });
    let Some((scheme, rest)) = given else {
        return Err(format!(
            "it does not begin with wss:// (or ws:// without TLS); write wss://{named}"
        ));
    };
    let rest = rest.trim_end_matches('/');
    let host = rest.split('/').next().unwrap_or_default();
    // It is written into a page and into its policy.
    let is_plain = rest
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._~:[]/".contains(&byte));
    match host.parse::<axum::http::uri::Authority>() {
        Ok(_) if is_plain => Ok(format!("{scheme}://{rest}")),
        _ => Err("it names no host; write one such as wss://study.example.edu".to_owned()),
    }
}

/// An address whose origin a browser can name.
fn site_address(named: &str) -> Result<String, String> {
    let address = parse_address(named)?;
    match find_origin(&address) {
        Some(_) => Ok(address),
        None => Err("the host has a character that is not allowed; write an address such as https://lab.example.edu/study/".to_owned()),
    }
}

/// An address that participants open.
pub(super) fn parse_address(named: &str) -> Result<String, String> {
    let host = ["https://", "http://"]
        .iter()
        .find_map(|scheme| named.strip_prefix(scheme));
    match host {
        Some(host) if !host.is_empty() && !host.starts_with('/') => {
            Ok(named.trim_end_matches('/').to_owned())
        }
        Some(_) => Err("it names no host; write one such as https://study.example.edu".to_owned()),
        None => Err(format!(
            "it does not begin with https:// or http://; write https://{named}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_a_host() {
        let address = |text| parse_address(text);
        assert_eq!(
            address("https://lab.example.edu/").as_deref(),
            Ok("https://lab.example.edu")
        );
        assert_eq!(
            address("http://127.0.0.1:80").as_deref(),
            Ok("http://127.0.0.1:80")
        );
        let told = address("lab.example.edu:80").unwrap_err();
        assert!(told.ends_with("write https://lab.example.edu:80"), "{told}");
        assert!(address("https://").unwrap_err().contains("no host"));
        assert_eq!(
            site_address("https://lab.github.io/study/").as_deref(),
            Ok("https://lab.github.io/study")
        );
        let told = site_address("https://a;b/").unwrap_err();
        assert!(told.contains("write an address such as"), "{told}");
    }

    #[test]
    fn the_address_of_a_server_is_one_of_web_sockets() {
        for (given, read) in [
            ("wss://study.example.edu/", "wss://study.example.edu"),
            ("https://example.edu/lab/one/", "wss://example.edu/lab/one"),
            ("ws://127.0.0.1:8080", "ws://127.0.0.1:8080"),
            ("http://[::1]:8080", "ws://[::1]:8080"),
        ] {
            assert_eq!(session_address(given).as_deref(), Ok(read), "{given}");
        }
        let told = session_address("study.example.edu").unwrap_err();
        assert!(told.ends_with("write wss://study.example.edu"), "{told}");
        for bad in [
            "wss://",
            "wss:///a",
            "wss://a\"><script>",
            "wss://a b",
            "wss://a?x",
        ] {
            assert!(session_address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_file_of_a_study_stands_for_its_folder_and_no_other_file_does() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, "").unwrap();
            study_folder(path.to_str().unwrap())
        };
        assert_eq!(file("study.yaml"), Ok(dir.path().to_owned()));
        assert!(
            file("how.md")
                .unwrap_err()
                .contains("it is a file; name the folder")
        );
        assert_eq!(study_folder("nowhere"), Ok("nowhere".into()));
        let told = read_data_folder(dir.path().join("how.md"));
        assert!(told.unwrap_err().starts_with("it is a file"));
        assert_eq!(read_data_folder("nowhere".into()), Ok("nowhere".into()));
    }
}

/// `--changed`: the fate of participants who are in another version of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Changed {
    /// Do not start. Participants can only finish in the old version.
    Refuse,
    /// They continue in the new version, which must have the same stages and blocks; texts and parameters may differ.
    Carry,
    /// Their sessions end with the outcome technical.
    End,
}

impl From<Changed> for OnStudyChange {
    fn from(changed: Changed) -> Self {
        match changed {
            Changed::Refuse => Self::Refuse,
            Changed::Carry => Self::Carry,
            Changed::End => Self::End,
        }
    }
}

/// `--csv`: the reader of a payment file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Recruiter {
    /// Bulk bonuses of Prolific: participant id and amount.
    Prolific,
    /// Bonuses of Mechanical Turk: worker, assignment, amount, reason.
    Mturk,
    /// Full amounts by reference number, for payment by hand.
    Plain,
}

impl From<Recruiter> for PaymentFormat {
    fn from(recruiter: Recruiter) -> Self {
        match recruiter {
            Recruiter::Prolific => Self::Prolific,
            Recruiter::Mturk => Self::Mturk,
            Recruiter::Plain => Self::Plain,
        }
    }
}
