//! `build`: the page, the environment modules and the server, each only if something it is made of changed.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::notices;
use crate::options::{Options, Takes};
use crate::setup::{self, WASM};
use crate::workspace::{Workspace, run};

const HELP: &str = "\
cargo xtask build [--dev] [--page | --wasm]

Compiles the page and the environment modules to wasm, generates the bindings,
compresses everything into dist/, and builds target/release/coplay around it.
What is up to date is skipped.

--dev    an unoptimised page with names and debug information: quicker to build,
         several times slower to run
--page   the page and the modules alone, without the server
--wasm   what is compiled to wasm alone, not put together in dist/, and what the tests run in browsers";

/// `cargo xtask build`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        switches: &["dev", "page", "wasm"],
        ..Takes::default()
    };
    let Some(options) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let (workspace, dev) = (Workspace::find()?, options.has("dev"));
    if options.has("wasm") {
        client(&workspace, dev)?;
        build_modules(&workspace)?;
        decision(&workspace).map(drop)
    } else if options.has("page") {
        page(&workspace, dev)
    } else {
        build_all(&workspace, dev)
    }
}

/// Builds `dist/` and then the server that embeds it.
pub(crate) fn build_all(workspace: &Workspace, dev: bool) -> Result<()> {
    page(workspace, dev)?;
    let mut cargo = workspace.cargo(&["build", "--release", "-p", "coplay", "--bin", "coplay"]);
    run("building the server", &mut cargo)
}

/// Builds `dist/`: client, front end and modules, compressed.
pub(crate) fn page(workspace: &Workspace, dev: bool) -> Result<()> {
    bundle_page(workspace, bundler_command(workspace), dev)
}

/// Compiles the client, and the server's part of studies without a server, and gives their files.
fn client(workspace: &Workspace, dev: bool) -> Result<[PathBuf; 2]> {
    setup::set_up_wasm(workspace)?;
    let (profile, folder) = if dev {
        ("dev", "debug")
    } else {
        ("wasm-release", "wasm-release")
    };
    run(
        "building the page",
        &mut wasm(workspace, profile, &["-p", "client-wasm", "--lib"]),
    )?;
    // On its own: the crates of the page shall not get what a server needs of them.
    run(
        "building the server's part of studies without a server",
        &mut wasm(workspace, profile, &["-p", "offline-wasm", "--lib"]),
    )?;
    let folder = workspace.target.join(WASM).join(folder);
    Ok(["client_wasm.wasm", "offline_wasm.wasm"].map(|name| folder.join(name)))
}

/// Builds the environment modules and gives their files. They are data, named by their hash:
/// the same bytes whatever the page's profile is.
pub(crate) fn build_modules(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    setup::set_up_wasm(workspace)?;
    let names = module_names(workspace);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut order = vec!["-p", "env-core"];
    order.extend(names.iter().flat_map(|name| ["--example", name.as_str()]));
    run(
        "building the environment modules",
        &mut wasm(workspace, "wasm-release", &order),
    )?;
    let examples = workspace.target.join(WASM).join("wasm-release/examples");
    Ok(names
        .iter()
        .map(|name| examples.join(format!("{name}.wasm")))
        .collect())
}

/// The environment modules are the examples of `env-core` that compile to a C library.
fn module_names(workspace: &Workspace) -> Vec<String> {
    let packages = workspace.metadata["packages"]
        .as_array()
        .into_iter()
        .flatten();
    let targets = packages
        .filter(|package| package["name"] == "env-core")
        .flat_map(|p| p["targets"].as_array());
    targets
        .flatten()
        .filter(|target| target["kind"][0] == "example" && target["crate_types"][0] == "cdylib")
        .filter_map(|target| target["name"].as_str().map(str::to_owned))
        .collect()
}

/// A build for the browser. Paths of this machine are kept out of it: they would be published,
/// and one source would have another hash on every machine.
fn wasm(workspace: &Workspace, profile: &str, what: &[&str]) -> Command {
    let mut flags = vec![remap_flag(&workspace.root, "/coplay")];
    flags.extend(cargo_home().map(|home| remap_flag(&home, "/cargo")));
    let mut cargo = workspace.cargo(&["build", "--target", WASM, "--profile", profile]);
    cargo
        .args(what)
        .arg("--config")
        .arg(format!("target.{WASM}.rustflags={flags:?}"));
    cargo
}

/// Where cargo unpacks the sources of third-party crates.
pub(crate) fn cargo_home() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
}

/// The flag of the compiler that writes one path in place of another.
pub(crate) fn remap_flag(from: &Path, to: &str) -> String {
    format!("--remap-path-prefix={}={to}", from.display())
}

