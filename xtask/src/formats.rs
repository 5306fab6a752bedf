//! `formats`: the analysis of a study's tables in R.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::options::{Options, Takes};
use crate::setup;
use crate::tally::{Count, Tally};
use crate::workspace::{CHECKED, Workspace, output, run};

const HELP: &str = "\
cargo xtask formats

Runs the R snippets of docs/analysis-r.md, one after the other, over the tables of a recorded
study. Debian's R, dplyr and ggplot2 are installed if this user may.";

/// A data folder of people who are invented, as an earlier program wrote it.
const DATA: &str = "tests/data-folders/v1/overcooked-coord/data";

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
    tally.summary();
    result
}

/// The step, where there is R; the program is there.
pub(crate) fn check_all(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    if !has_r() {
        R_PACKAGES
            .iter()
            .try_for_each(|package| setup::apt(workspace, package))
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
    fn the_snippets_of_a_page_are_those_in_r() {
        let page = "```sh\na\n```\n```r\nb <- 1\n```\n\n```r\nc\n```\n";
        assert_eq!(list_snippets(page), ["b <- 1\n", "c\n"]);
    }
}
