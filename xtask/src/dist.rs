//! `dist`: a release, the same bytes in every build of one commit.

mod archive;
mod bom;
mod check;

use std::env::consts::{ARCH, EXE_SUFFIX, OS};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use crate::build;
use crate::notices;
use crate::options::{Options, Takes};
use crate::python::Venv;
use crate::setup;
use crate::tally::Tally;
use crate::workspace::{Workspace, output, run, say};

const HELP: &str = "\
cargo xtask dist [--out DIR] [--check] [--twice]

Builds a release into dist-release/ (or DIR): a Python wheel with the command, the page,
the environments and the package; an archive with the program, on Linux a static one;
a container file; completions for shells; manual pages; a bill of materials with licences
(CycloneDX); and SHA256SUMS. One commit gives the same bytes in every build on one
machine: times are those of the commit (or SOURCE_DATE_EPOCH), and no path is in them.

On Linux it needs the target ARCH-unknown-linux-musl and musl-gcc, and installs them
where it can (rustup; apt-get of Debian or Ubuntu, as root or by sudo).

--out DIR   another folder
--check     then installs the wheel into an empty virtual environment, runs a study and a
            training step there, and looks at every other file
--twice     then builds everything again in another target folder, and compares the bytes";

/// The folder of a release.
const FOLDER: &str = "dist-release";

/// The profile that it is compiled with.
const PROFILE: &str = "dist";

/// The packages that build the wheel.
const REQUIREMENTS: &str = "python/requirements-dist.txt";

/// Puts the program into the wheel.
const WHEEL: &str = include_str!("dist/wheel.py");

/// The folder of manual pages below the prefix of an installation.
const MANUAL: &str = "share/man/man1";

/// Shells, where each looks for completions below the prefix of an installation, and the file beside the archive.
const SHELLS: [(&str, &str, &str); 4] = [
    (
        "bash",
        "share/bash-completion/completions/coplay",
        "coplay.bash",
    ),
    (
        "fish",
        "share/fish/vendor_completions.d/coplay.fish",
        "coplay.fish",
    ),
    ("zsh", "share/zsh/site-functions/_coplay", "_coplay"),
    ("powershell", "share/powershell/coplay.ps1", "coplay.ps1"),
];

/// The list of files with their SHA-256.
const SUMS: &str = "SHA256SUMS";

/// `cargo xtask dist`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        switches: &["check", "twice"],
        values: &["out"],
        ..Takes::default()
    };
    let Some(options) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let workspace = Workspace::find()?;
    let out = workspace.root.join(options.value("out").unwrap_or(FOLDER));
    build(&workspace, &out)?;
    if options.has("check") {
        let mut tally = Tally::default();
        let checked = tally.step("release", |count| check::check(&workspace, &out, count));
        tally.print_summary();
        checked?;
    }
    if options.has("twice") {
        build_again(&workspace, &out)?;
    }
    Ok(())
}

/// Builds a release in the usual folder and checks it, as `--check` does; returns the program in it.
///
/// # Errors
/// Something cannot be built, or is not as it should be.
pub(crate) fn check(workspace: &Workspace, count: &mut crate::tally::Count) -> Result<PathBuf> {
    let out = workspace.root.join(FOLDER);
    build(workspace, &out)?;
    check::check(workspace, &out, count)?;
    Ok(program(workspace, &Release::find(workspace)?))
}

/// The path of the program that a release has.
fn program(workspace: &Workspace, release: &Release) -> PathBuf {
    let folder = workspace.target.join(&release.target).join(PROFILE);
    folder.join(format!("coplay{EXE_SUFFIX}"))
}

/// The facts that every part of a release needs.
pub(crate) struct Release {
    /// The version of the workspace.
    pub(crate) version: String,
    /// The target that the program is built for.
    pub(crate) target: String,
    /// The time of all files, in seconds since 1970.
    epoch: u64,
}

impl Release {
    /// # Errors
    /// Git or the compiler does not answer, or SOURCE_DATE_EPOCH is no number.
    pub(crate) fn find(workspace: &Workspace) -> Result<Self> {
        let packages = workspace.metadata["packages"].as_array();
        let mut packages = packages.into_iter().flatten();
        let ours = packages.find(|package| package["name"] == "coplay");
        let version = ours.and_then(|package| package["version"].as_str());
        let told = output(workspace.command("rustc").arg("-vV"))?;
        let host = told.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.context("rustc -vV names no host")?.to_owned();
        let epoch = match env::var("SOURCE_DATE_EPOCH") {
            Ok(given) => given,
            Err(_) => output(workspace.command("git").args(["log", "-1", "--format=%ct"]))?,
        };
        let epoch = epoch.trim().parse();
        Ok(Self {
            version: version
                .context("the package coplay has no version")?
                .to_owned(),
            target: match OS {
                "linux" => format!("{ARCH}-unknown-linux-musl"),
                _ => host,
            },
            epoch: epoch.context("SOURCE_DATE_EPOCH is a number of seconds since 1970")?,
        })
    }

    /// The name of the archive, without its ending, and of the folder in it.
    pub(crate) fn name(&self) -> String {
        format!("coplay-{}-{}", self.version, self.target)
    }

