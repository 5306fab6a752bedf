//! One honest participant without a browser, who takes part in a running study: for tests in which browsers play with an
//! implementation of WebRTC that is not a browser's.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Context as _;
use clock::Clock;
use lexopt::prelude::*;
use rehearsal::HonestPage;
use serde_json::json;

const HELP: &str = "\
honest --address HOST:PORT --study FOLDER --link TOKEN [--seed N]

Takes part in a study by a participant link, over data channels of WebRTC. At the end
prints one JSON line: the outcome on the last page, the reason if there is none, and
how packets travelled at the ends of episodes.

Exits with 1 if there is no outcome.";

/// How often it is looked whether the participant is done.
const LOOKS: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    match take_part() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Takes part; false if that came to no outcome.
fn take_part() -> anyhow::Result<bool> {
    let (mut address, mut study, mut link, mut seed) = (None, None, None, 1);
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("address") => address = Some(parser.value()?.string()?),
            Long("study") => study = Some(PathBuf::from(parser.value()?)),
            Long("link") => link = Some(parser.value()?.string()?),
            Long("seed") => seed = parser.value()?.parse()?,
            Long("help") | Short('h') => {
                println!("{HELP}");
                return Ok(true);
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let (address, study) = (
        address.context("--address is missing")?,
        study.context("--study is missing")?,
    );
    let query = [("s".to_owned(), link.context("--link is missing")?)];
    let page = HonestPage::enter(&address, &study, &Clock::start(), &query, seed, true)?;
    while !page.is_over() {
        sleep(LOOKS);
    }
    let outcome = page.outcome();
    if outcome.is_none() {
        eprintln!("{}", page.trace());
    }
    let report =
        json!({ "outcome": outcome, "stuck": page.stuck_stage(), "links": page.link_counts() });
    println!("{report}");
    Ok(report["outcome"].is_string())
}
