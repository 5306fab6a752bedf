//! `parity DIR [--module FILE.wasm]... [--json]`: the report of [`parity::run`] as a table or as JSON.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use parity::{FileReport, Report};
use serde_json::json;

fn main() -> Result<ExitCode> {
    let (mut folder, mut module, mut as_json) = (None, None, false);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--json") => as_json = true,
            Some("--module") => {
                let path = PathBuf::from(
                    arguments
                        .next()
                        .context("--module needs the path of a module")?,
                );
                // Others belong to environments without recordings.
                if path.file_stem().is_some_and(|stem| stem == "overcooked") {
                    module = Some(path);
                }
            }
            Some(option) if option.starts_with("--") => {
                bail!("there is no option {option}; there are --module and --json")
            }
            _ => folder = Some(PathBuf::from(argument)),
        }
    }
    let folder = folder.context("name the folder of the recordings")?;
    let reports = parity::run(&folder, module.as_deref())?;
    let random_play = module.as_deref().map(parity::agree).transpose()?;
    let failed = reports.iter().chain(&random_play).any(FileReport::failed);
    if as_json {
        let report = json!({
            "files": reports,
            "random_play": random_play,
            "mismatches": reports.iter().chain(&random_play).map(FileReport::mismatches).sum::<u64>(),
            "ok": !failed,
        });
        println!("{report}");
    } else {
        print_table(&folder, &reports, random_play.as_ref());
    }
    Ok(ExitCode::from(u8::from(failed)))
}

fn print_table(folder: &Path, reports: &[FileReport], random_play: Option<&FileReport>) {
    println!("{}", folder.display());
    reports.iter().chain(random_play).for_each(print_report);
    let failed = reports
        .iter()
        .chain(random_play)
        .filter(|report| report.failed())
        .count();
    let is_unknown = |report: &&FileReport| matches!(report.report, Report::Unknown { .. });
    let unknown = reports.iter().filter(is_unknown).count();
    println!(
        "{} played, {unknown} not there yet, {failed} failed",
        reports.len() - unknown
    );
}

fn print_report(FileReport { file, host, report }: &FileReport) {
    match report {
        Report::Compared {
            episodes,
            steps,
            mismatches,
            first,
            ..
        } => {
            println!(
                "  {file}  {host}: {episodes} episodes, {steps} steps, {mismatches} mismatches"
            );
            first.iter().for_each(|line| println!("    {line}"));
        }
        Report::Unknown { env } => println!("  {file}  {host}: {env} is not there yet"),
        Report::Malformed { reason } => println!("  {file}  {host}: malformed: {reason}"),
    }
}