    /// The time of all files, as text of RFC 3339.
    fn time(&self) -> String {
        let (days, second) = (self.epoch / 86_400, self.epoch % 86_400);
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// The date that is this many days after 1970-01-01: year, month, day.
fn civil(days: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let (mut year, mut left) = (1970, days);
    loop {
        let days = if is_leap(year) { 366 } else { 365 };
        if left < days {
            break;
        }
        left -= days;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for days in months {
        if left < days {
            break;
        }
        left -= days;
        month += 1;
    }
    (year, month, left + 1)
}

/// Builds a release into a folder, which holds nothing else afterwards.
fn build(workspace: &Workspace, out: &Path) -> Result<()> {
    let release = Release::find(workspace)?;
    build::page(workspace, false)?;
    let program = build_program(workspace, &release)?;
    let tree = workspace.target.join("dist/tree");
    empty(&tree)?;
    empty(out)?;
    let bom = out.join(format!("coplay-{}.cdx.json", release.version));
    fs::write(
        &bom,
        bom::make_bom(workspace, &release.version, &release.time())?,
    )?;
    lay_out(workspace, &program, &bom, &tree)?;
    lay_beside(&tree, out)?;
    build_wheel(workspace, &release, &tree, &bom, out)?;
    say("packing the archive");
    let name = release.name();
    let packed = out.join(format!("{name}.tar.gz"));
    archive::pack(&tree, &name, release.epoch, &packed)?;
    fs::write(out.join("Containerfile"), container_file(&name))?;
    let sums = sums(out)?;
    fs::write(out.join(SUMS), &sums)?;
    println!("{sums}");
    Ok(())
}

fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("emptying {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))
}

/// Flags of the compiler that keep the paths of this machine out of what it makes.
fn flags(workspace: &Workspace) -> Vec<String> {
    // The last one that fits counts: the target folder may lie within the root.
    let mut flags = vec![build::remap_flag(&workspace.root, "/coplay")];
    flags.extend(build::cargo_home().map(|home| build::remap_flag(&home, "/cargo")));
    flags.push(build::remap_flag(&workspace.target, "/target"));
    flags
}

/// Builds the program, static where the system has a library of C for that.
fn build_program(workspace: &Workspace, release: &Release) -> Result<PathBuf> {
    let target = &release.target;
    setup::target(workspace, target)?;
    if OS == "linux" && setup::find("musl-gcc").is_none() {
        setup::install_by_apt(workspace, "musl-tools")
            .context("a static program needs musl-gcc")?;
    }
    let order = [
        "build",
        "--profile",
        PROFILE,
        "--locked",
        "-p",
        "coplay",
        "--bin",
        "coplay",
    ];
    let mut cargo = workspace.cargo(&order);
    cargo.args(["--target", target]);
    let flags = format!("target.{target}.rustflags={:?}", flags(workspace));
    cargo.args(["--config", &flags]);
    // Without the time: C is compiled again when the time changes, and no compiled file contains it.
    run("building the program", &mut cargo)?;
    Ok(program(workspace, release))
}

/// Lays out the program and its files, as they will be below the prefix of an installation.
fn lay_out(workspace: &Workspace, program: &Path, bom: &Path, tree: &Path) -> Result<()> {
    let folder = |path: &str| -> Result<PathBuf> {
        let folder = tree.join(path);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    let name = format!("coplay{EXE_SUFFIX}");
    fs::copy(program, folder("bin")?.join(name)).context("copying the program")?;
    let mut manual = workspace.command(program);
    run(
        "writing the manual pages",
        manual.arg("manual").arg("--out").arg(folder(MANUAL)?),
    )?;
    for (shell, path, _) in SHELLS {
        let script = output(workspace.command(program).args(["completions", shell]))?;
        let file = tree.join(path);
        fs::create_dir_all(file.parent().context("it lies in a folder")?)?;
        fs::write(file, script)?;
    }
    let doc = folder("share/doc/coplay")?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(workspace.root.join(file), doc.join(file))
            .with_context(|| format!("copying {file}"))?;
    }
    notices::write_notices(workspace, &doc)?;
    let name = bom.file_name().context("the bill of materials is a file")?;
    fs::copy(bom, doc.join(name)).context("copying the bill of materials")?;
    Ok(())
}

/// Lays manual pages and completions beside the archive too, for those who package the program for a system.
fn lay_beside(tree: &Path, out: &Path) -> Result<()> {
    let pages = archive::list_files(&tree.join(MANUAL))?;
    let pages = pages
        .iter()
        .map(|page| (format!("{MANUAL}/{page}"), format!("man/{page}")));
    let scripts = SHELLS.map(|(_, path, name)| (path.to_owned(), format!("completions/{name}")));
    for (from, to) in pages.chain(scripts) {
        let to = out.join(to);
        fs::create_dir_all(to.parent().context("it lies in a folder")?)?;
        fs::copy(tree.join(&from), to).with_context(|| format!("copying {from}"))?;
    }
    Ok(())
}

/// Builds the wheel of the Python package, and puts the program into it.
fn build_wheel(
    workspace: &Workspace,
    release: &Release,
    tree: &Path,
    bom: &Path,
    out: &Path,
) -> Result<()> {
    let venv = Venv::with(workspace, workspace.root.join(".tools/dist"), REQUIREMENTS)?;
    let wheels = workspace.target.join("dist/wheels");
    empty(&wheels)?;
    let epoch = |command: &mut Command| {
        command.env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    };
    let mut maturin = venv.command(workspace, "maturin");
    maturin.args(["build", "--profile", PROFILE, "--locked", "--quiet"]);
    maturin.args(["--manifest-path", "python/Cargo.toml"]);
    // By the environment: maturin has flags of its own, which would replace those of a configuration.
    maturin.env("CARGO_ENCODED_RUSTFLAGS", flags(workspace).join("\u{1f}"));
    // A separate folder: with other flags, cargo would compile again what other commands have compiled.
    maturin.env("CARGO_TARGET_DIR", workspace.target.join("dist/cargo"));
    epoch(&mut maturin);
    run(
        "building the Python package",
        maturin.arg("--out").arg(&wheels),
    )?;
    let wheel = find(&wheels, ".whl")?;
    let mut python = venv.command(workspace, "python");
    python
        .args(["-c", WHEEL])
        .arg(wheel)
        .arg(tree)
        .arg(bom)
        .arg(out);
    epoch(&mut python);
    run("putting the program into the wheel", &mut python)
}

/// The only file of a folder whose name ends so.
pub(crate) fn find(folder: &Path, end: &str) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    match found.as_slice() {
        [file] => Ok(file.clone()),
        _ => bail!(
            "{} has {} files *{end} instead of one",
            folder.display(),
            found.len()
        ),
    }
}

/// The file that makes an image of a container beside the archive of this name.
fn container_file(name: &str) -> String {
    format!(
        "\
# An image that serves a study. Build it in the folder of the release:
#   docker build --file Containerfile --tag coplay .
#   docker run --volume ./my-study:/study:ro --volume coplay-data:/data --publish 8080:8080 \\
#     --publish 3478:3478/udp --publish 3478:3478/tcp coplay
FROM debian:12-slim
ADD {name}.tar.gz /opt/
RUN cp -R /opt/{name}/. /usr/local/ && rm -R /opt/{name} \\
 && useradd --uid 10001 --create-home coplay \\
 && install --directory --owner coplay --mode 0700 /data
USER coplay
VOLUME /data
EXPOSE 8080/tcp 3478/tcp 3478/udp
ENTRYPOINT [\"coplay\"]
CMD [\"serve\", \"/study\", \"--data\", \"/data\", \"--listen\", \"0.0.0.0:8080\"]
"
    )
}

/// The SHA-256 of every file of a release, in the format of `sha256sum`.
fn sums(folder: &Path) -> Result<String> {
    let mut sums = String::new();
    for file in archive::list_files(folder)?
        .iter()
        .filter(|file| *file != SUMS)
    {
        let bytes = fs::read(folder.join(file)).with_context(|| format!("reading {file}"))?;
        for byte in Sha256::digest(bytes) {
            write!(sums, "{byte:02x}")?;
        }
        writeln!(sums, "  {file}")?;
    }
    Ok(sums)
}

/// Builds the release again, in a separate target folder, and compares.
fn build_again(workspace: &Workspace, out: &Path) -> Result<()> {
    let again = workspace.target.join("dist-again");
    let other = again.join(FOLDER);
    let program = env::current_exe().context("this program has a path")?;
    let mut second = workspace.command(program);
    second.arg("dist").arg("--out").arg(&other);
    second.env("CARGO_TARGET_DIR", &again);
    run("building the release again", &mut second)?;
    let read = |folder: &Path| fs::read_to_string(folder.join(SUMS)).context("reading the sums");
    let (first, second) = (read(out)?, read(&other)?);
    let differ: Vec<&str> = first
        .lines()
        .filter(|line| !second.contains(*line))
        .collect();
    ensure!(
        first == second,
        "two builds differ in:\n{}\nCompare the files with those in {}",
        differ.join("\n"),
        other.display()
    );
    say("two builds gave the same bytes");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_dated_by_its_commit() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (20_782, (2026, 11, 25)),
        ] {
            assert_eq!(civil(days), date);
        }
        let release = Release {
            version: "0.1.0".to_owned(),
            target: "t".to_owned(),
            epoch: 1_000_000_000,
        };
        assert_eq!(release.time(), "2001-09-09T01:46:40Z");
    }

    #[test]
    fn sums_are_those_of_sha256sum() {
        let dir = env::temp_dir().join(format!("dist-sums-{}", std::process::id()));
        fs::create_dir_all(dir.join("man")).unwrap();
        fs::write(dir.join("man/a.1"), "abc").unwrap();
        fs::write(dir.join(SUMS), "old").unwrap();
        let told = sums(&dir).unwrap();
        fs::remove_dir_all(dir).unwrap();
        // Source: FIPS 180-2, appendix B.1.
        assert_eq!(
            told,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  man/a.1\n"
        );
    }
}