/// Puts `dist/` together by this program.
pub(crate) fn bundle_page(workspace: &Workspace, mut bundler: Command, dev: bool) -> Result<()> {
    let [client, offline] = client(workspace, dev)?;
    let modules = build_modules(workspace)?;
    let (web, dist) = (workspace.root.join("web"), workspace.root.join("dist"));
    let mut inputs = vec![
        client.clone(),
        offline.clone(),
        workspace.root.join("xtask/src/bundle.rs"),
        workspace.root.join("signaling-server/src/first_page.rs"),
        workspace.root.join("Cargo.lock"),
    ];
    inputs.extend_from_slice(&modules);
    let stamp_file = workspace.target.join("dist.stamp");
    let old = fs::read_to_string(&stamp_file).unwrap_or_default();
    fs::create_dir_all(&dist)?;
    if stamp([&web, &dist], &inputs, dev)? == old {
        return Ok(());
    }
    bundler.arg("--client").arg(&client).arg("--out").arg(&dist);
    bundler.arg("--web").arg(&web);
    bundler.arg("--offline").arg(&offline);
    for module in &modules {
        bundler.arg("--module").arg(module);
    }
    if dev {
        bundler.arg("--dev");
    }
    run("bundling the page into dist/", &mut bundler)?;
    notices::write_notices(workspace, &dist)?;
    fs::write(stamp_file, stamp([&web, &dist], &inputs, dev)?)
        .context("remembering what was bundled")
}

/// Builds examples of environments as modules, and gives their files.
pub(crate) fn build_examples(workspace: &Workspace, names: &[&str]) -> Result<Vec<PathBuf>> {
    setup::set_up_wasm(workspace)?;
    let mut order = vec!["-p", "example-environments"];
    order.extend(names.iter().flat_map(|name| ["--example", name]));
    run(
        "building examples of environments",
        &mut wasm(workspace, "wasm-release", &order),
    )?;
    let built = workspace.target.join(WASM).join("wasm-release/examples");
    Ok(names
        .iter()
        .map(|name| built.join(format!("{name}.wasm")))
        .collect())
}

/// The program that bundles a page: a client, and the front end if `--web` follows, into a folder.
pub(crate) fn bundler_command(workspace: &Workspace) -> Command {
    let order = ["run", "-p", "xtask", "--features", "bundle"];
    let mut cargo = workspace.cargo(&order);
    cargo.args(["--bin", "bundle", "--"]);
    cargo
}

/// Builds an example of a crate to wasm, for a measurement, and gives the folder of its bindings for JavaScript.
pub(crate) fn make_bindings(
    workspace: &Workspace,
    package: &str,
    example: &str,
) -> Result<PathBuf> {
    setup::set_up_wasm(workspace)?;
    let mut cargo = workspace.cargo(&["build", "-p", package, "--example", example]);
    cargo.args(["--profile", "bench", "--target", WASM]);
    run("building it to wasm", &mut cargo)?;
    let built = workspace.target.join(WASM).join("release/examples");
    bind(workspace, bundler_command(workspace), &built, example)
}

/// Builds the program that decides in browsers, for the tests, as the page is built; gives its folder.
fn decision(workspace: &Workspace) -> Result<PathBuf> {
    let order = ["-p", "policy", "--example", "decision"];
    run(
        "building the program that decides",
        &mut wasm(workspace, "wasm-release", &order),
    )?;
    Ok(workspace.target.join(WASM).join("wasm-release/examples"))
}

/// Puts the program that decides in browsers together by this bundler, for the tests.
pub(crate) fn bind_decision(workspace: &Workspace, bundler: Command) -> Result<()> {
    bind(workspace, bundler, &decision(workspace)?, "decision").map(drop)
}

/// Generates the bindings of an example for JavaScript, and gives their folder.
fn bind(
    workspace: &Workspace,
    mut bundler: Command,
    built: &Path,
    example: &str,
) -> Result<PathBuf> {
    let out = workspace.target.join(example);
    fs::create_dir_all(&out)?;
    let client = built.join(format!("{example}.wasm"));
    bundler.arg("--client").arg(client).arg("--out").arg(&out);
    run("generating the bindings", bundler.arg("--dev"))?;
    Ok(out)
}

/// A hash over the path, length and time of change of what `dist/` is made of, and of itself:
/// a build with another target folder may have replaced it.
fn stamp(folders: [&Path; 2], inputs: &[PathBuf], dev: bool) -> Result<String> {
    let mut paths = inputs.to_owned();
    for folder in folders {
        files(folder, &mut paths)?;
    }
    paths.sort();
    let mut stamp = DefaultHasher::new();
    dev.hash(&mut stamp);
    for path in paths {
        let facts = fs::metadata(&path)
            .with_context(|| format!("{} should have been built", path.display()))?;
        (path, facts.len(), facts.modified()?).hash(&mut stamp);
    }
    Ok(format!("{:016x}", stamp.finish()))
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?
        } else {
            found.push(path)
        }
    }
    Ok(())
}
