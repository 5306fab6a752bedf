//! The house in figures: what each crate carries, how large it is, how its files hang together, how things are named.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context as _, Result};

use super::circles::Crate;
use super::names::public_types;
use super::rust::RustFile;
use super::summaries::find_clauses;
use super::{RustFiles, Tree, texts};
use crate::figures::{Figure, describe_machine, replace_section};
use crate::setup::WASM;
use crate::workspace::{Workspace, output, run};

/// Compiles for the browser.
const CLIENT: &str = "client-wasm";

/// The section of the page.
const SECTION: &str = "The house in figures";

/// How the figures are meant, one sentence a line.
const INTRODUCTION: &str = "\
Measured by `cargo xtask tidy --figures --write`, with `--root DIR` in another checkout; a column is a commit and a day.
Third-party crates are the normal dependencies of a crate on this host (of `client-wasm` on wasm), build scripts and tests apart.
Rooms are shares of the Rust in `src/` folders without tests.
An import circle is a set of files of one crate that need each other, directly or not; declaring a module is no import.
Functions of one word have no underscore in their name; a summary is the first line of a doc comment.";

/// In a cell without a value.
const NONE: &str = "–";

/// Lines of a function, and of a file without its tests, from which on it is long.
const LONG_FUNCTION: usize = 70;
const LONG_FILE: usize = 500;

/// Measures a tree; builds as well if that is wanted, which takes minutes.
pub(super) fn measure(
    workspace: &Workspace,
    tree: &Tree,
    files: &RustFiles,
    with_builds: bool,
) -> Result<Vec<Figure>> {
    let crates = workspace.folders();
    let mut figures = Vec::new();
    for (name, _) in &crates {
        let count = third_party(workspace, name)? as f64;
        figures.push(Figure::new(
            "third-party crates",
            (*name).to_owned(),
            count,
            "crates",
        ));
    }
    if with_builds {
        figures.extend(builds(workspace)?);
    }
    figures.extend(rooms(tree, files, &crates));
    figures.extend(circles(files, &crates));
    figures.extend(naming(files, &crates));
    figures.extend(lengths(tree, files));
    Ok(figures)
}

/// Crates from elsewhere that a crate is compiled with, itself not counted; build scripts and tests may have more.
fn third_party(workspace: &Workspace, name: &str) -> Result<usize> {
    let mut cargo = workspace.cargo(&["tree", "-p", name, "-e", "normal", "--prefix", "none"]);
    cargo.args(["--no-dedupe", "--format", "{p}"]);
    if name == CLIENT {
        cargo.args(["--target", WASM]);
    }
    let text = output(&mut cargo)?;
    let found: BTreeSet<&str> = text.lines().filter(|line| is_foreign(line)).collect();
    Ok(found.len())
}

/// True if a line of `cargo tree` is a crate from elsewhere: those of the workspace have their folder behind them.
fn is_foreign(line: &str) -> bool {
    !line.is_empty() && !line.contains("(/") && !line.contains(":\\")
}

/// Builds each program from nothing, in its own empty folder.
fn builds(workspace: &Workspace) -> Result<Vec<Figure>> {
    let names: BTreeSet<&str> = workspace.packages().map(|(name, _)| name).collect();
    // The command was a part of the server once.
    let server = ["coplay", "signaling-server"]
        .into_iter()
        .find(|name| names.contains(name))
        .context("no server in this workspace")?;
    let client = ["build", "--target", WASM, "--profile", "wasm-release"];
    let orders = [
        ("simulation", "simulation", &["build", "--release"][..]),
        ("server", server, &["build", "--release"]),
        ("client", CLIENT, &client),
    ];
    let mut figures = Vec::new();
    for (name, package, order) in orders {
        let folder = workspace.target.join("figures");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).context("emptying the folder of the last build")?;
        }
        let start = Instant::now();
        let mut cargo = workspace.cargo(order);
        cargo.args(["-p", package, "--target-dir"]).arg(&folder);
        run(&format!("building {package} from nothing"), &mut cargo)?;
        let seconds = start.elapsed().as_secs_f64().round();
        figures.push(Figure::new("clean build", name.to_owned(), seconds, "s"));
        std::fs::remove_dir_all(&folder).context("emptying the folder of this build")?;
    }
    Ok(figures)
}

