//! `net`: matches of real browsers that a bad network keeps apart, in every pairing.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::options::{Options, Takes};
use crate::workspace::{CHECKED, Workspace, run};
use crate::{build, setup};

const HELP: &str = "\
cargo xtask net

Plays matches with Chromium and Firefox in every pairing and with four people.
Across networks (tests/e2e/network.test.mjs): delay, jitter, loss, packets out of order,
no UDP, nothing but the port of the page, relay only, and a direct way that closes in the
middle. With a participant whose WebRTC is not a browser's (tests/e2e/native.test.mjs).
With people who come and go (tests/e2e/people.test.mjs): a tab that is killed,
reloads at any tick, a second tab, a tab that is hidden, and one that is for too long.
With many of them (tests/e2e/crowd.test.mjs): sixteen seats.
Each machine is a network namespace, so this needs root and /dev/net/tun; the packets
between them pass through tests/net, which counts who speaks to whom.
The test command plays the same with one pairing.";

/// `cargo xtask net`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        ..Takes::default()
    };
    if Options::parse(parser, takes)?.is_none() {
        return Ok(());
    }
    let workspace = Workspace::find()?;
    let chromium = setup::find_chromium(&workspace)?;
    build::build_all(&workspace, false)?;
    let others = ["build", "--profile", CHECKED, "-p", "net", "-p", "hostile"];
    run(
        "building the network of namespaces, and the participant without a browser",
        &mut workspace.cargo(&others),
    )?;
    let mut node = pairings_command(&workspace, &chromium, &workspace.server())?;
    run("matches between namespaces", &mut node)
}

/// The matches in every pairing, with this program as the server.
pub(crate) fn pairings_command(
    workspace: &Workspace,
    chromium: &Path,
    coplay: &Path,
) -> Result<Command> {
    setup::set_up_others(workspace);
    if setup::find_firefox().is_none() {
        bail!("there is no Firefox; COPLAY_FIREFOX names one");
    }
    let mut node = workspace.node(chromium);
    node.args(["--test", "--test-reporter=spec", "--test-concurrency=1"]);
    node.args(["network.test.mjs", "native.test.mjs"]);
    node.args(["people.test.mjs", "crowd.test.mjs"]);
    node.current_dir(workspace.root.join("tests/e2e"));
    node.env("COPLAY_BIN", coplay).env("COPLAY_NET_LONG", "1");
    Ok(node)
}
