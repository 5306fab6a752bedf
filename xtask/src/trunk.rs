//! `trunk`: the page by trunk is the page of `build`, and `trunk serve` works in front of `coplay dev`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::options::{Options, Takes};
use crate::tally::{Count, Tally, run_counted};
use crate::workspace::{CHECKED, Workspace, run, say};
use crate::{build, setup};

const HELP: &str = "\
cargo xtask trunk

Builds the page by `trunk build --release` and by `cargo xtask build --page`, and compares every file;
then two people play in Chromium through `trunk serve` in front of `coplay dev` at port 8080.
The first time it compiles trunk 0.21.14 into target/trunk-tools, which takes minutes.
trunk needs no wasm-bindgen program: the hook in Trunk.toml makes the page by `cargo xtask build --page`.";

/// The version that is checked.
const VERSION: &str = "0.21.14";

const STEP: &str = "page (trunk)";
const UNCHECKED: &str = "page (trunk): not checked";

/// `cargo xtask trunk`.
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
    let mut cargo = workspace.cargo(&["build", "--quiet", "--profile", CHECKED, "-p", "coplay"]);
    run("the program", &mut cargo)?;
    let trunk = install(&workspace)?;
    let mut tally = Tally::default();
    let result = tally.step(STEP, |count| check(&workspace, &trunk, &chromium, count));
    tally.print_summary();
    result
}

/// The step of the whole run. Where trunk cannot be installed, the report says that nothing was checked.
pub(crate) fn step(workspace: &Workspace, chromium: &Path, tally: &mut Tally) -> Result<()> {
    match install(workspace) {
        Ok(trunk) => tally.step(STEP, |count| check(workspace, &trunk, chromium, count)),
        Err(error) => tally.step(UNCHECKED, |_| {
            println!("    {error:#}");
            Ok(())
        }),
    }
}

/// Compares the pages, and has two people play through trunk.
fn check(workspace: &Workspace, trunk: &Path, chromium: &Path, count: &mut Count) -> Result<()> {
    compare(workspace, trunk, count)?;
    let mut node = workspace.node(chromium);
    node.env("COPLAY_BIN", workspace.checked("coplay"));
    node.env("COPLAY_TRUNK", trunk);
    node.args(["--test", "--test-reporter=spec", "heavy_trunk.mjs"]);
    node.current_dir(workspace.root.join("tests/e2e"));
    run_counted(&mut node, count)
}

/// Gives trunk of the version that is checked; compiles it where it is not there.
///
/// # Errors
/// The index of crates cannot be reached: nothing was checked then, and the error says so.
fn install(workspace: &Workspace) -> Result<PathBuf> {
    let place = workspace.target.join("trunk-tools");
    let trunk = place.join("bin/trunk");
    let mut cargo = workspace.cargo(&["install", "--locked", "--debug", "--quiet"]);
    // Outside of the workspace's target folder, whose profiles are not for it.
    cargo.env("CARGO_TARGET_DIR", place.join("build"));
    cargo.arg("--root").arg(&place);
    cargo.args(["--version", VERSION, "trunk"]);
    run("trunk", &mut cargo).with_context(|| format!("trunk {VERSION} cannot be installed"))?;
    Ok(trunk)
}

/// Builds the page by both, and compares what they made.
fn compare(workspace: &Workspace, trunk: &Path, count: &mut Count) -> Result<()> {
    build::page(workspace, false)?;
    let expected = read_folder(&workspace.root.join("dist"))?;
    run(
        "trunk build",
        workspace.command(trunk).args(["build", "--release"]),
    )?;
    let found = read_folder(&workspace.root.join("target/trunk"))?;
    let names = expected.keys().chain(found.keys());
    let mut other: Vec<_> = names
        .filter(|name| expected.get(*name) != found.get(*name))
        .collect();
    other.dedup();
    if other.is_empty() {
        say(format_args!(
            "{} files are equal, byte for byte",
            found.len()
        ));
        count.passed += 1;
        return Ok(());
    }
    count.failed += 1;
    bail!("trunk makes another page than `cargo xtask build --page`: {other:?}");
}

/// The files of a folder by their path in it.
fn read_folder(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(dir) = folders.pop() {
        for entry in fs::read_dir(&dir).with_context(|| format!("reading {}", dir.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            files.insert(path.strip_prefix(folder)?.to_owned(), bytes);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trunk_looks_at_every_crate_that_the_page_is_made_of() {
        let workspace = Workspace::find().unwrap();
        let told = fs::read_to_string(workspace.root.join("Trunk.toml")).unwrap();
        let watched = told.split("watch = [").nth(1).unwrap();
        let watched = watched.split(']').next().unwrap();
        for (name, folder) in find_sources(&workspace) {
            let entry = format!("\"{}\"", folder.display());
            assert!(watched.contains(&entry), "Trunk.toml does not watch {name}");
        }
    }

    /// The crates that compile into the page, and their folders.
    fn find_sources(workspace: &Workspace) -> BTreeMap<String, PathBuf> {
        let folders: BTreeMap<_, _> = workspace.packages().collect();
        let mut found = BTreeMap::new();
        let mut open = vec!["client-wasm".to_owned(), "offline-wasm".to_owned()];
        while let Some(name) = open.pop() {
            let Some(folder) = folders.get(name.as_str()) else {
                continue;
            };
            if found.insert(name.clone(), folder.clone()).is_some() {
                continue;
            }
            let packages = workspace.metadata["packages"].as_array().unwrap();
            let package = packages.iter().find(|package| package["name"] == *name);
            let needed = package.unwrap()["dependencies"].as_array().unwrap();
            let needed = needed.iter().filter(|needed| needed["kind"].is_null());
            open.extend(needed.map(|needed| needed["name"].as_str().unwrap().to_owned()));
        }
        found
    }
}
