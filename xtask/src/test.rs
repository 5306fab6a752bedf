//! `test`: everything that must hold. What waits for a network, a browser or a person's pace has work beside it.

use std::collections::BTreeSet;
use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::figures::{describe_machine, replace_section};
use crate::options::{Options, Takes};
use crate::setup::{self, WASM};
use crate::tally::{Beside, Tally, run_counted};
use crate::workspace::{CHECKED, Workspace, output, run};
use crate::{
    browsers, build, deny, dist, exports, formats, hosts, modules, net, parity, postgres, rehearse,
    tidy, trunk,
};

const HELP: &str = "\
cargo xtask test [--quick | --more | --all]

Format, house rules, licences of third-party crates, unit tests, laws, simulated episodes, 150 seeds of whole studies,
recorded trajectories through library and module, the Python package, real episodes of
headless pages in Chromium and Firefox, also between network namespaces where root
and /dev/net/tun are there, and lints for host and wasm.
Everything is compiled and linted once, in the profile `checked`: as strict as a debug build.
Stops at the first step that fails. The last line is `N passed, N failed`.

--quick    for while editing: format, house rules, and the lints and tests of the
           crates that differ from main (of the core crates if no file does); without
           browsers, tests in docs, rehearsals and crowds
--more     what takes too long for every commit, alone, with what `cargo xtask test` has
           compiled: 2,850 more seeds and 100 with all seats taken, models that PyTorch, Flax
           and TensorFlow export today (some gigabytes the first time), a published study by
           validators of its standards, the analysis in R where R is, a release as `dist` makes
           it, installed and tried, and with its program every pairing of browsers and the
           kill test of `rehearse`, two servers over PostgreSQL where that can be had, and
           the page by trunk. Puts the result into docs/testing.md
--all      first `cargo xtask test`, then the same";

const LINTS: &str = "\
cargo xtask lints [--page]

Clippy over everything, for host and wasm; a warning is an error.

--page   only what the browser runs: the page and the environment modules";

/// The page with the last result of `--all`, and its section.
const PAGE: &str = "docs/testing.md";
const SECTION: &str = "The last whole run";

/// Names that tests begin with which `--quick` leaves out: they start the program again and again, or play a whole study.
const LONG: [&str; 2] = ["rehearse::", "study::crowd::"];

/// Tested by `--quick` when nothing was changed.
const CORE: [&str; 3] = ["env-core", "protocol", "rollback"];

/// How many seeds the simulation of studies plays every time.
const SEEDS: &str = "150";

/// How many more seeds `--all` plays.
const MORE_SEEDS: &str = "2850";

/// How much of the processor what runs beside leaves to others (`nice`): what has the greater number comes last.
const LOW: &str = "10";
const LOWEST: &str = "19";

/// All tests but those in docs. Examples are modules for wasm, which the page's build compiles.
pub(crate) const TESTS: [&str; 3] = ["--lib", "--bins", "--tests"];

/// With the program that bundles the page, which no test needs.
const BUNDLE: [&str; 2] = ["--features", "xtask/bundle"];

/// Compiles for the browser; its logic has tests that run natively.
const CLIENT: &str = "client-wasm";

/// `cargo xtask test`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        switches: &["quick", "more", "all"],
        ..Takes::default()
    };
    let Some(options) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let workspace = Workspace::find()?;
    let mut tally = Tally::default();
    let which = [
        options.has("quick"),
        options.has("more"),
        options.has("all"),
    ];
    let result = match which {
        [false, false, false] => everything(&workspace, &mut tally).map(drop),
        [true, false, false] => quick(&workspace, &mut tally),
        [false, true, false] => compile(&workspace, &mut tally)
            .and_then(|chromium| more(&workspace, &chromium, &mut tally, "--more")),
        [false, false, true] => everything(&workspace, &mut tally)
            .and_then(|chromium| more(&workspace, &chromium, &mut tally, "--all")),
        _ => bail!("one of --quick, --more and --all"),
    };
    if let Err(error) = &result {
        // Before the summary, whose last line is read by machines.
        eprintln!("error: {error:#}");
    }
    tally.print_summary();
    if result.is_err() {
        std::process::exit(1);
    }
    Ok(())
}

