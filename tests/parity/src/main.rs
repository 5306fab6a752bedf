//! `parity DIR [--module FILE.wasm]... [--json]`: the reports of [`parity::run`] as a table or as JSON.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use parity::{FileReport, Modules, Report};
use serde_json::json;

fn main() -> Result<ExitCode> {
    let (mut folder, mut modules, mut as_json) = (None, Modules::default(), false);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--json") => as_json = true,
            Some("--module") => {
                let path = arguments.next();
                modules.add(path.context("--module needs the path of a module")?.into());
            }
            Some(option) if option.starts_with("--") => {
                bail!("there is no option {option}; there are --module and --json")
            }
            _ => folder = Some(PathBuf::from(argument)),
        }
    }
    let folder = folder.context("name the folder of the recordings")?;
    let mut reports = Vec::new();
    // The table grows as files are played; what would be in the way of JSON goes aside.
    let mut add = |report: FileReport| {
        if as_json {
            eprintln!("{}: {}", report.file, words(&report));
        } else {
            print(&report);
        }
        reports.push(report);
    };
    parity::run(&folder, &mut modules, &mut add)?;
    let recorded = |report: &FileReport| report.is_equal();
    for report in parity::agree(&mut modules)? {
        add(report);
    }
    let failed = reports.iter().filter(|report| !recorded(report)).count();
    let mismatches: u64 = reports.iter().map(FileReport::mismatches).sum();
    let steps: u64 = reports.iter().map(FileReport::steps).sum();
    if as_json {
        let files = reports.iter().map(|report| {
            let mut file = json!(report);
            file["mismatches"] = report.mismatches().into();
            file
        });
        let report = json!({
            "files": files.collect::<Vec<_>>(),
            "steps": steps,
            "mismatches": mismatches,
            "failed": failed,
            "ok": failed == 0,
        });
        println!("{report}");
    } else {
        println!("{steps} steps, {mismatches} mismatches");
        println!("{} played, {failed} failed", reports.len());
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn print(report: &FileReport) {
    println!("{:<52} {:<7} {}", report.file, report.host, words(report));
    if let Report::Compared {
        differing, first, ..
    } = &report.report
        && !differing.is_empty()
    {
        let fields: Vec<String> = differing
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        println!("    {}", fields.join(", "));
        first.iter().for_each(|line| println!("    {line}"));
    }
}

fn words(report: &FileReport) -> String {
    match &report.report {
        Report::Compared {
            environment,
            episodes,
            steps,
            ..
        } => {
            let mismatches = report.mismatches();
            format!(
                "{environment:<14} {episodes:>4} episodes {steps:>7} steps {mismatches:>6} mismatches"
            )
        }
        Report::Unsupported { env, reason } => format!("{env} is not supported: {reason}"),
        Report::Malformed { reason } => format!("malformed: {reason}"),
    }
}
