//! `test`: everything that must hold, in the order in which it is cheap to find out.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};

use crate::options::{Options, Takes};
use crate::setup::{self, WASM};
use crate::tally::{Tally, counted};
use crate::workspace::{Workspace, output, run};
use crate::{build, modules, net, parity, python, tidy};

const HELP: &str = "\
cargo xtask test [--quick]

Format, house rules, the release build of page and server, lints for host and wasm,
unit tests, laws and simulated matches, 500 seeds of whole studies, recorded
trajectories through library and module, the Python package, and real matches of
headless pages in Chromium and Firefox, also between network namespaces where root
and /dev/net/tun are there.
Stops at the first step that fails. The last line is `N passed, N failed`.

--quick    for while editing: format, house rules, and the lints and tests of the
           crates that differ from main (of the core crates if none does); no browsers";

/// Tested by `--quick` when nothing was changed.
const CORE: [&str; 3] = ["env-core", "protocol", "rollback"];

/// Compiles for the browser; its logic has tests that run natively.
const CLIENT: &str = "client-wasm";

/// `cargo xtask test`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        switches: &["quick"],
        ..Takes::default()
    };
    let Some(options) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let workspace = Workspace::find()?;
    let mut tally = Tally::default();
    let result = if options.has("quick") {
        quick(&workspace, &mut tally)
    } else {
        everything(&workspace, &mut tally)
    };
    if let Err(error) = &result {
        // Before the summary, whose last line is read by machines.
        eprintln!("error: {error:#}");
    }
    tally.summary();
    if result.is_err() {
        std::process::exit(1);
    }
    Ok(())
}

fn everything(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    rules(workspace, tally)?;
    let mut chromium = None;
    tally.step("set up", |_| {
        setup::wasm(workspace)?;
        chromium = Some(setup::browser(workspace)?);
        setup::others(workspace);
        setup::clang(workspace)?;
        Ok(())
    })?;
    tally.step("build page and server", |_| build::all(workspace, false))?;
    tally.step("lints, host", |_| {
        let whole = [
            "--workspace",
            "--exclude",
            CLIENT,
            "--features",
            "xtask/bundle",
        ];
        clippy(workspace, &whole)
    })?;
    tally.step("lints, wasm", |_| {
        clippy(workspace, &["-p", CLIENT, "--target", WASM])
    })?;
    tally.step("unit tests, laws, simulated matches", |count| {
        let whole = ["test", "--workspace", "--exclude", "simulation"];
        counted(&mut workspace.cargo(&whole), count)
    })?;
    // Thousands of hours of play want optimised code, and the release build of the server is there already.
    tally.step("simulated studies", |count| {
        let tests = ["test", "--release", "-p", "simulation"];
        counted(&mut workspace.cargo(&tests), count)?;
        let seeds = ["run", "--release", "-p", "simulation"];
        counted(&mut workspace.cargo(&seeds), count)
    })?;
    tally.step("parity with recordings", |count| {
        parity::check(workspace, count)
    })?;
    tally.step("environments of one's own", |count| {
        modules::check(workspace, count)
    })?;
    tally.step("Python package", |count| python::check(workspace, count))?;
    let Some(chromium) = chromium else {
        bail!("no browser")
    };
    tally.step("matches in real browsers", |count| {
        net::build(workspace)?;
        let mut node = workspace.node(&chromium);
        node.args(["--test", "--test-reporter=spec", "--test-concurrency=2"]);
        node.current_dir(workspace.root.join("tests/e2e"));
        counted(&mut node, count)
    })
}

fn quick(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    rules(workspace, tally)?;
    let mut crates = changed(workspace)?;
    if crates.is_empty() {
        crates.extend(CORE.map(str::to_owned));
    }
    println!(
        "    crates: {}",
        crates.iter().cloned().collect::<Vec<_>>().join(", ")
    );
    if crates.contains(CLIENT) {
        setup::wasm(workspace)?;
        tally.step("lints, wasm", |_| {
            clippy(workspace, &["-p", CLIENT, "--target", WASM])
        })?;
    }
    let host: Vec<&str> = crates
        .iter()
        .filter(|name| *name != CLIENT)
        .flat_map(|name| ["-p", name.as_str()])
        .collect();
    if !host.is_empty() {
        tally.step("lints, host", |_| clippy(workspace, &host))?;
    }
    let all: Vec<&str> = crates
        .iter()
        .flat_map(|name| ["-p", name.as_str()])
        .collect();
    tally.step("unit tests, laws, simulated matches", |count| {
        counted(workspace.cargo(&["test"]).args(all), count)
    })
}

fn rules(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    tally.step("format", |_| {
        run(
            "cargo fmt --check",
            &mut workspace.cargo(&["fmt", "--all", "--check"]),
        )
    })?;
    tally.step("house rules", |_| tidy::check(workspace))
}

fn clippy(workspace: &Workspace, what: &[&str]) -> Result<()> {
    let mut cargo = workspace.cargo(&["clippy", "--all-targets"]);
    run(
        "cargo clippy",
        cargo.args(what).args(["--", "-D", "warnings"]),
    )
}

/// Names of the crates with a file that differs from `main`, or that git does not know yet.
fn changed(workspace: &Workspace) -> Result<BTreeSet<String>> {
    let base = output(
        workspace
            .command("git")
            .args(["merge-base", "HEAD", "main"]),
    )
    .or_else(|_| output(workspace.command("git").args(["rev-parse", "HEAD"])))?;
    let mut files = output(
        workspace
            .command("git")
            .args(["diff", "--name-only", base.trim()]),
    )?;
    files +=
        &output(
            workspace
                .command("git")
                .args(["ls-files", "--others", "--exclude-standard"]),
        )?;
    Ok(owners(workspace, files.lines()))
}

fn owners<'a>(workspace: &Workspace, files: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut folders: Vec<_> = workspace.packages().collect();
    // The deepest folder first: one crate may lie inside another's.
    folders.sort_by_key(|(_, folder)| std::cmp::Reverse(folder.components().count()));
    files
        .filter_map(|file| {
            folders
                .iter()
                .find(|(_, folder)| Path::new(file).starts_with(folder))
        })
        .map(|(name, _)| (*name).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_file_belongs_to_the_deepest_crate_around_it() {
        let package = |name: &str, folder: &str| json!({"name": name, "manifest_path": format!("/r/{folder}/Cargo.toml")});
        let packages = [package("outer", "tests"), package("inner", "tests/inner")];
        let workspace = Workspace {
            root: "/r".into(),
            target: "/t".into(),
            metadata: json!({ "packages": packages }),
        };
        let files = ["tests/inner/src/lib.rs", "README.md"];
        assert_eq!(
            owners(&workspace, files.into_iter()),
            BTreeSet::from(["inner".to_owned()])
        );
    }
}
