//! The server under load: crowds of several sizes play on the real program, side by side with NiceWebRL's figures.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::DOCUMENT;
use crate::figures::{Figure, describe_machine, make_section};
use crate::options::Options;
use crate::workspace::{Workspace, output, run, say};

/// The sizes of the curve.
const SIZES: [usize; 4] = [100, 500, 1_000, 2_000];

/// The largest crowd whose datagrams are also sent through the server.
const RELAYED_UP_TO: usize = 500;

/// The most memory that a session may take beyond its world.
const MEMORY_KB: f64 = 50.0;

/// The figure that [`MEMORY_KB`] is about, as the load generator names it.
const MEMORY: &str = "server: memory per session beyond its half of a world";

/// A crowd and its figures.
struct Crowd {
    sessions: usize,
    is_relayed: bool,
    /// True if nobody and nothing was lost.
    is_good: bool,
    figures: Vec<Figure>,
}

impl Crowd {
    fn title(&self) -> String {
        match self.is_relayed {
            true => format!("{}, relayed", self.sessions),
            false => self.sessions.to_string(),
        }
    }

    fn find(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

/// `cargo xtask bench server`.
pub(super) fn command(workspace: &Workspace, options: &Options) -> Result<()> {
    let sizes = read_sizes(options.value("sizes"))?;
    let programs = [
        "-p", "coplay", "-p", "load", "--bin", "coplay", "--bin", "load",
    ];
    let mut cargo = workspace.cargo(&["build", "--quiet", "--release"]);
    run("the program and the load generator", cargo.args(programs))?;
    let mut crowds = Vec::new();
    for sessions in &sizes {
        crowds.push(measure(workspace, *sessions, false)?);
    }
    for sessions in sizes.iter().filter(|sessions| **sessions <= RELAYED_UP_TO) {
        crowds.push(measure(workspace, *sessions, true)?);
    }
    let date = output(workspace.command("date").args(["-u", "+%Y-%m-%d"]))?;
    let (machine, date) = (describe_machine(), date.trim());
    if options.has("json") {
        println!("{}", object(&crowds, &machine, date));
    } else {
        println!("{machine}, {date}\n\n{}", table(&crowds));
    }
    if options.has("write") {
        let path = workspace.root.join(DOCUMENT);
        let old = fs::read_to_string(&path).with_context(|| format!("reading {DOCUMENT}"))?;
        let title = format!("Server under load, {date}, {machine}");
        let text = format!(
            "Command: `cargo xtask bench server --write`.\n\n{}",
            table(&crowds)
        );
        fs::write(&path, make_section(&old, &title, &text))
            .with_context(|| format!("writing {DOCUMENT}"))?;
        say(format_args!("wrote {DOCUMENT}"));
    }
    let bad: Vec<String> = crowds
        .iter()
        .filter(|of| !of.is_good)
        .map(Crowd::title)
        .collect();
    if !bad.is_empty() {
        bail!(
            "with these sessions something was lost, or somebody did not reach the end: {}; the figures say what",
            bad.join("; ")
        );
    }
    Ok(())
}

/// The sizes of crowds in `--sizes`.
fn read_sizes(given: Option<&str>) -> Result<Vec<usize>> {
    let Some(given) = given else {
        return Ok(SIZES.to_vec());
    };
    let read = |size: &str| {
        let number = size.trim().parse().ok();
        let fits = number.filter(|number: &usize| *number > 0 && number.is_multiple_of(2));
        fits.with_context(|| {
            format!("--sizes {size} is no even number above 0: people play in pairs; write --sizes 100,500")
        })
    };
    given.split(',').map(read).collect()
}

fn measure(workspace: &Workspace, sessions: usize, is_relayed: bool) -> Result<Crowd> {
    let way = if is_relayed {
        ", all datagrams through the server"
    } else {
        ""
    };
    say(format_args!("{sessions} sessions{way}"));
    let release = workspace.server();
    let generator = release.with_file_name(format!("load{}", std::env::consts::EXE_SUFFIX));
    let mut load = on_two_cores(workspace, &generator);
    load.env("COPLAY_BIN", &release);
    load.args(["--sessions", &sessions.to_string()]);
    if is_relayed {
        load.arg("--relayed");
    }
    // A crowd that lost something prints its figures too.
    let ran = load.stderr(Stdio::inherit()).output().context(
        "starting the load generator; on more than two cores, `taskset` of util-linux starts it",
    )?;
    let text = String::from_utf8(ran.stdout).context("the load generator's figures")?;
    let figures: Vec<Figure> = text
        .lines()
        .filter_map(|line| Figure::read("server", line))
        .collect();
    if figures.is_empty() {
        bail!("{sessions} sessions: the load generator printed no figure");
    }
    Ok(Crowd {
        sessions,
        is_relayed,
        is_good: ran.status.success(),
        figures,
    })
}

/// A program that is kept to two cores, with the processes that it starts, on a machine that has more.
fn on_two_cores(workspace: &Workspace, program: &Path) -> Command {
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() <= 2) {
        return workspace.command(program);
    }
    let mut command = workspace.command("taskset");
    command.args(["--cpu-list", "0,1"]).arg(program);
    command
}

/// The names and units of all figures, in the order of the first crowd.
fn rows(crowds: &[Crowd]) -> Vec<(&str, &str)> {
    let mut known = BTreeSet::new();
    let all = crowds.iter().flat_map(|crowd| &crowd.figures);
    let new = all.filter(|figure| known.insert(figure.name.as_str()));
    new.map(|figure| (figure.name.as_str(), figure.unit()))
        .collect()
}

fn table(crowds: &[Crowd]) -> String {
    let mut text = "| Figure | Unit |".to_owned();
    for crowd in crowds {
        let _ = write!(text, " {} |", crowd.title());
    }
    text += "\n| --- | --- |";
    text += &" ---: |".repeat(crowds.len());
    for (name, unit) in rows(crowds)
        .into_iter()
        .filter(|(name, _)| *name != "sessions")
    {
        let _ = write!(text, "\n| {name} | {unit} |");
        for crowd in crowds {
            let shown = crowd.find(name).map(Figure::shown);
            let _ = write!(text, " {} |", shown.unwrap_or_default());
        }
    }
    let most = crowds
        .iter()
        .filter_map(|crowd| Some(crowd.find(MEMORY)?.value));
    let most = most.fold(0.0, f64::max);
    let verdict = if most <= MEMORY_KB { "met" } else { "not met" };
    let _ = write!(
        text,
        "\n\nTarget of memory: at most {MEMORY_KB} kB per session beyond the world; {verdict}.\n\n{NICEWEBRL}"
    );
    text
}

/// NiceWebRL's paper shows its memory and round trips as figures, whose numbers its text does not have; so these were
/// measured with its own example, as `docs/benchmarks.md` says.
const NICEWEBRL: &str = "\
Beside it, NiceWebRL, whose server steps the environment for each key and sends the pictures.
Its paper shows memory and round trip by the number of users as figures, without numbers, on a machine with two processors and 8 GB.
Its example with XLand-MiniGrid was run on another machine with two cores, at a load average of 6 to 8, by one key a second of each person:

| Users | Key to the next picture, median | 95 % | Processor per key | Memory of the server |
| ---: | ---: | ---: | ---: | ---: |
| 1 | 20 ms | 32 ms | 16 ms | 466 MB |
| 4 | 22 ms | 59 ms | 13.5 ms | 469 MB |
| 16 | 37 ms | 286 ms | 13.5 ms | 476 MB |

So some 70 keys a second fill one core, and each user adds about 0.5 MB; a key sends 30 to 450 kB to the page.
With Coplay, a key waits for no server: the page steps the world, so the acknowledgements above delay nobody.
CrowdPlay, which sends video, expects 80 MB a minute for each player.
";

fn object(crowds: &[Crowd], machine: &str, date: &str) -> Value {
    let of = |crowd: &Crowd| {
        let figures: Vec<_> = crowd
            .figures
            .iter()
            .map(|f| json!({"name": f.name, "value": f.value, "unit": f.unit()}))
            .collect();
        json!({"sessions": crowd.sessions, "relayed": crowd.is_relayed, "good": crowd.is_good, "figures": figures})
    };
    let crowds: Vec<_> = crowds.iter().map(of).collect();
    json!({"machine": machine, "date": date, "crowds": crowds})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd(sessions: usize, memory: f64) -> Crowd {
        Crowd {
            sessions,
            is_relayed: sessions == 4,
            is_good: true,
            figures: vec![Figure::new("server", MEMORY.to_owned(), memory, "kB")],
        }
    }

    #[test]
    fn a_column_is_a_crowd_and_the_target_holds_for_all() {
        let text = table(&[crowd(2, 12.5), crowd(4, 49.0)]);
        assert!(
            text.starts_with("| Figure | Unit | 2 | 4, relayed |\n"),
            "{text}"
        );
        assert!(text.contains("| kB | 12.5 | 49 |"), "{text}");
        assert!(text.contains("world; met."), "{text}");
        assert!(table(&[crowd(2, 60.0), crowd(4, 10.0)]).contains("world; not met."));
    }

    #[test]
    fn sizes_are_even_numbers() {
        assert_eq!(read_sizes(None).unwrap(), SIZES);
        assert_eq!(read_sizes(Some("2, 40")).unwrap(), [2, 40]);
        for wrong in ["3", "0", "many", ""] {
            assert!(read_sizes(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