/// `cargo xtask lints`.
pub(crate) fn lints_command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: LINTS,
        switches: &["page"],
        ..Takes::default()
    };
    let Some(options) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let workspace = Workspace::find()?;
    setup::set_up_wasm(&workspace)?;
    clippy(
        &workspace,
        &["--all-targets", "-p", CLIENT, "--target", WASM],
    )?;
    if options.has("page") {
        let modules =
            ["env-core", "example-environments", "policy", "rollback"].map(|name| ["-p", name]);
        let modules = [&["--examples", "--target", WASM], modules.as_flattened()];
        return clippy(&workspace, &modules.concat());
    }
    let host = ["--all-targets", "--workspace", "--exclude", CLIENT];
    clippy(&workspace, &[&host[..], &BUNDLE].concat())
}

/// Sets up and compiles what the tests need; gives the browser that they drive.
fn compile(workspace: &Workspace, tally: &mut Tally) -> Result<PathBuf> {
    setup::check_room(workspace)?;
    setup::set_up_wasm(workspace)?;
    setup::check(workspace)?;
    // It waits for the network and the disk. The page ends in one long optimisation on one core.
    let others = beside(workspace, "set up", &["setup"])?;
    let page = beside(workspace, "page and modules", &["build", "--wasm"])?;
    // The server reads this folder only if it was there when it was compiled.
    fs::create_dir_all(workspace.root.join("dist"))?;
    tally.step("compile and lint the tests (clippy)", |_| {
        // Benches too, so that they are linted.
        let which = [&TESTS[..], &["--benches", "--no-run"]].concat();
        run("cargo test --no-run", &mut tests(workspace, &which)?)?;
        run("cargo build", &mut programs(workspace)?)
    })?;
    tally.finish(page)?;
    tally.step("put the page together (bundle)", |_| {
        let bundler = || workspace.command(workspace.checked("bundle"));
        build::bundle_page(workspace, bundler(), false)?;
        build::bind_decision(workspace, bundler())
    })?;
    tally.finish(others)?;
    setup::find_chromium(workspace)
}

/// Runs the default tests; gives the browser that they drove.
fn everything(workspace: &Workspace, tally: &mut Tally) -> Result<PathBuf> {
    rules(workspace, tally)?;
    tally.step("third-party crates (cargo-deny)", |_| {
        deny::check(workspace)
    })?;
    let chromium = compile(workspace, tally)?;
    // Some tests wait for a server that is started, killed and started again, and leave the processor to others:
    // first to the Python package, whose tests take one core, and then to the simulation, which takes every core.
    let words = ["python", "--profile", CHECKED];
    let python = beside_idle(workspace, "Python package (pytest)", LOW, &words)?;
    let seeds = ["--seeds", SEEDS, "--kills", "1"];
    let dst = simulate(workspace, "simulated studies (dst)", &seeds)?;
    tally.step("tests, laws, episodes, docs (cargo)", |count| {
        run_counted(
            tests(workspace, &TESTS)?.env("RUST_TEST_THREADS", "4"),
            count,
        )?;
        run_counted(&mut tests(workspace, &["--doc"])?, count)
    })?;
    tally.step("parity with recordings (parity)", |count| {
        parity::check(workspace, count)
    })?;
    tally.step("environments of one's own (coplay)", |count| {
        modules::check(workspace, count)
    })?;
    tally.finish(dst)?;
    tally.finish(python)?;
    // Pages keep time: nothing runs beside them but what takes only the time that they leave.
    let lints = beside_idle(
        workspace,
        "lints of the page (clippy)",
        LOWEST,
        &["lints", "--page"],
    )?;
    tally.step("episodes in real browsers (node)", |count| {
        browsers::check(workspace, &chromium, count)
    })?;
    tally.finish(lints)?;
    Ok(chromium)
}