/// Lines of Rust without tests, and the share that each crate has of them.
fn rooms(tree: &Tree, files: &RustFiles, crates: &[(&str, String)]) -> Vec<Figure> {
    let sizes: Vec<(&str, usize)> = crates
        .iter()
        .map(|(name, folder)| {
            let own = sources(files, folder).map(|(path, file)| code_lines(tree, path, file));
            (*name, own.sum())
        })
        .collect();
    let all: usize = sizes.iter().map(|(_, lines)| lines).sum();
    let whole = Figure::new(
        "rooms",
        "all Rust without tests".to_owned(),
        all as f64,
        "lines",
    );
    let sizes = sizes.into_iter().filter(|(_, lines)| *lines > 0);
    let shares = sizes.map(|(name, lines)| {
        Figure::new(
            "rooms",
            name.to_owned(),
            percent(lines, all),
            "% of the lines",
        )
    });
    std::iter::once(whole).chain(shares).collect()
}

/// The largest circle of imports of each crate that has one.
fn circles(files: &RustFiles, crates: &[(&str, String)]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = crates
        .iter()
        .map(|(name, folder)| {
            let circle = Crate::find(files, folder).largest_circle();
            let size = circle.len() as f64;
            Figure::new("largest import circle", (*name).to_owned(), size, "files")
        })
        .collect();
    figures.retain(|figure| figure.value > 0.0);
    figures
}

fn naming(files: &RustFiles, crates: &[(&str, String)]) -> Vec<Figure> {
    let functions: Vec<&str> = crates
        .iter()
        .flat_map(|(_, folder)| sources(files, folder))
        .flat_map(|(_, file)| file.functions.iter().map(|function| function.name.as_str()))
        .collect();
    let short = functions.iter().filter(|name| is_one_word(name)).count();
    let types = public_types(files, crates);
    let count: usize = types.values().map(|owners| owners.len()).sum();
    let shared = types.values().map(|owners| owners.len());
    let shared: usize = shared.filter(|owners| *owners > 1).sum();
    let summaries: usize = files.values().map(|file| file.summaries.len()).sum();
    let relative: usize = files.values().map(|file| find_clauses(file).count()).sum();
    let figure = |name: &str, part: usize, all: usize| {
        Figure::new("naming", name.to_owned(), percent(part, all), "%")
    };
    vec![
        figure("function names of one word", short, functions.len()),
        figure("public types with another crate's name", shared, count),
        figure(
            "summaries that begin with What, Who, Whom, Whose, Whence, Whether",
            relative,
            summaries,
        ),
    ]
}

fn lengths(tree: &Tree, files: &RustFiles) -> Vec<Figure> {
    let own = || files.iter().filter(|(path, _)| !texts::is_test(path));
    let functions = own().flat_map(|(_, file)| &file.functions);
    let functions = functions.filter(|function| function.lines > LONG_FUNCTION);
    let long = own().filter(|(path, file)| code_lines(tree, path, file) > LONG_FILE);
    let figure =
        |name: String, value: usize, unit| Figure::new("lengths", name, value as f64, unit);
    vec![
        figure(
            format!("functions over {LONG_FUNCTION} lines"),
            functions.count(),
            "functions",
        ),
        figure(
            format!("files over {LONG_FILE} lines"),
            long.count(),
            "files",
        ),
    ]
}

/// The files of a crate's `src/` that are not of tests alone.
fn sources<'a>(
    files: &'a RustFiles,
    folder: &str,
) -> impl Iterator<Item = (&'a str, &'a RustFile)> {
    let src = format!("{folder}/src/");
    files
        .iter()
        .filter(move |(path, _)| path.starts_with(&src) && !texts::is_test(path))
        .map(|(path, file)| (path.as_str(), file))
}

fn code_lines(tree: &Tree, path: &str, file: &RustFile) -> usize {
    let text = tree.get(path).and_then(Option::as_deref);
    let lines = text.map_or(0, |text| text.lines().count());
    lines.saturating_sub(file.test_lines)
}

fn is_one_word(name: &str) -> bool {
    !name.trim_matches('_').contains('_')
}

fn percent(part: usize, all: usize) -> f64 {
    (1_000.0 * part as f64 / all.max(1) as f64).round() / 10.0
}

