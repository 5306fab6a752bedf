//! `bench`: runs the programs that measure, and shows or keeps what they found.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::figures::{Figure, as_object, describe_machine, record, table};
use crate::options::{Options, Takes};
use crate::workspace::{Workspace, output, say};
use crate::{build, setup};

mod agents;
mod environments;
mod host;
mod peers;
mod plot;
mod rollback;
mod server;

const HELP: &str = "\
cargo xtask bench [agents | data | env | host | rollback | server] [--json] [--write]

agents     a decision of a 2x64 network, JaxMARL's convolutional network and a GRU of 128, exported by PyTorch:
           natively beside onnxruntime on one thread, in Chromium and Firefox beside onnxruntime-web, with the
           bytes that a page downloads, and on a processor that is slowed four times; steps per second of the
           Overcooked dialects with observations, beside their originals; minutes of training until 7.5 deliveries
env        the environments alone: in batches, in wasm, from Python, beside their peers
           (CoGrid, overcooked-ai, JaxMARL, installed from their packages), with curves
host       what a host adds to the environment's own step: natively, and in Python over its pipe; how many episodes
           keep time; from key to picture at three round trips, and the bytes that a page receives
rollback   the session beside GGRS 0.13 in one run: ticks natively and in wasm, and matches in
           virtual time on one simulated network, with the targets
data       100 hours of play: episodes verified per second and core, rows exported per second,
           bytes per participant-hour and the greatest memory of each format; a replay opened and sought through,
           and branches per second
server     crowds of 100 to 2,000 people who play in pairs over real sockets, beside NiceWebRL: processor, memory
           per session, acknowledgements, bytes, and whether anything acknowledged is lost

Without it, the whole system. Native: steps per second, save and load, the session tick with and without rollback.
Browser: the same in wasm, the first load on a cold cache, key press to changed pixel
at three round trips, and the bytes of a match. Takes some minutes; keep the machine idle.

--json     one object: machine, date, figures [{group, name, value, unit}]
--write    puts the figures into docs/benchmarks.md, by machine and date
--sizes N,N  with server: these crowds instead";

const DOCUMENT: &str = "docs/benchmarks.md";

/// `cargo xtask bench`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        switches: &["json", "write"],
        values: &["sizes"],
        argument: true,
    };
    let Some(options) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let workspace = Workspace::find()?;
    let figures = match options.argument.as_deref() {
        None => measure(&workspace)?,
        Some("agents") => agents::measure(&workspace)?,
        Some("data") => measure_data(&workspace)?,
        Some("env") => return environments::command(&workspace, &options),
        Some("host") => return host::command(&workspace, &options),
        Some("rollback") => return rollback::command(&workspace, &options),
        Some("server") => return server::command(&workspace, &options),
        Some(other) => {
            bail!(
                "there is no bench `{other}`; there is: agents, data, env, host, rollback, server, or none for the whole system"
            )
        }
    };
    let date = output(workspace.command("date").args(["-u", "+%Y-%m-%d"]))?;
    let (machine, date) = (describe_machine(), date.trim());
    if options.has("json") {
        println!("{}", as_object(&figures, &machine, date));
    } else {
        println!("{machine}, {date}\n{}", table(&figures));
    }
    if options.has("write") {
        let path = workspace.root.join(DOCUMENT);
        let old = fs::read_to_string(&path).with_context(|| format!("reading {DOCUMENT}"))?;
        let kind = match options.argument.as_deref() {
            Some("agents") => "Agents, ",
            Some("data") => "Data, ",
            _ => "",
        };
        let title = format!("{kind}{date}, {machine}");
        fs::write(&path, record(&old, &figures, &title))
            .with_context(|| format!("writing {DOCUMENT}"))?;
        say(format_args!("wrote {DOCUMENT}"));
    }
    Ok(())
}

/// The figures of verification and export, of replays and branches.
fn measure_data(workspace: &Workspace) -> Result<Vec<Figure>> {
    let chromium = setup::find_chromium(workspace)?;
    build::build_all(workspace, false)?;
    let mut figures = Vec::new();
    let mut cargo = workspace.cargo(&["bench", "-p", "dataset", "--bench", "data"]);
    gather("data", &mut cargo, &mut figures)?;
    let mut node = workspace.node(&chromium);
    gather(
        "data, looked at",
        node.arg("tests/e2e/bench_data.mjs"),
        &mut figures,
    )?;
    Ok(figures)
}

fn measure(workspace: &Workspace) -> Result<Vec<Figure>> {
    let chromium = setup::find_chromium(workspace)?;
    build::build_all(workspace, false)?;
    let mut figures = Vec::new();
    let mut native = |group, package, bench| {
        let mut cargo = workspace.cargo(&["bench", "-p", package, "--bench", bench]);
        gather(group, &mut cargo, &mut figures).map(drop)
    };
    native("environment, native", "env-core", "env")?;
    native("session, native", "rollback", "session")?;
    let mut node = workspace.node(&chromium);
    node.arg("tests/e2e/bench.mjs")
        .arg("--module")
        .arg(workspace.module("overcooked"));
    gather("browser", &mut node, &mut figures)?;
    Ok(figures)
}

/// Runs a program, adds its figures, and gives all that it printed.
fn gather(group: &'static str, command: &mut Command, figures: &mut Vec<Figure>) -> Result<String> {
    say(format_args!("measuring: {group}"));
    let before = figures.len();
    let text = output(command)?;
    figures.extend(text.lines().filter_map(|line| Figure::read(group, line)));
    if figures.len() == before {
        bail!("{group}: the program printed no figure");
    }
    Ok(text)
}