/// Runs what takes too long for the default tests, and puts the result into the page.
fn more(workspace: &Workspace, chromium: &Path, tally: &mut Tally, switch: &str) -> Result<()> {
    // What follows waits for the network, or compiles on one core.
    let seeds = ["--from", SEEDS, "--seeds", MORE_SEEDS];
    let seeds = simulate(workspace, "more seeds (dst)", &seeds)?;
    let full = ["--seats", "16", "--seeds", "100", "--kills", "0"];
    let full = simulate(workspace, "all seats taken (dst)", &full)?;
    tally.step("exports beside onnxruntime", |count| {
        exports::check(workspace, count)
    })?;
    tally.step("heavy environments on hosts (pytest)", |count| {
        hosts::check(workspace, count)
    })?;
    formats::check_all(workspace, tally)?;
    // What follows tries the program that people install.
    let coplay = tally.step("release, installed (dist)", |count| {
        dist::check(workspace, count)
    })?;
    // The pages below keep time.
    tally.finish(seeds)?;
    tally.finish(full)?;
    tally.step("heavy environments in a browser", |count| {
        hosts::check_pages(workspace, chromium, count)
    })?;
    tally.step("every pairing of browsers (node)", |count| {
        run_counted(
            &mut net::pairings_command(workspace, chromium, &coplay)?,
            count,
        )
    })?;
    tally.step("kill test (coplay rehearse)", |_| {
        let coplay = workspace.command(&coplay);
        run(
            "200 bots, 20 kills",
            &mut rehearse::rehearse_command(workspace, coplay, &[]),
        )
    })?;
    postgres::check_if_there(workspace, tally)?;
    trunk::step(workspace, chromium, tally)?;
    write_result(workspace, tally, switch)
}

fn write_result(workspace: &Workspace, tally: &Tally, switch: &str) -> Result<()> {
    let text = |program: &str, args: &[&str]| -> Result<String> {
        let text = output(workspace.command(program).args(args))?;
        Ok(text.trim().to_owned())
    };
    let commit = text("git", &["rev-parse", "--short", "HEAD"])?;
    let is_clean = text("git", &["status", "--porcelain"])?.is_empty();
    let more = if is_clean { "" } else { " with changes" };
    let date = text("date", &["-u", "+%Y-%m-%d"])?;
    let body = format!(
        "`cargo xtask test {switch}` on {date}, commit {commit}{more}, in {:.0} minutes.\nMachine: {}.\n\n{}",
        tally.seconds() / 60.0,
        describe_machine(),
        tally.rows()
    );
    let file = workspace.root.join(PAGE);
    let page = fs::read_to_string(&file).with_context(|| format!("reading {PAGE}"))?;
    fs::write(&file, replace_section(&page, SECTION, &body))?;
    Ok(())
}

/// A command of this program that runs beside the next steps.
fn beside(workspace: &Workspace, name: &'static str, words: &[&str]) -> Result<Beside> {
    let program = std::env::current_exe().context("this program has a path")?;
    start(workspace, name, workspace.command(program), words)
}

/// The same, for when nothing else wants the processor.
fn beside_idle(
    workspace: &Workspace,
    name: &'static str,
    niceness: &str,
    words: &[&str],
) -> Result<Beside> {
    let program = std::env::current_exe().context("this program has a path")?;
    start(workspace, name, idle(workspace, niceness, program), words)
}

/// A program that leaves the processor to others. Not at idle priority: it holds locks that the others wait for.
fn idle(workspace: &Workspace, niceness: &str, program: impl AsRef<OsStr>) -> Command {
    if setup::find("nice").is_none() {
        return workspace.command(program.as_ref());
    }
    let mut command = workspace.command("nice");
    command.args(["-n", niceness]).arg(program.as_ref());
    command
}

fn start(
    workspace: &Workspace,
    name: &'static str,
    mut command: Command,
    words: &[&str],
) -> Result<Beside> {
    let log = format!("beside-{}.log", words.join("-"));
    command.args(words);
    Beside::start(name, command, workspace.target.join(log))
}

