//! `bench env`: the environments beside their peers, in one run, and how the cost grows.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::plot::{self, Point};
use super::{DOCUMENT, gather, peers};
use crate::figures::{Figure, as_object, describe_machine, record, table};
use crate::options::Options;
use crate::workspace::{Workspace, output, say};
use crate::{build, setup};

/// A kind of work that is compared: ours, and the figures of peers beside it.
struct Row {
    ours: &'static str,
    peers: &'static [&'static str],
}

const COGRID_JAX: &str = "CoGrid JAX, 1,024 instances with observations";
const OVERCOOKED_AI: &str = "overcooked-ai, one instance, rules only";
const JAXMARL: &str = "JaxMARL, 1,024 instances with observations";

const ROWS: [Row; 6] = [
    Row {
        ours: "one instance, rules only",
        peers: &[OVERCOOKED_AI],
    },
    Row {
        ours: "CoGrid's rules and its 892 values, 1,024 instances, f32 observations, written whole, all cores",
        peers: &[COGRID_JAX, JAXMARL],
    },
    Row {
        ours: "CoGrid's rules and its 892 values, 1,024 instances, f32 observations, in place, all cores",
        peers: &[COGRID_JAX, JAXMARL],
    },
    Row {
        ours: "CoGrid's rules and its 892 values, 1,024 instances, compact observations, in place, all cores",
        peers: &[COGRID_JAX, JAXMARL],
    },
    Row {
        ours: "Python: 1,024 instances, f32 observations, one core",
        peers: &["1,024 instances, f32 observations in place, masks and infos, one core"],
    },
    Row {
        ours: "Python: 1,024 instances, compact observations, one core",
        peers: &["1,024 instances, compact observations in place, masks and infos, one core"],
    },
];

/// Measures, shows and, if that is wanted, writes down.
pub(super) fn command(workspace: &Workspace, options: &Options) -> Result<()> {
    let mut figures = load();
    let lines = native(workspace, &mut figures)?;
    let points: Vec<_> = lines.lines().filter_map(Point::read).collect();
    python(workspace, &mut figures)?;
    engines(workspace, &mut figures)?;
    let (mut theirs, missing) = peers::measure(workspace);
    figures.append(&mut theirs);
    let ratios = ratios(&figures);
    figures.extend(ratios);
    let date = output(workspace.command("date").args(["-u", "+%Y-%m-%d"]))?;
    let (machine, date) = (describe_machine(), date.trim());
    if options.has("json") {
        println!("{}", json(&figures, &points, &missing, &machine, date));
    } else {
        println!("{machine}, {date}\n{}", table(&figures));
        print!("{}", plot::table(&points));
        for name in &missing {
            println!("{name} could not be installed or run here, so nothing is compared with it.");
        }
    }
    if options.has("write") {
        write(workspace, &figures, &points, &machine, date)?;
    }
    Ok(())
}

/// The amount of other work on the machine, for readers of the figures.
fn load() -> Vec<Figure> {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let average = text.split(' ').next().and_then(|first| first.parse().ok());
    let figure = |value| {
        let name = "programs that run or wait, before this one (load average)".to_owned();
        Figure::new("machine", name, value, "")
    };
    average.map(figure).into_iter().collect()
}

fn native(workspace: &Workspace, figures: &mut Vec<Figure>) -> Result<String> {
    let mut cargo = workspace.cargo(&["bench", "-p", "batch", "--bench", "batch"]);
    gather("native", &mut cargo, figures)
}

/// The vector API of the Python package, if it is installed.
fn python(workspace: &Workspace, figures: &mut Vec<Figure>) -> Result<()> {
    let python = workspace.root.join(".venv/bin/python");
    let installed = workspace
        .command(&python)
        .args(["-c", "import coplay"])
        .output();
    if !installed.is_ok_and(|output| output.status.success()) {
        say("the Python package is left out: `cargo xtask python` builds and installs it");
        return Ok(());
    }
    let mut command = workspace.command(python);
    gather("Python", command.arg("python/benches/vector.py"), figures).map(drop)
}

/// The module in the browsers that are there.
fn engines(workspace: &Workspace, figures: &mut Vec<Figure>) -> Result<()> {
    let chromium = setup::find_chromium(workspace)?;
    build::build_modules(workspace)?;
    let module = workspace
        .target
        .join(setup::WASM)
        .join("wasm-release/examples/overcooked.wasm");
    let mut node = workspace.node(&chromium);
    node.arg("tests/e2e/engines.mjs")
        .arg("--module")
        .arg(module);
    node.arg("--browser")
        .arg(format!("Chromium={}", chromium.display()));
    match setup::find_firefox() {
        Some(firefox) => {
            node.arg("--browser")
                .arg(format!("Firefox={}", firefox.display()));
        }
        None => say("Firefox is left out: none is in PATH"),
    }
    gather("wasm", &mut node, figures).map(drop)
}

/// How many times a peer's figure ours is.
fn ratios(figures: &[Figure]) -> Vec<Figure> {
    let value = |name: &str| {
        figures
            .iter()
            .find(|figure| figure.name == name)
            .map(|figure| figure.value)
    };
    let mut ratios = Vec::new();
    for row in &ROWS {
        for peer in row.peers {
            if let (Some(ours), Some(theirs)) = (value(row.ours), value(peer)) {
                ratios.push(Figure::new(
                    "ours over theirs",
                    format!("{} / {peer}", row.ours),
                    ours / theirs,
                    "x",
                ));
            }
        }
    }
    if let Some(native) = value("one instance, rules only") {
        for engine in ["Chromium", "Firefox"] {
            if let Some(step) = value(&format!("{engine}: step")) {
                let name = format!("{engine}: step / native step");
                ratios.push(Figure::new(
                    "time in wasm over native",
                    name,
                    step * native / 1e9,
                    "x",
                ));
            }
        }
    }
    ratios
}

fn json(
    figures: &[Figure],
    points: &[Point],
    missing: &[&str],
    machine: &str,
    date: &str,
) -> Value {
    let mut object = as_object(figures, machine, date);
    object["series"] = points.iter().map(Point::json).collect();
    object["missing"] = json!(missing);
    object
}

fn write(
    workspace: &Workspace,
    figures: &[Figure],
    points: &[Point],
    machine: &str,
    date: &str,
) -> Result<()> {
    for (file, picture) in plot::pictures(points, &format!("{machine}, {date}")) {
        let path = workspace.root.join("docs/images").join(file);
        fs::write(&path, picture).with_context(|| format!("writing {}", path.display()))?;
    }
    let path = workspace.root.join(DOCUMENT);
    let old = fs::read_to_string(&path).with_context(|| format!("reading {DOCUMENT}"))?;
    let title = format!("Environments, {date}, {machine}");
    fs::write(&path, record(&old, figures, &title))
        .with_context(|| format!("writing {DOCUMENT}"))?;
    say(format_args!(
        "wrote {DOCUMENT} and the curves in docs/images"
    ));
    Ok(())
}
