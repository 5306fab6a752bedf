//! `formats`: a published study beside the validators of its standards, and the analysis of its tables in R.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::options::{Options, Takes};
use crate::python::Venv;
use crate::setup;
use crate::tally::{Count, Tally};
use crate::workspace::{CHECKED, Workspace, output, run};

const HELP: &str = "\
cargo xtask formats

Publishes a recorded study with `coplay crate`, and has it checked by the BIDS validator
(bids-validator-deno) and by mlcroissant, which are installed into an environment of their
own under target/. Then runs the R snippets of docs/analysis-r.md, one after the other, over
the tables of the same study; Debian's R, dplyr and ggplot2 are installed if this user may.";

/// The validators.
const REQUIREMENTS: &str = "python/requirements-validators.txt";

/// A data folder of people who are invented, as an earlier program wrote it.
const DATA: &str = "tests/data-folders/v1/overcooked-coord/data";

/// The facts that only authors know.
const FACTS: &str = r#"{"description": "A rehearsal.", "authors": ["Ada Example", "Bo Example"], "license": "CC-BY-4.0", "url": "https://example.org"}"#;

/// The page with the snippets in R.
const PAGE: &str = "docs/analysis-r.md";

/// Packages of Debian that the snippets need.
const R_PACKAGES: [&str; 3] = ["r-base-core", "r-cran-dplyr", "r-cran-ggplot2"];

/// `cargo xtask formats`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        ..Takes::default()
    };
    if Options::parse(parser, takes)?.is_none() {
        return Ok(());
    }
    let workspace = Workspace::find()?;
    let mut tally = Tally::default();
    let mut cargo = workspace.cargo(&["build", "--quiet", "--profile", CHECKED, "-p", "coplay"]);
    run("the program", &mut cargo)?;
    let result = check_all(&workspace, &mut tally);
    tally.print_summary();
    result
}

/// Both steps; the program is there.
pub(crate) fn check_all(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    tally.step("published study, by validators", |count| {
        check_published(workspace, count)
    })?;
    if !has_r() {
        R_PACKAGES
            .iter()
            .try_for_each(|package| setup::install_by_apt(workspace, package))
            .ok();
    }
    match has_r() {
        true => tally.step("analysis in R", |count| check_r(workspace, count)),
        false => {
            println!("\n==> analysis in R: not checked, as there is no R here");
            Ok(())
        }
    }
}

/// A folder under target/ that is empty, with a copy of the data folder.
fn copy_data(workspace: &Workspace) -> Result<PathBuf> {
    let place = workspace.target.join("formats");
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("emptying {}", place.display()))?;
    }
    copy(&workspace.root.join(DATA), &place.join("data"))?;
    Ok(place)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), &target)?),
        }
    }
    Ok(())
}

fn check_published(workspace: &Workspace, count: &mut Count) -> Result<()> {
    let place = copy_data(workspace)?;
    let venv = Venv::with(workspace, workspace.target.join("validators"), REQUIREMENTS)?;
    let facts = place.join("facts.json");
    fs::write(&facts, FACTS)?;
    let study = place.join("study");
    let mut publish = workspace.command(workspace.checked("coplay"));
    publish.args(["crate", "--data"]).arg(place.join("data"));
    publish.arg("--facts").arg(&facts).arg("--out").arg(&study);
    run("publishing the study", &mut publish)?;

    let report = place.join("bids.json");
    let mut bids = venv.command(workspace, "bids-validator-deno");
    bids.arg(&study).args(["--format", "json", "--outfile"]);
    // It ends with an error if there is one; the report says which.
    bids.arg(&report).status()?;
    let errors = list_bids_errors(&fs::read_to_string(&report)?)?;
    if !errors.is_empty() {
        bail!("the BIDS validator reports:\n{}", errors.join("\n"));
    }
    count.passed += 1;

    let mut croissant = venv.command(workspace, "mlcroissant");
    croissant
        .args(["validate", "--jsonld"])
        .arg(study.join("croissant.json"));
    run("mlcroissant validate", &mut croissant)?;
    count.passed += 1;
    Ok(())
}

/// The errors of a report of the BIDS validator; warnings are none.
fn list_bids_errors(report: &str) -> Result<Vec<String>> {
    let report: Value = serde_json::from_str(report).context("reading the report on BIDS")?;
    let issues = report["issues"]["issues"]
        .as_array()
        .context("the report on BIDS has no list of issues")?;
    let errors = issues.iter().filter(|issue| issue["severity"] == "error");
    let told = errors.map(|issue| format!("{}: {}", issue["location"], issue["code"]));
    Ok(told.collect())
}

/// True if R is there with the packages.
fn has_r() -> bool {
    let ask = "stopifnot(requireNamespace('dplyr'), requireNamespace('ggplot2'))";
    let mut rscript = std::process::Command::new("Rscript");
    rscript.args(["--vanilla", "-e", ask]);
    setup::find("Rscript").is_some() && output(&mut rscript).is_ok()
}

fn check_r(workspace: &Workspace, count: &mut Count) -> Result<()> {
    let place = copy_data(workspace)?;
    let tables = place.join("tables");
    let mut export = workspace.command(workspace.checked("coplay"));
    export.args(["export", "--data"]).arg(place.join("data"));
    run("exporting the tables", export.arg("--out").arg(&tables))?;
    let page = fs::read_to_string(workspace.root.join(PAGE))?;
    let snippets = list_snippets(&page);
    if snippets.len() < 5 {
        bail!("{PAGE} has only {} snippets in R", snippets.len());
    }
    let program = place.join("analysis.R");
    fs::write(&program, snippets.join("\n"))?;
    let mut rscript = workspace.command("Rscript");
    // A warning of R is a fault of the page.
    rscript.args(["--vanilla", "-e"]);
    rscript.arg(format!(
        "options(warn = 2); source({program:?}, echo = FALSE)"
    ));
    run(
        "the snippets in R",
        rscript.current_dir(&place).env("COPLAY_TABLES", &tables),
    )?;
    if !place.join("curve.png").is_file() {
        bail!("the snippets of {PAGE} drew no curve.png");
    }
    count.passed += snippets.len() as u32;
    Ok(())
}

/// The snippets in R of a page.
fn list_snippets(page: &str) -> Vec<&str> {
    let parts = page.split("```r\n").skip(1);
    parts.filter_map(|part| part.split("```").next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_bids_validator_are_told_from_warnings() {
        let report = r#"{"issues": {"issues": [
            {"code": "TOO_FEW_AUTHORS", "severity": "warning", "location": "/a"},
            {"code": "NOT_INCLUDED", "severity": "error", "location": "/b"}]}}"#;
        assert_eq!(
            list_bids_errors(report).unwrap(),
            ["\"/b\": \"NOT_INCLUDED\""]
        );
        assert!(list_bids_errors("{}").is_err());
    }

    #[test]
    fn the_snippets_of_a_page_are_those_in_r() {
        let page = "```sh\na\n```\n```r\nb <- 1\n```\n\n```r\nc\n```\n";
        assert_eq!(list_snippets(page), ["b <- 1\n", "c\n"]);
    }
}