/// The tests of the whole workspace, compiled in one profile with one set of features.
pub(crate) fn tests(workspace: &Workspace, which: &[&str]) -> Result<Command> {
    compiled(workspace, "test", which)
}

/// Programs that the tests start.
fn programs(workspace: &Workspace) -> Result<Command> {
    let bins = ["coplay", "coplay-net", "honest", "dst", "parity", "bundle"];
    let examples = ["kitchens", "scenes", "seeds", "trim"];
    let bins = bins.iter().flat_map(|name| ["--bin", name]);
    let examples = examples.iter().flat_map(|name| ["--example", name]);
    let which: Vec<&str> = bins.chain(examples).collect();
    compiled(workspace, "build", &which)
}

/// A command of cargo over the whole workspace, always in the same profile with the same features.
fn compiled(workspace: &Workspace, command: &str, which: &[&str]) -> Result<Command> {
    let mut cargo = workspace.cargo(&[command, "--profile", CHECKED, "--workspace"]);
    cargo.args(BUNDLE).args(which);
    linted(workspace, cargo)
}

/// Lets clippy's driver compile the workspace's own crates: it is the same compiler, and lints on the way.
fn linted(workspace: &Workspace, mut cargo: Command) -> Result<Command> {
    let sysroot = output(workspace.command("rustc").args(["--print", "sysroot"]))?;
    let driver = format!("clippy-driver{EXE_SUFFIX}");
    let driver = Path::new(sysroot.trim()).join("bin").join(driver);
    if !driver.is_file() {
        bail!("there is no clippy: `rustup component add clippy` installs it");
    }
    cargo.env("RUSTC_WORKSPACE_WRAPPER", driver);
    // As `cargo clippy -- -D warnings` hands them on.
    cargo.env(
        "CLIPPY_ARGS",
        "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
    );
    Ok(cargo)
}

/// Simulated studies beside other steps, by the program that the tests of `simulation` are compiled with.
fn simulate(workspace: &Workspace, name: &'static str, options: &[&str]) -> Result<Beside> {
    start(
        workspace,
        name,
        idle(workspace, LOWEST, workspace.checked("dst")),
        options,
    )
}

/// Compiles the crates that differ once, as [`everything`] does, with their lints, and runs their tests.
fn quick(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    rules(workspace, tally)?;
    let files = differing(workspace)?;
    let mut crates = owners(workspace, files.lines());
    if files.trim().is_empty() {
        crates.extend(CORE.map(str::to_owned));
    }
    let names: Vec<&str> = crates.iter().map(String::as_str).collect();
    if names.is_empty() {
        println!("    no crate differs from main, so none is tested");
        return Ok(());
    }
    println!("    crates: {}", names.join(", "));
    if crates.contains(CLIENT) {
        setup::set_up_wasm(workspace)?;
        tally.step("lints, wasm", |_| {
            let which = ["--all-targets", "-p", CLIENT, "--target", WASM];
            clippy(workspace, &which)
        })?;
    }
    tally.step("lints, unit tests, laws, simulated episodes", |count| {
        let mut cargo = workspace.cargo(&["test", "--profile", CHECKED]);
        cargo.args(TESTS);
        cargo.args(names.iter().flat_map(|name| ["-p", name]));
        cargo.arg("--");
        cargo.args(LONG.iter().flat_map(|name| ["--skip", name]));
        run_counted(&mut linted(workspace, cargo)?, count)
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
    let mut cargo = workspace.cargo(&["clippy"]);
    run(
        "cargo clippy",
        cargo.args(what).args(["--", "-D", "warnings"]),
    )
}

/// The files that differ from `main`, or that git does not know yet, one a line.
fn differing(workspace: &Workspace) -> Result<String> {
    let git = |args: &[&str]| output(workspace.command("git").args(args));
    let base = git(&["merge-base", "HEAD", "main"]).or_else(|_| git(&["rev-parse", "HEAD"]))?;
    let changed = git(&["diff", "--name-only", base.trim()])?;
    Ok(changed + &git(&["ls-files", "--others", "--exclude-standard"])?)
}

/// The crates that files belong to.
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