/// Puts the figures into the table of the page's section, as a column with this title. One with the same title is
/// replaced; of two others the second one is, as the first is what the house is compared with.
pub(super) fn record(page: &str, figures: &[Figure], title: &str) -> String {
    let mut columns = columns(page);
    let cells = figures
        .iter()
        .map(|figure| (figure.row(), shown(figure)))
        .collect();
    let new = (title.to_owned(), cells);
    let same = columns.iter().position(|(known, _)| known == title);
    match same.or((columns.len() > 1).then_some(1)) {
        Some(at) => columns[at] = new,
        None => columns.push(new),
    }
    let body = format!(
        "{INTRODUCTION}\nThe last column was measured on {}.\n\n{}",
        describe_machine(),
        table(&columns)
    );
    replace_section(page, SECTION, &body)
}

fn shown(figure: &Figure) -> String {
    if figure.unit().starts_with('%') {
        format!("{:.1}", figure.value)
    } else {
        figure.shown()
    }
}

/// The row of a figure: its group, name and unit as cells.
type Row = String;

/// The columns of a table: a title, and what stands in which row.
type Column = (String, Vec<(Row, String)>);

fn columns(page: &str) -> Vec<Column> {
    let lines = page
        .lines()
        .skip_while(|line| *line != format!("## {SECTION}"));
    let lines = lines.skip(1).take_while(|line| !line.starts_with("## "));
    let mut rows = lines.filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let mut columns: Vec<Column> = Vec::new();
    let titles = rows.next().unwrap_or_default().split(" | ").skip(3);
    columns.extend(titles.map(|title| (title.to_owned(), Vec::new())));
    for row in rows.filter(|row| !row.starts_with("---")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let Some((head, values)) = cells.split_at_checked(3) else {
            continue;
        };
        for (column, value) in columns.iter_mut().zip(values) {
            if *value != NONE {
                column.1.push((head.join(" | "), (*value).to_owned()));
            }
        }
    }
    columns
}

fn table(columns: &[Column]) -> String {
    // In the order of the newest column, what only older ones have at the end of its group.
    let mut rows: Vec<&Row> = Vec::new();
    for (_, cells) in columns.iter().rev() {
        for (row, _) in cells {
            if rows.contains(&row) {
                continue;
            }
            let group = row.split(" | ").next();
            let last = rows
                .iter()
                .rposition(|known| known.split(" | ").next() == group);
            rows.insert(last.map_or(rows.len(), |last| last + 1), row);
        }
    }
    let titles: Vec<&str> = columns.iter().map(|(title, _)| title.as_str()).collect();
    let mut text = format!("| Where | What | Unit | {} |\n", titles.join(" | "));
    text += &format!("| --- | --- | --- |{}\n", " ---: |".repeat(columns.len()));
    for row in rows {
        let values = columns.iter().map(|(_, cells)| {
            let found = cells.iter().find(|(known, _)| known == row);
            found.map_or(NONE, |(_, value)| value.as_str())
        });
        text += &format!("| {row} | {} |\n", values.collect::<Vec<_>>().join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_the_workspace_are_none_from_elsewhere() {
        assert!(is_foreign("serde v1.0.228"));
        assert!(is_foreign("serde_derive v1.0.228 (proc-macro)"));
        assert!(!is_foreign("formula v0.1.0 (/r/formula)"));
        assert!(!is_foreign(""));
    }

    #[test]
    fn a_page_keeps_the_column_that_the_house_is_compared_with() {
        let figures = |value: f64, names: &[&str]| -> Vec<Figure> {
            names
                .iter()
                .map(|name| Figure::new("rooms", (*name).to_owned(), value, "files"))
                .collect()
        };
        let page = "# Testing\n\nHow.\n\n## The house in figures\n\n## Later\n\nMore.\n";
        let before = record(page, &figures(1.0, &["old", "same"]), "before");
        let now = record(&before, &figures(2.0, &["new", "same"]), "one");
        let now = record(&now, &figures(3.0, &["new", "same"]), "two");
        assert!(now.contains("| Where | What | Unit | before | two |\n"));
        assert!(now.contains("| rooms | new | files | – | 3 |\n| rooms | same | files | 1 | 3 |\n| rooms | old | files | 1 | – |\n"));
        assert!(now.contains("How.") && now.contains("## Later\n\nMore."));
        assert_eq!(record(&now, &figures(3.0, &["new", "same"]), "two"), now);
    }

    #[test]
    fn one_word_is_one_word() {
        assert!(is_one_word("seats") && is_one_word("_seats"));
        assert!(!is_one_word("handle_seats"));
    }
}
