//! The session beside GGRS: natively, and in Node with virtual clocks.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::DOCUMENT;
use crate::build;
use crate::figures::{describe_machine, make_section};
use crate::options::Options;
use crate::workspace::{Workspace, output, say};

/// A line of the comparison.
struct Row {
    figure: String,
    name: String,
    unit: String,
    ours: Option<f64>,
    ggrs: Option<f64>,
    target: Option<f64>,
}

/// `cargo xtask bench rollback`.
pub(super) fn command(workspace: &Workspace, options: &Options) -> Result<()> {
    let rows = measure(workspace)?;
    let date = output(workspace.command("date").args(["-u", "+%Y-%m-%d"]))?;
    let (machine, date) = (describe_machine(), date.trim());
    if options.has("json") {
        println!("{}", object(&rows, &machine, date));
    } else {
        println!("{machine}, {date}\n\n{}", table(&rows));
    }
    if options.has("write") {
        let path = workspace.root.join(DOCUMENT);
        let old = fs::read_to_string(&path).with_context(|| format!("reading {DOCUMENT}"))?;
        let title = format!("Rollback beside GGRS 0.13, {date}, {machine}");
        let text = format!(
            "Command: `cargo xtask bench rollback --write`.\n\n{}",
            table(&rows)
        );
        fs::write(&path, make_section(&old, &title, &text))
            .with_context(|| format!("writing {DOCUMENT}"))?;
        say(format_args!("wrote {DOCUMENT}"));
    }
    Ok(())
}

fn measure(workspace: &Workspace) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    say("measuring: ticks, natively");
    let mut native = workspace.cargo(&["bench", "-p", "rollback", "--bench", "versus"]);
    read(&output(&mut native)?, &mut rows);
    say("measuring: whole studies in virtual time");
    let order = [
        "bench",
        "--profile",
        "release",
        "-p",
        "simulation",
        "--bench",
        "seats",
    ];
    read(&output(&mut workspace.cargo(&order))?, &mut rows);
    let folder = build::make_bindings(workspace, "rollback", "versus")?;
    // Each in a separate process: some replace the clocks.
    for kinds in [
        &["costs"][..],
        &["wire", "pace", "gap", "loss", "seen", "starts"],
    ] {
        say(format_args!("measuring in wasm: {}", kinds.join(", ")));
        let mut node = workspace.command("node");
        node.arg("rollback/benches/versus.mjs")
            .arg(&folder)
            .args(kinds);
        read(&output(&mut node)?, &mut rows);
    }
    anyhow::ensure!(!rows.is_empty(), "the programs printed no figure");
    rows.sort_by_key(|row| row.figure.parse::<u32>().unwrap_or(u32::MAX));
    Ok(rows)
}

/// Reads the lines that are rows.
fn read(text: &str, rows: &mut Vec<Row>) {
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let text = |key: &str| line[key].as_str().map(str::to_owned);
        let (Some(figure), Some(name), Some(unit)) = (text("figure"), text("name"), text("unit"))
        else {
            continue;
        };
        let found = Row {
            figure,
            name,
            unit,
            ours: line["ours"].as_f64(),
            ggrs: line["ggrs"].as_f64(),
            target: line["target"].as_f64(),
        };
        let same = |row: &&mut Row| (&row.figure, &row.name) == (&found.figure, &found.name);
        match rows.iter_mut().find(same) {
            // Ours and theirs are measured by two programs.
            Some(row) => row.ggrs = row.ggrs.or(found.ggrs),
            None => rows.push(found),
        }
    }
}

fn object(rows: &[Row], machine: &str, date: &str) -> Value {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "figure": row.figure, "name": row.name, "unit": row.unit,
                "ours": row.ours, "ggrs": row.ggrs, "target": row.target,
            })
        })
        .collect();
    json!({"machine": machine, "date": date, "figures": rows})
}

fn table(rows: &[Row]) -> String {
    let mut text = "| # | Figure | Ours | GGRS | Target | Unit | Met |\n\
                    | --- | --- | ---: | ---: | ---: | --- | --- |\n"
        .to_owned();
    for row in rows {
        let met = match (row.ours, row.target) {
            (Some(ours), Some(target)) if ours <= target => "yes",
            (Some(_), Some(_)) => "no",
            _ => "",
        };
        let target = row
            .target
            .map_or(String::new(), |target| format!("≤ {}", shown(target)));
        let [ours, ggrs] = [row.ours, row.ggrs].map(|value| value.map_or("—".to_owned(), shown));
        let Row {
            figure, name, unit, ..
        } = row;
        let _ = writeln!(
            text,
            "| {figure} | {name} | {ours} | {ggrs} | {target} | {unit} | {met} |"
        );
    }
    text
}

/// A number as people read it.
fn shown(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 || size.fract() == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    crate::figures::group_digits(&format!("{value:.digits$}"))
}
