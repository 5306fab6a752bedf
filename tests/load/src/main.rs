//! Crowds of participants' pages over real WebSockets, against the real program.
//!
//! `load` starts `coplay serve` as its own process, has people take part in pairs, measures both processes while
//! everybody plays, stops the server, and counts in the verified data whether anything acknowledged is lost. Datagrams
//! between pages are handed over in memory, as between browsers they do not pass through the server.

#![forbid(unsafe_code)]

mod crowd;
mod hands;
mod machine;
mod page;
mod report;
mod run;
mod server;
mod study;
mod switchboard;
mod tally;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use lexopt::prelude::*;
use tokio::task::LocalSet;

use run::LoadOptions;

const HELP: &str = "\
load [--sessions N] [--per-s RATE] [--window-s SECONDS] [--relayed] [--keep DIR]

Has N people play in pairs on the server that the environment variable COPLAY_BIN names, and says what it costs.
It prints a line `{name, value, unit}` for each figure.

--sessions N       people, an even number [default: 100]
--per-s RATE       people who arrive in a second [default: 50]
--window-s SECONDS time to measure once everybody plays [default: 60]
--relayed          all datagrams go through the server, as between pages that cannot reach each other
--keep DIR         keep study, data and the server's log in this new folder

Exits with 1 if anything that was acknowledged is lost, somebody did not reach the end, or the data do not verify.";

fn main() -> ExitCode {
    match load() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the command line, and runs; false if something is lost.
fn load() -> anyhow::Result<bool> {
    let Some(options) = read_options()? else {
        return Ok(true);
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let report = LocalSet::new().block_on(&runtime, async {
        tokio::select! {
            report = run::run(&options) => report,
            _ = tokio::signal::ctrl_c() => anyhow::bail!("stopped"),
        }
    })?;
    report.print();
    Ok(report.is_good())
}

fn read_options() -> anyhow::Result<Option<LoadOptions>> {
    let program = std::env::var_os("COPLAY_BIN");
    let mut options = LoadOptions {
        program: PathBuf::new(),
        sessions: 100,
        per_s: 50.0,
        window_s: 60,
        is_direct: true,
        keep: None,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("sessions") => options.sessions = parser.value()?.parse()?,
            Long("per-s") => options.per_s = parser.value()?.parse()?,
            Long("window-s") => options.window_s = parser.value()?.parse()?,
            Long("relayed") => options.is_direct = false,
            Long("keep") => options.keep = Some(parser.value()?.into()),
            Long("help") | Short('h') => {
                println!("{HELP}");
                return Ok(None);
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let is_even = options.sessions > 0 && options.sessions.is_multiple_of(2);
    ensure!(
        is_even && options.sessions <= 20_000,
        "--sessions {} is no even number from 2 to 20000: people play in pairs",
        options.sessions
    );
    ensure!(
        options.per_s > 0.0,
        "--per-s {} is no rate above 0",
        options.per_s
    );
    ensure!(options.window_s > 0, "--window-s must be at least 1");
    options.program = program
        .context("COPLAY_BIN names no program; set it to a `coplay`")?
        .into();
    Ok(Some(options))
}
