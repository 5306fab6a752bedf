//! Arguments of `coplay replay` and `coplay branch`.

use std::path::PathBuf;

use clap::Args;

use super::args::data_folder;

/// Arguments of `coplay replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Computes the episode again from its log, and shows it in a page. Shows two pictures: what happened, and what the page of a
seat showed. Differences are marked. Below: actions, rewards, events, key presses with the time until the screen answered,
network faults, and controllers. The page has a slider, speeds from 0.25 to 16, single steps, and keyboard shortcuts. Links
such as #t=412&seat=1 lead to a tick and a seat.
Without --html or --link, the page is served on 127.0.0.1 until Ctrl-C. Two episodes are shown side by side, on one clock.
The file of --html needs no server and no network, and names no participant. Chat is left out unless --with-chat asks for it.
With --link, a signed link is printed, under which a running `coplay serve` shows this one episode until the link expires.
With --gif and --mp4, the confirmed states become a video, without a page. MP4 is encoded by the program ffmpeg, which is
found in PATH, or named by the environment variable COPLAY_FFMPEG; GIF needs no other program.

Examples:
  coplay replay E-7Q2MXK40ZD --data /srv/my-study
  coplay replay E-7Q2MXK40ZD E-W3T9C8R1HB --data /srv/my-study
  coplay replay E-7Q2MXK40ZD --data /srv/my-study --ask agent.onnx
  coplay replay E-7Q2MXK40ZD --data /srv/my-study --html supplement.html
  coplay replay E-7Q2MXK40ZD --data /srv/my-study --gif talk.gif --from 300 --to 400 --speed 0.5
  coplay replay E-7Q2MXK40ZD --data /srv/my-study --mp4 talk.mp4 --view 1 --width 960
  coplay replay E-7Q2MXK40ZD --data /srv/my-study --link --server https://study.example.edu --expires-h 48")]
pub struct ReplayArgs {
    /// The episode, as the column episode_id of the tables names it; a second one is shown beside it.
    #[arg(required = true, num_args = 1..=2, value_name = "EPISODE")]
    pub episodes: Vec<String>,
    /// Data folder.
    #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
    pub data: PathBuf,
    /// Write one HTML file with everything in it, instead of serving it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["port", "link"])]
    pub html: Option<PathBuf>,
    /// Include the chat.
    #[arg(long)]
    pub with_chat: bool,
    /// Also show what this controller would have done in each seat at each tick: a model (a file that ends in .onnx), or a
    /// policy of this program, such as cook. May be given several times; the AI partners of the episode are always asked.
    #[arg(long, value_name = "CONTROLLER", conflicts_with = "link")]
    pub ask: Vec<String>,
    /// Port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Print a signed link to the episode on a running server.
    #[arg(long, requires = "server")]
    pub link: bool,
    /// Public address of that server, such as https://study.example.edu.
    #[arg(long, value_name = "URL", requires = "link", value_parser = super::args::parse_address)]
    pub server: Option<String>,
    /// Hours until the link expires.
    #[arg(long, value_name = "HOURS", default_value_t = 24, requires = "link", value_parser = clap::value_parser!(u32).range(1..=87_600))]
    pub expires_h: u32,
    /// The video to write, instead of showing a page.
    #[command(flatten)]
    pub video: VideoArgs,
    /// Print one JSON object for scripts.
    #[arg(long)]
    pub json: bool,
}

/// The video that `coplay replay` writes.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("video_file").multiple(true))]
pub struct VideoArgs {
    /// Write a GIF of the episode, instead of showing a page.
    #[arg(long, value_name = "FILE", group = "video_file", conflicts_with_all = ["html", "port", "link", "ask", "with_chat"])]
    pub gif: Option<PathBuf>,
    /// Write an MP4 of the episode (H.264), instead of showing a page; needs the program ffmpeg.
    #[arg(long, value_name = "FILE", group = "video_file", conflicts_with_all = ["html", "port", "link", "ask", "with_chat"])]
    pub mp4: Option<PathBuf>,
    /// Of a video: the seat whose view is shown, instead of the whole world.
    #[arg(long, value_name = "SEAT", requires = "video_file")]
    pub view: Option<usize>,
    /// Of a video: width in pixels, about, as a cell of the world has whole pixels.
    #[arg(long, value_name = "PIXELS", requires = "video_file", default_value_t = 480, value_parser = clap::value_parser!(u32).range(16..=4_096))]
    pub width: u32,
    /// Of a video: speed, such as 4 for four times as fast; an episode that was played in turns shows one a second at 1.
    #[arg(long, value_name = "FACTOR", requires = "video_file", default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// Of a video: the first state, in ticks.
    #[arg(
        long,
        value_name = "TICK",
        requires = "video_file",
        default_value_t = 0
    )]
    pub from: u32,
    /// Of a video: the last state, in ticks; without it the end of the episode.
    #[arg(long, value_name = "TICK", requires = "video_file")]
    pub to: Option<u32>,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text
        .parse()
        .ok()
        .filter(|speed| (0.1..=100.0).contains(speed));
    speed.ok_or_else(|| "write a number from 0.1 to 100, such as 0.5 or 4".into())
}

/// Arguments of `coplay branch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Starts from the exact recorded state, and lets the new controller play the seat. AI partners in other seats react; people's
seats repeat their recorded actions, then do nothing.
The first run has the seed of the episode. Each later run has another seed, so runs differ if the new controller draws at
random. If all runs are equal, the report says so.

Examples:
  coplay branch E-7Q2MXK40ZD --tick 300 --seat 1 --with cook --data /srv/my-study
  coplay branch E-7Q2MXK40ZD --tick 300 --seat 1 --with agent.onnx --temperature 1 --runs 1000 --data /srv/my-study --json")]
pub struct BranchArgs {
    /// The episode, as the column episode_id of the tables names it.
    pub episode: String,
    /// Data folder.
    #[arg(long, default_value = "coplay-data", value_parser = data_folder())]
    pub data: PathBuf,
    /// Ticks after which the new controller begins.
    #[arg(long)]
    pub tick: u32,
    /// Its seat.
    #[arg(long)]
    pub seat: u32,
    /// The new controller: a model (a file that ends in .onnx), or a policy of this program, such as cook, random or idle.
    #[arg(long, value_name = "CONTROLLER")]
    pub with: String,
    /// Number of runs.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub runs: u32,
    /// For a model: choose at random, at this temperature, instead of taking the action with the greatest value.
    #[arg(long, value_parser = super::args::parse_positive)]
    pub temperature: Option<f64>,
    /// For a model: act every N ticks.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub every_ticks: u8,
    /// For a model: use the action mask, and choose only among the actions that it allows.
    #[arg(long)]
    pub action_mask: bool,
    /// Print one JSON object for scripts, with every run.
    #[arg(long)]
    pub json: bool,
}
