//! The files of a host or a world, in a folder of their own.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io, process};

/// The file that says that all others are there.
const COMPLETE: &str = "complete";

/// Numbers the drafts of this program.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// Writes files into a folder, by their paths below it, unless all of them are there.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn write_file_set<'a>(
    folder: &Path,
    files: impl IntoIterator<Item = (&'a Path, &'a str)>,
) -> io::Result<()> {
    if folder.join(COMPLETE).is_file() {
        return Ok(());
    }
    // An environment from a package has no files.
    fs::create_dir_all(folder)?;
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        // Several threads and programs may write at the same time: each file gets its place when it is complete.
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_added_extension(format!("{}-{number}", process::id()));
        fs::write(&draft, text)?;
        fs::rename(&draft, path)?;
    }
    fs::write(folder.join(COMPLETE), "")
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn a_set_without_files_is_complete_too() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("none");
        for _ in 0..2 {
            write_file_set(&folder, []).unwrap();
            assert!(folder.join(COMPLETE).is_file());
        }
    }

    #[test]
    fn many_threads_write_the_same_files_at_the_same_time() {
        let names: Vec<String> = (0..20).map(|number| format!("part/{number}.py")).collect();
        let files = || names.iter().map(|name| (Path::new(name), name.as_str()));
        for _ in 0..10 {
            let dir = tempfile::tempdir().unwrap();
            let together = Barrier::new(8);
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        together.wait();
                        write_file_set(dir.path(), files()).unwrap();
                        for (name, text) in files() {
                            assert_eq!(fs::read_to_string(dir.path().join(name)).unwrap(), text);
                        }
                    });
                }
            });
            let left = fs::read_dir(dir.path().join("part")).unwrap().count();
            assert_eq!(left, names.len(), "no draft is left");
        }
    }
}
