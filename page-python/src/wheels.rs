//! The pure packages that an environment needs, as wheels.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use protocol::hash::sha256_hex;

use crate::NUMPY;
use crate::release::working_folder;

/// The packages of a requirements file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wheels {
    /// The wheels, by file name, in alphabetical order.
    pub files: Vec<(String, Vec<u8>)>,
    /// True if it asks for NumPy, which pages have.
    pub needs_numpy: bool,
}

/// Fetches the wheels of a requirements file with `pip`, once for each text of it. The file lists every package:
/// what they need themselves is not fetched.
///
/// # Errors
/// A sentence for the researcher: `pip` is missing, or a package has no pure wheel.
pub fn fetch_wheels(requirements: &str) -> Result<Wheels, String> {
    let lines = requirements
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    let (numpy, pure): (Vec<&str>, Vec<&str>) = lines
        .filter(|line| !line.is_empty())
        .partition(|line| name_of(line) == NUMPY);
    let needs_numpy = !numpy.is_empty();
    if pure.is_empty() {
        return Ok(Wheels {
            files: Vec::new(),
            needs_numpy,
        });
    }
    let home = working_folder().ok_or("there is no home folder for packages; set COPLAY_HOME")?;
    let folder = home
        .join("wheels")
        .join(sha256_hex(pure.join("\n").as_bytes()));
    // Two stages may need the same packages at the same time.
    static FETCHING: Mutex<()> = Mutex::new(());
    let fetching = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    if !folder.is_dir() {
        download(&pure, &folder)?;
    }
    drop(fetching);
    let files = read_wheels(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(Wheels { files, needs_numpy })
}

/// The name of the package of a line, in its plain form.
fn name_of(line: &str) -> String {
    let end = line.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_.".contains(letter));
    line[..end.unwrap_or(line.len())]
        .to_ascii_lowercase()
        .replace(['_', '.'], "-")
}

fn download(packages: &[&str], folder: &Path) -> Result<(), String> {
    let fresh = folder.with_extension(format!("{}.new", std::process::id()));
    let told = |error: std::io::Error| format!("{}: {error}", fresh.display());
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(told)?;
    }
    fs::create_dir_all(&fresh).map_err(told)?;
    eprintln!("fetching {}", packages.join(", "));
    let python = std::env::var_os("COPLAY_PYTHON").unwrap_or_else(|| "python3".into());
    let done = Command::new(&python)
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ])
        .args([
            "--only-binary",
            ":all:",
            "--platform",
            "any",
            "--implementation",
            "py",
            "--abi",
            "none",
        ])
        .args(["--python-version", "3.12", "--dest"])
        .arg(&fresh)
        .args(packages)
        .output()
        .map_err(|error| {
            let python = python.display();
            format!("`{python}` does not start, whose `pip` fetches packages: {error}")
        })?;
    if !done.status.success() {
        let words = String::from_utf8_lossy(&done.stderr);
        let last = words
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default();
        return Err(format!(
            "a package of `requirements` cannot be fetched as a pure Python wheel ({last}). A page has no other compiled \
             packages than NumPy: leave it out, or let the server step the environment with `run: host`"
        ));
    }
    match fs::rename(&fresh, folder) {
        // Another program was quicker.
        Err(_) if folder.is_dir() => fs::remove_dir_all(&fresh).map_err(told),
        renamed => renamed.map_err(told),
    }
}

fn read_wheels(folder: &Path) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.push((name, fs::read(entry.path())?));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numpy_is_not_fetched_because_pages_have_it() {
        let wheels = fetch_wheels("# what it needs\nNumPy>=1.26  # arrays\n\n").unwrap();
        assert_eq!((wheels.files.len(), wheels.needs_numpy), (0, true));
        assert_eq!(fetch_wheels("").unwrap(), Wheels::default());
        assert_eq!(
            name_of("Farama_Notifications==0.0.4"),
            "farama-notifications"
        );
        assert_eq!(name_of("pettingzoo[classic]>=1"), "pettingzoo");
    }
}
