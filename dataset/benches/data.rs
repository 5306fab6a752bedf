//! The cost of verifying and exporting a study: episodes of Overcooked for two people, 600 ticks at 10 Hz, with what their
//! pages recorded. Prints one JSON object a line: name, value, unit. `cargo xtask bench data` shows them.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::fs;
use std::path::Path;
use std::time::Instant;

use archive::Episode;
use archive::fixtures::{PERSON, header, two_pages};
use dataset::export::{ExportOptions, StopFlag, TableFormat, export};
use dataset::lerobot::export_lerobot;
use dataset::minari::export_minari;
use dataset::verify::{EpisodeVerdict, verify};
use protocol::Seat;
use protocol::control::EndReason;
use protocol::log::Header;

const TICKS: u32 = 600;
const HZ: u16 = 10;

/// Episodes: `COPLAY_BENCH_EPISODES`, or these.
const EPISODES: u32 = 120;

fn print(name: &str, value: f64, unit: &str) {
    println!(
        "{}",
        serde_json::json!({"name": name, "value": value, "unit": unit})
    );
}

fn main() {
    let episodes = std::env::var("COPLAY_BENCH_EPISODES");
    let episodes = episodes.map_or(EPISODES, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    play(&data, episodes);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let hours = f64::from(episodes) * f64::from(TICKS) / f64::from(HZ) / 3_600.0 * 2.0;
    let bytes = folder_len(&data) as f64;
    print(
        "log of an episode, per participant-hour",
        bytes / hours / 1e6,
        "MB",
    );

    let before = Instant::now();
    let report = runtime.block_on(verify(&data)).unwrap();
    let seconds = before.elapsed().as_secs_f64();
    let equal = report
        .episodes
        .iter()
        .filter(|episode| episode.verdict == EpisodeVerdict::Equal);
    assert_eq!(equal.count(), episodes as usize, "{report}");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rate = f64::from(episodes) / seconds;
    print(
        "episodes of 600 ticks verified, per second",
        rate,
        "episodes/s",
    );
    print(
        "episodes of 600 ticks verified, per second and core",
        rate / cores as f64,
        "episodes/s",
    );

    for format in TableFormat::ALL {
        let name = format.extension();
        let out = folder.path().join(name);
        let options = ExportOptions {
            format,
            ..ExportOptions::default()
        };
        let before = Instant::now();
        let report = runtime.block_on(export(&data, &out, &options)).unwrap();
        let seconds = before.elapsed().as_secs_f64();
        assert_eq!(
            report.count_rows("steps"),
            Some(u64::from(episodes * TICKS * 2))
        );
        let rows: u64 = report.tables.iter().map(|table| table.rows).sum();
        print(
            &format!("{name}: exported rows per second"),
            rows as f64 / seconds,
            "rows/s",
        );
        let bytes = folder_len(&out) as f64;
        print(
            &format!("{name}: per participant-hour"),
            bytes / hours / 1e6,
            "MB",
        );
    }
    let stop = StopFlag::default();
    for name in ["minari", "lerobot"] {
        let out = folder.path().join(name);
        let before = Instant::now();
        let report = match name {
            "minari" => runtime.block_on(export_minari(&data, &out, &stop)),
            _ => runtime.block_on(export_lerobot(&data, &out, &stop)),
        };
        let datasets = report.unwrap().datasets;
        let steps: usize = datasets.iter().map(|dataset| dataset.steps).sum();
        print(
            &format!("{name}: steps per second"),
            steps as f64 / before.elapsed().as_secs_f64(),
            "steps/s",
        );
        print(
            &format!("{name}: per participant-hour"),
            folder_len(&out) as f64 / hours / 1e6,
            "MB",
        );
    }
    if let Some(peak) = peak_memory() {
        print("greatest memory of all of this", peak, "MB");
    }
}

/// Writes the logs of episodes, each played by two people.
fn play(data: &Path, episodes: u32) {
    let folder = data.join(archive::FOLDER);
    fs::create_dir_all(&folder).unwrap();
    for number in 0..episodes {
        let header = Header {
            episode: format!("e-{number}"),
            module: String::new(),
            tick_hz: HZ,
            seed: number.into(),
            ..header([PERSON, PERSON], TICKS)
        };
        let pages = two_pages(&header);
        let mut episode = Episode::create(&folder, header).unwrap();
        for (seat, page) in (0..).map(Seat).zip(&pages) {
            episode.append_upload(seat, &page.upload).unwrap();
        }
        episode.end(EndReason::Played).unwrap();
    }
}

fn folder_len(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let lens = entries.map(|entry| match entry.path().is_dir() {
        true => folder_len(&entry.path()),
        false => entry.metadata().unwrap().len(),
    });
    lens.sum()
}

/// The greatest memory of this process so far, megabytes; `None` where the system does not say it.
fn peak_memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1_000.0)
}
