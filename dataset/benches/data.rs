//! The cost of verifying and exporting a study: episodes of Overcooked for two people, 600 ticks at 10 Hz, with what their
//! pages recorded. Prints one JSON object a line: name, value, unit. `cargo xtask bench data` shows them.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use archive::Episode;
use archive::fixtures::{PERSON, header, two_pages};
use dataset::export::{ExportOptions, StopFlag, TableFormat, export};
use dataset::lerobot::export_lerobot;
use dataset::minari::export_minari;
use dataset::verify::{EpisodeVerdict, verify_data};
use protocol::Seat;
use protocol::control::EndReason;
use protocol::log::Header;
use tokio::runtime::Runtime;

const TICKS: u32 = 600;
const HZ: u16 = 10;

/// Hours of all people in an episode.
const HOURS: f64 = TICKS as f64 / HZ as f64 / 3_600.0 * 2.0;

/// Episodes: `COPLAY_BENCH_EPISODES`, or these, which are 100 hours.
const EPISODES: u32 = 3_000;

fn print(name: &str, value: f64, unit: &str) {
    println!(
        "{}",
        serde_json::json!({"name": name, "value": value, "unit": unit})
    );
}

/// The argument of a process that writes one format; the format, the data folder and the folder to write follow.
const ALONE: &str = "--alone";

/// The formats that are no tables.
const DATASETS: [&str; 2] = ["minari", "lerobot"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [alone, format, data, out] if alone == ALONE => {
            write_format(format, Path::new(data), Path::new(out));
        }
        _ => measure(),
    }
}

fn measure() {
    let episodes = std::env::var("COPLAY_BENCH_EPISODES");
    let episodes = episodes.map_or(EPISODES, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    play(&data, episodes);
    let hours = f64::from(episodes) * HOURS;
    print("hours of play of all people", hours, "h");
    let bytes = folder_len(&data) as f64;
    print(
        "log of an episode, per participant-hour",
        bytes / hours / 1e6,
        "MB",
    );
    measure_verification(&data, episodes);
    let tables = TableFormat::ALL.map(TableFormat::extension);
    for format in tables.into_iter().chain(DATASETS) {
        // A process has one greatest memory, so each format has a process.
        let out = folder.path().join(format);
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone.args([ALONE, format]).args([&data, &out]);
        assert!(alone.status().unwrap().success(), "{format}");
        fs::remove_dir_all(out).unwrap();
    }
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.build().unwrap()
}

fn measure_verification(data: &Path, episodes: u32) {
    let before = Instant::now();
    let report = runtime().block_on(verify_data(data)).unwrap();
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
    if let Some(peak) = peak_memory() {
        print("verification: greatest memory", peak, "MB");
    }
}

/// Writes one format, and prints what that costs this process.
fn write_format(format: &str, data: &Path, out: &Path) {
    let logs = fs::read_dir(data.join(archive::FOLDER)).unwrap().count();
    let hours = logs as f64 * HOURS;
    let before = Instant::now();
    let mut tables = TableFormat::ALL.into_iter();
    let table = tables.find(|it| it.extension() == format);
    let (rows, unit) = match table {
        Some(table) => (write_tables(table, data, out, logs), "rows"),
        None => (write_datasets(format, data, out), "steps"),
    };
    let rate = rows as f64 / before.elapsed().as_secs_f64();
    print(
        &format!("{format}: exported {unit} per second"),
        rate,
        &format!("{unit}/s"),
    );
    let bytes = folder_len(out) as f64;
    print(
        &format!("{format}: per participant-hour"),
        bytes / hours / 1e6,
        "MB",
    );
    if let Some(peak) = peak_memory() {
        print(&format!("{format}: greatest memory"), peak, "MB");
    }
}

/// Writes tables; returns the number of their rows.
fn write_tables(format: TableFormat, data: &Path, out: &Path, logs: usize) -> u64 {
    let options = ExportOptions {
        format,
        ..ExportOptions::default()
    };
    let report = runtime().block_on(export(data, out, &options)).unwrap();
    let steps = logs as u64 * u64::from(TICKS) * 2;
    assert_eq!(report.count_rows("steps"), Some(steps));
    report.tables.iter().map(|table| table.rows).sum()
}

/// Writes data sets; returns the number of their steps.
fn write_datasets(format: &str, data: &Path, out: &Path) -> u64 {
    let stop = StopFlag::default();
    let report = match format {
        "minari" => runtime().block_on(export_minari(data, out, &stop)),
        _ => runtime().block_on(export_lerobot(data, out, &stop)),
    };
    let datasets = report.unwrap().datasets;
    datasets.iter().map(|dataset| dataset.steps as u64).sum()
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
