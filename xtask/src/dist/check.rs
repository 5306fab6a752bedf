//! The check of a release: every file is checked, and the wheel is installed where there is only Python.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::{Release, SUMS, archive, find, sums};
use crate::python::{Venv, create};
use crate::tally::{Count, run_counted};
use crate::workspace::{Workspace, output, run, say};

/// Runs a study and a training step where the wheel is installed. It prints `N passed in 1.5s`.
const TRY: &str = include_str!("try.py");

/// The most bytes of a wheel: 30 MB.
const WHEEL_BYTES: u64 = 30_000_000;

/// The most bytes of the program: 60 MB. With tables of a debugger it had 139.
const PROGRAM_BYTES: usize = 60_000_000;

/// Looks at every file of a release, installs the wheel, and tries it.
///
/// # Errors
/// Something is not as it should be.
pub(super) fn check(workspace: &Workspace, out: &Path, count: &mut Count) -> Result<()> {
    let release = Release::find(workspace)?;
    let wheel = find(out, ".whl")?;
    let size = fs::metadata(&wheel)?.len();
    let megabytes = size as f64 / 1e6;
    ensure!(
        size <= WHEEL_BYTES,
        "the wheel has {megabytes:.1} MB, and not at most 30"
    );
    say(format_args!("the wheel has {megabytes:.1} MB"));
    ensure!(
        fs::read_to_string(out.join(SUMS))? == sums(out)?,
        "{SUMS} has other sums than the files"
    );
    check_bom(out)?;
    check_container(out)?;
    let tree = check_archive(workspace, &release, out)?;
    let program = tree
        .join("bin")
        .join(format!("coplay{}", std::env::consts::EXE_SUFFIX));
    check_program(workspace, &release, &program)?;
    count.passed += 5;
    try_wheel(workspace, &wheel, count)
}

/// The bill of materials names crates of every part, each with a licence.
fn check_bom(out: &Path) -> Result<()> {
    let bom: Value = serde_json::from_slice(&fs::read(find(out, ".cdx.json")?)?)?;
    let components = bom["components"].as_array().context("no components")?;
    for name in ["tokio", "web-sys", "pyo3"] {
        ensure!(
            components.iter().any(|it| it["name"] == name),
            "no {name} among the materials"
        );
    }
    let bare = components.iter().find(|it| it["licenses"].is_null());
    ensure!(bare.is_none(), "no licence of {bare:?}");
    Ok(())
}

/// The container file takes files that the release has.
fn check_container(out: &Path) -> Result<()> {
    let text = fs::read_to_string(out.join("Containerfile"))?;
    let added: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("ADD ")?.split(' ').next())
        .collect();
    ensure!(!added.is_empty(), "the container file takes nothing");
    for file in added {
        ensure!(
            out.join(file).is_file(),
            "the container file takes {file}, which is not there"
        );
    }
    Ok(())
}

/// The archive unpacks to a program with its pages, completions and licences. Gives its folder.
fn check_archive(workspace: &Workspace, release: &Release, out: &Path) -> Result<PathBuf> {
    let folder = workspace.target.join("dist/unpacked");
    super::empty(&folder)?;
    let packed = fs::File::open(find(out, ".tar.gz")?)?;
    tar::Archive::new(flate2::read::GzDecoder::new(packed)).unpack(&folder)?;
    let tree = folder.join(release.name());
    let files = archive::list_files(&tree)?;
    for file in [
        "man/man1/coplay-serve.1",
        "doc/coplay/third-party-notices.txt",
        "doc/coplay/LICENSE-MIT",
    ] {
        let file = format!("share/{file}");
        ensure!(files.contains(&file), "the archive has no {file}");
    }
    let again = folder.join("again.tar.gz");
    archive::pack(&tree, &release.name(), release.epoch, &again)?;
    ensure!(
        fs::read(again)? == fs::read(find(out, ".tar.gz")?)?,
        "the same files give another archive"
    );
    Ok(tree)
}

/// The program runs, needs no library where it is said to be static, and has neither tables of a debugger nor paths of
/// this machine.
fn check_program(workspace: &Workspace, release: &Release, program: &Path) -> Result<()> {
    let told = output(workspace.command(program).arg("--version"))?;
    ensure!(
        told.trim() == format!("coplay {}", release.version),
        "it calls itself {told}"
    );
    let bytes = fs::read(program)?;
    let megabytes = bytes.len() as f64 / 1e6;
    say(format_args!("the program has {megabytes:.1} MB"));
    ensure!(
        bytes.len() <= PROGRAM_BYTES,
        "the program has {megabytes:.1} MB: it seems to have tables of a debugger"
    );
    let has = |part: &str| contains(&bytes, part);
    if release.target.ends_with("-musl") {
        ensure!(
            !has("/lib64/ld-linux") && !has("/lib/ld-"),
            "the program is not static"
        );
    }
    check_paths(workspace, &bytes, "the program")
}

/// No path of this machine is in a compiled file.
fn check_paths(workspace: &Workspace, bytes: &[u8], what: &str) -> Result<()> {
    let home = crate::build::cargo_home().unwrap_or_default();
    for path in [&workspace.root, &workspace.target, &home] {
        let path = path.to_string_lossy();
        ensure!(
            path.is_empty() || !contains(bytes, &path),
            "{what} has the path {path} in it"
        );
    }
    Ok(())
}

fn contains(bytes: &[u8], part: &str) -> bool {
    bytes
        .windows(part.len())
        .any(|window| window == part.as_bytes())
}

/// Installs the wheel into an empty environment, as people do, and uses it there.
fn try_wheel(workspace: &Workspace, wheel: &Path, count: &mut Count) -> Result<()> {
    let folder = workspace.target.join("dist/venv");
    create(workspace, &folder)?;
    let venv = Venv::at(folder);
    let mut pip = venv.command(workspace, "python");
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    run("installing the wheel", pip.arg(wheel))?;
    let mut python = venv.command(workspace, "python");
    let find = "import coplay._coplay; print(coplay._coplay.__file__)";
    let native = output(python.args(["-I", "-c", find]))?;
    let native = fs::read(native.trim()).context("reading the native module")?;
    check_paths(workspace, &native, "the native module of the wheel")?;
    let scratch = workspace.target.join("dist/scratch");
    super::empty(&scratch)?;
    let mut python = venv.command(workspace, "python");
    // Outside of the checkout, and without whatever else this machine has.
    python.args(["-I", "-c", TRY]).current_dir(&scratch);
    if cfg!(unix) {
        python.env("PATH", "/usr/bin:/bin");
    }
    let before = count.passed;
    run_counted(&mut python, count)?;
    if count.passed == before {
        bail!("the trial of the wheel counted nothing");
    }
    Ok(())
}
