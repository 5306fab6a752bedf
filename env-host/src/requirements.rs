//! The Python packages of a study: installed once into a virtual environment, locked with hashes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use protocol::hash::sha256_hex;
use serde::Deserialize;

/// The interpreter where nobody names another.
const INTERPRETER: &str = "python3";

/// The variable of the environment that names another one.
const NAMED: &str = "COPLAY_PYTHON";

/// The lock beside the requirements, if the study ships one, and its name in the data folder.
pub const LOCK: &str = "requirements.lock";

/// A failure to install the packages of a study.
#[derive(Debug, thiserror::Error)]
pub enum RequirementsError {
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The interpreter does not start.
    #[error(
        "cannot start `{interpreter}`: {reason}; install Python 3.10 or newer (Debian: `apt install python3 python3-venv`), \
         or name its program in COPLAY_PYTHON"
    )]
    Interpreter {
        /// The interpreter.
        interpreter: String,
        /// The reason.
        reason: String,
    },
    /// A step of the installation failed.
    #[error("{step} failed:\n{output}")]
    Step {
        /// The step.
        step: &'static str,
        /// The end of its output.
        output: String,
    },
    /// A package has no hash.
    #[error(
        "`{package}` has no SHA-256, so it cannot be locked: name a version from an index of packages"
    )]
    NoHash {
        /// The package.
        package: String,
    },
}

/// An interpreter with the packages of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonEnvironment {
    /// The interpreter.
    pub interpreter: PathBuf,
    /// The versions and hashes of its packages, as pip reads them; empty if the study has no requirements.
    pub lock: String,
}

/// Finds an interpreter without packages of a study: the one that is named, or that `COPLAY_PYTHON` names, or `python3`.
/// Gives its own path, past shims that only start it.
///
/// # Errors
/// [`RequirementsError::Interpreter`].
pub fn find_interpreter(named: Option<&Path>) -> Result<PathBuf, RequirementsError> {
    let named = named.map(Path::to_owned);
    let named = named.or_else(|| std::env::var_os(NAMED).map(PathBuf::from));
    let named = named.unwrap_or_else(|| INTERPRETER.into());
    let refused = |reason: String| RequirementsError::Interpreter {
        interpreter: named.display().to_string(),
        reason,
    };
    let ask = "import sys; assert sys.version_info >= (3, 10), 'it is older than 3.10'; print(sys.executable)";
    let asked = Command::new(&named)
        .args(["-c", ask])
        .stdin(Stdio::null())
        .output();
    let answer = asked.map_err(|error| refused(error.to_string()))?;
    let path = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    match answer.status.success() && !path.is_empty() {
        true => Ok(path.into()),
        false => Err(refused(tail(&answer.stderr))),
    }
}

