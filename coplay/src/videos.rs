//! `coplay replay --gif` and `--mp4`: an episode as a video.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use coplay::cli::ReplayArgs;
use dataset::progress::LongWork;
use replay::DrawnEpisode;
use serde_json::{Value, json};
use signaling_server::replays::{open_log, stored_files};
use video::{VideoLook, VideoWriter, WrittenVideo};

/// Writes the videos that were asked for.
pub(crate) async fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let [episode] = &args.episodes[..] else {
        anyhow::bail!("a video shows one episode; name one");
    };
    let log = open_log(&args.data, episode)?;
    let withdrawn = store::read_withdrawn(&args.data).await?;
    ensure!(
        !withdrawn.groups.contains(&log.header.group),
        "somebody of the group of episode {episode} withdrew what was recorded"
    );
    let drawn = DrawnEpisode::open(&log, stored_files(&args.data))?;
    let (seats, ticks, order) = (drawn.count_seats(), drawn.ticks(), &args.video);
    if let Some(seat) = order.view {
        ensure!(
            seat < seats,
            "--view {seat}: episode {episode} has seats 0 to {}",
            seats - 1
        );
    }
    let (first, last) = (order.from, order.to.unwrap_or(ticks));
    ensure!(
        first <= last && last <= ticks,
        "--from {first}, --to {last}: episode {episode} has states 0 to {ticks}, and the last one of a video cannot be \
         before the first"
    );
    let look = VideoLook {
        width: order.width,
        states_hz: f64::from(drawn.states_hz()) * order.speed,
    };
    let files = [order.gif.clone(), order.mp4.clone()];
    let sprites = drawn.sprites().clone();
    let mut writer = VideoWriter::new(files.into_iter().flatten(), sprites, look)?;
    let (mut progress, mut added) = (LongWork::begin(ticks as usize + 1), Ok(()));
    let simulated = drawn.draw(order.view, |tick, list| {
        if (first..=last).contains(&tick) && added.is_ok() {
            added = writer.add_picture(list);
        }
        progress.finish_part("states");
    });
    // A file that cannot be written is the first thing to know.
    added?;
    simulated.with_context(|| format!("episode {episode} cannot be shown"))?;
    print_videos(&writer.finish()?, args.json)?;
    Ok(ExitCode::SUCCESS)
}

fn print_videos(written: &[WrittenVideo], is_json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if is_json {
        let file =
            |it: &WrittenVideo| json!({ "file": it.path, "frames": it.frames, "bytes": it.bytes });
        let files: Vec<Value> = written.iter().map(file).collect();
        return writeln!(out, "{}", json!({ "videos": files }));
    }
    for WrittenVideo {
        path,
        frames,
        bytes,
    } in written
    {
        let kilobytes = bytes.div_ceil(1_000);
        writeln!(
            out,
            "{} has {frames} frames and {kilobytes} kB",
            path.display()
        )?;
    }
    Ok(())
}
