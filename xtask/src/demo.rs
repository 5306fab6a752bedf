//! `demo`: the first match, for two people in their own browsers or for two headless ones.

use anyhow::{Result, bail};

use crate::options::{Options, Takes};
use crate::workspace::{Workspace, become_program, say};
use crate::{build, setup};

const STUDY: &str = "examples/overcooked-dyad";

const HELP: &str = "\
cargo xtask demo [--port 8080] [--data DIR]
cargo xtask demo --headless [--latency-ms N] [--loss P] [--json] [--data DIR] [--keep]

Sets up what is missing, builds, and starts the study examples/overcooked-dyad:
one page of instructions, a waiting room, 90 seconds of Overcooked for two, two
questions, and a thank-you page. Open the two links that it prints in two windows.
One person alone gets an AI partner when the waiting room's time is up.

--port N         port of the server (default 8080)
--data DIR       where episodes and answers go (default coplay-dev-data, and for each
                 headless run a new folder in coplay-data)

--headless       two headless Chromium pages play it instead, with real key presses,
                 and the digests of both and of the server's replica are compared.
                 Exits non-zero if they differ or if no soup was delivered
--latency-ms N   delays every packet between the pages by N ms, each way
--loss P         loses this share of them, each way, such as 0.05
--json           prints one object: ticks, deliveries, rollbacks, max_rollback_depth,
                 rtt_ms, digests {peer_0, peer_1, replica}, episode_path
--keep           leaves the server running when the match is over";

const TAKES: Takes = Takes {
    help: HELP,
    switches: &["headless", "json", "keep"],
    values: &["port", "data", "latency-ms", "loss"],
    argument: false,
};

/// `cargo xtask demo`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let Some(options) = Options::parse(parser, TAKES)? else {
        return Ok(());
    };
    check(&options)?;
    let workspace = Workspace::find()?;
    if options.has("headless") {
        headless(&workspace, &options)
    } else {
        people(&workspace, &options)
    }
}

fn check(options: &Options) -> Result<()> {
    options.number::<u16>("port")?;
    options.number::<u32>("latency-ms")?;
    if options
        .number::<f64>("loss")?
        .is_some_and(|loss| !(0.0..1.0).contains(&loss))
    {
        bail!(
            "--loss is a share from 0 up to, but not including, 1: 0.05 loses one packet in twenty"
        );
    }
    let alone = ["json", "keep"].into_iter().find(|name| options.has(name));
    let alone = alone.or_else(|| {
        ["latency-ms", "loss"]
            .into_iter()
            .find(|name| options.value(name).is_some())
    });
    match alone {
        Some(name) if !options.has("headless") => bail!("--{name} goes with --headless"),
        _ => Ok(()),
    }
}

fn people(workspace: &Workspace, options: &Options) -> Result<()> {
    build::build_all(workspace, false)?;
    say("starting the server; Ctrl-C ends it");
    let mut server = workspace.command(workspace.server());
    server.args([
        "dev",
        STUDY,
        "--port",
        options.value("port").unwrap_or("8080"),
    ]);
    if let Some(data) = options.value("data") {
        server.args(["--data", data]);
    }
    become_program(server)
}

fn headless(workspace: &Workspace, options: &Options) -> Result<()> {
    let chromium = setup::find_chromium(workspace)?;
    build::build_all(workspace, false)?;
    say("two headless pages play the study");
    let mut demo = workspace.node(&chromium);
    demo.args(["tests/e2e/demo.mjs", "--study", STUDY]);
    for name in ["port", "data", "latency-ms", "loss"] {
        if let Some(value) = options.value(name) {
            demo.arg(format!("--{name}")).arg(value);
        }
    }
    for name in ["json", "keep"]
        .into_iter()
        .filter(|name| options.has(name))
    {
        demo.arg(format!("--{name}"));
    }
    become_program(demo)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &[&str]) -> Result<()> {
        check(&Options::parse(lexopt::Parser::from_args(line), TAKES)?.unwrap())
    }

    #[test]
    fn a_percentage_is_not_taken_for_a_share() {
        assert!(given(&["--headless", "--loss", "0.05"]).is_ok());
        assert!(given(&["--headless", "--loss", "5"]).is_err());
    }

    #[test]
    fn network_faults_need_headless_pages() {
        assert!(
            given(&["--latency-ms", "120"])
                .unwrap_err()
                .to_string()
                .contains("--headless")
        );
    }
}
