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
    let failed = reports.iter().any(FileReport::failed);
    if as_json {
        println!(
            "{}",
            json!({ "files": reports, "mismatches": mismatches(&reports), "ok": !failed })
        );
    } else {
        print_table(&folder, &reports);
    }
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn mismatches(reports: &[FileReport]) -> u64 {
    let of = |report: &FileReport| {
        if let Report::Compared { mismatches, .. } = report.report {
            mismatches
        } else {
            0
        }
    };
    reports.iter().map(of).sum()
}

fn print_table(folder: &Path, reports: &[FileReport]) {
    println!("{}", folder.display());
    for FileReport { file, host, report } in reports {
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
    let failed = reports.iter().filter(|report| report.failed()).count();
    let unknown = reports
        .iter()
        .filter(|report| matches!(report.report, Report::Unknown { .. }))
        .count();
    println!(
        "{} compared, {unknown} not there yet, {failed} failed",
        reports.len() - unknown
    );
}