/// Installs the packages of a requirements file below a data folder, unless that was done, and returns the interpreter.
///
/// The first installation locks each package with its hash; later ones install exactly these.
/// A file `requirements.lock` beside the requirements is taken instead of resolving them.
/// `progress` gets a sentence at each step.
///
/// # Errors
/// [`RequirementsError`]; nothing half-installed is used.
pub fn install_requirements(
    below: &Path,
    requirements: &Path,
    interpreter: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<PythonEnvironment, RequirementsError> {
    let below = std::path::absolute(below).map_err(at(below))?;
    let requirements = &std::path::absolute(requirements).map_err(at(requirements))?;
    let wanted = read(requirements)?;
    let shipped = requirements.with_file_name(LOCK);
    let shipped = shipped.is_file().then(|| read(&shipped)).transpose()?;
    let version = output(
        Command::new(interpreter).arg("-VV"),
        "asking Python for its version",
    )?;
    let key = sha256_hex(format!("{wanted}\0{shipped:?}\0{version}").as_bytes());
    let folder = below.join(format!("python-{}", &key[..16]));
    let python = folder.join("venv/bin/python");
    let (complete, lock_file) = (folder.join("complete"), folder.join(LOCK));
    let installed = |lock| PythonEnvironment {
        interpreter: python.clone(),
        lock,
    };
    if complete.is_file() {
        return Ok(installed(read(&lock_file)?));
    }
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    // Two programs may want the same packages at the same time: the second waits, and finds them installed.
    let guard = fs::File::create(folder.join("in-use")).map_err(at(&folder))?;
    guard.lock().map_err(at(&folder))?;
    if complete.is_file() {
        return Ok(installed(read(&lock_file)?));
    }
    progress("making a virtual environment");
    make_venv(interpreter, &folder.join("venv"))?;
    if let Some(lock) = shipped {
        fs::write(&lock_file, lock).map_err(at(&lock_file))?;
    } else if !lock_file.is_file() {
        progress("finding the versions of the packages");
        let lock = resolve(&python, requirements, &folder)?;
        fs::write(&lock_file, lock).map_err(at(&lock_file))?;
    }
    let lock = read(&lock_file)?;
    progress(&format!("installing {} packages", count(&lock)));
    let mut install = pip(&python, "install");
    install
        .args(["--require-hashes", "--no-deps", "--requirement"])
        .arg(&lock_file);
    // Paths in the lock are from the folder of the requirements, too.
    if let Some(folder) = requirements.parent() {
        install.current_dir(folder);
    }
    output(&mut install, "installing the packages (`pip install`)")?;
    fs::write(&complete, "").map_err(at(&complete))?;
    progress("the packages are installed");
    Ok(installed(lock))
}

/// Finds the versions of the packages of a requirements file, with their hashes, as pip reads them. Later calls give the
/// same.
///
/// # Errors
/// [`RequirementsError`].
pub(crate) fn lock_requirements(
    below: &Path,
    requirements: &Path,
    interpreter: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<String, RequirementsError> {
    let wanted = read(requirements)?;
    let version = output(
        Command::new(interpreter).arg("-VV"),
        "asking Python for its version",
    )?;
    let key = sha256_hex(format!("{wanted}\0{version}").as_bytes());
    let folder = below.join(format!("lock-{}", &key[..16]));
    let lock_file = folder.join(LOCK);
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    // Two programs may want the same lock at the same time: the second waits, and finds it.
    let guard = fs::File::create(folder.join("in-use")).map_err(at(&folder))?;
    guard.lock().map_err(at(&folder))?;
    if lock_file.is_file() {
        return read(&lock_file);
    }
    progress("finding the versions of the packages");
    let venv = folder.join("venv");
    make_venv(interpreter, &venv)?;
    let lock = resolve(&venv.join("bin/python"), requirements, &folder)?;
    fs::remove_dir_all(&venv).map_err(at(&venv))?;
    let draft = lock_file.with_extension("part");
    fs::write(&draft, &lock).map_err(at(&draft))?;
    fs::rename(&draft, &lock_file).map_err(at(&lock_file))?;
    Ok(lock)
}

fn make_venv(interpreter: &Path, venv: &Path) -> Result<(), RequirementsError> {
    if venv.exists() {
        fs::remove_dir_all(venv).map_err(at(venv))?;
    }
    let mut make = Command::new(interpreter);
    make.args(["-m", "venv"]).arg(venv);
    output(&mut make, "making a virtual environment (`python -m venv`)").map(drop)
}

/// Asks pip which versions it would install, and their hashes.
fn resolve(python: &Path, requirements: &Path, folder: &Path) -> Result<String, RequirementsError> {
    let report = folder.join("report.json");
    let mut command = pip(python, "install");
    command
        .args(["--dry-run", "--ignore-installed", "--report"])
        .arg(&report);
    command.arg("--requirement").arg(requirements);
    if let Some(folder) = requirements
        .parent()
        .filter(|folder| *folder != Path::new(""))
    {
        // Paths in the file are from its folder.
        command.current_dir(folder);
    }
    output(
        &mut command,
        "finding the versions of the packages (`pip install --dry-run`)",
    )?;
    let mut lock = index_options(&read(requirements)?);
    lock.push_str(&lock_of(&read(&report)?)?);
    Ok(lock)
}

/// The lines of a requirements file that say where packages come from.
fn index_options(requirements: &str) -> String {
    let options = [
        "-i ",
        "-f ",
        "--index-url",
        "--extra-index-url",
        "--find-links",
        "--no-index",
        "--trusted-host",
    ];
    let is_one = |line: &&str| options.iter().any(|option| line.starts_with(option));
    let lines = requirements.lines().map(str::trim).filter(is_one);
    lines.fold(String::new(), |all, line| all + line + "\n")
}

/// The lock from pip's report.
fn lock_of(report: &str) -> Result<String, RequirementsError> {
    let report: Report = serde_json::from_str(report).map_err(|error| RequirementsError::Step {
        step: "reading pip's report",
        output: error.to_string(),
    })?;
    let mut lines = BTreeMap::new();
    for Installed {
        metadata,
        download_info,
    } in report.install
    {
        let hashes = download_info.archive_info.map(|archive| archive.hashes);
        let Some(sha256) = hashes.and_then(|mut hashes| hashes.remove("sha256")) else {
            let package = metadata.name;
            return Err(RequirementsError::NoHash { package });
        };
        let line = format!(
            "{}=={} --hash=sha256:{sha256}\n",
            metadata.name, metadata.version
        );
        lines.insert(metadata.name.to_lowercase(), line);
    }
    Ok(lines.into_values().collect())
}

#[derive(Deserialize)]
struct Report {
    install: Vec<Installed>,
}

#[derive(Deserialize)]
struct Installed {
    metadata: Metadata,
    download_info: DownloadInfo,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct DownloadInfo {
    archive_info: Option<ArchiveInfo>,
}

#[derive(Deserialize)]
struct ArchiveInfo {
    #[serde(default)]
    hashes: BTreeMap<String, String>,
}

fn pip(python: &Path, verb: &str) -> Command {
    let mut command = Command::new(python);
    command.args([
        "-m",
        "pip",
        verb,
        "--disable-pip-version-check",
        "--no-input",
        "--quiet",
    ]);
    command
}

fn count(lock: &str) -> usize {
    lock.lines().filter(|line| line.contains("==")).count()
}

fn output(command: &mut Command, step: &'static str) -> Result<String, RequirementsError> {
    let failed = |output: String| RequirementsError::Step { step, output };
    let ran = command.stdin(Stdio::null()).output();
    let ran = ran.map_err(|error| failed(error.to_string()))?;
    match ran.status.success() {
        true => Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned()),
        false => Err(failed(format!(
            "{}{}",
            tail(&ran.stdout),
            tail(&ran.stderr)
        ))),
    }
}

/// The end of an output that is worth showing.
fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

fn read(path: &Path) -> Result<String, RequirementsError> {
    fs::read_to_string(path).map_err(at(path))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> RequirementsError {
    let path = path.to_owned();
    |source| RequirementsError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_names_every_package_with_its_hash() {
        let report = r#"{"install": [
            {"metadata": {"name": "numpy", "version": "2.1.0"},
             "download_info": {"archive_info": {"hashes": {"sha256": "bb"}}}},
            {"metadata": {"name": "Farama-Notifications", "version": "0.0.4"},
             "download_info": {"archive_info": {"hashes": {"sha256": "aa"}}}}]}"#;
        let lock = lock_of(report).unwrap();
        assert_eq!(
            lock,
            "Farama-Notifications==0.0.4 --hash=sha256:aa\nnumpy==2.1.0 --hash=sha256:bb\n"
        );
        assert_eq!(count(&lock), 2);
        let report =
            r#"{"install": [{"metadata": {"name": "mine", "version": "1"}, "download_info": {}}]}"#;
        assert!(
            lock_of(report)
                .unwrap_err()
                .to_string()
                .contains("`mine` has no SHA-256")
        );
    }

    #[test]
    fn a_lock_keeps_where_packages_come_from() {
        let text =
            "numpy\n--index-url https://lab.example.edu/simple\n  --no-index\n# --find-links x\n";
        let kept = "--index-url https://lab.example.edu/simple\n--no-index\n";
        assert_eq!(index_options(text), kept);
    }

    #[test]
    fn an_interpreter_that_is_not_there_is_named() {
        let error = find_interpreter(Some(Path::new("/nowhere/python")))
            .unwrap_err()
            .to_string();
        assert!(error.contains("cannot start `/nowhere/python`"), "{error}");
        assert!(error.contains("python3-venv"), "{error}");
    }
}
