//! The archive of a release: a folder as a compressed tar file, the same bytes for the same files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// Packs all files below a folder, under a name that stands before their paths. `epoch` is the time of every file, in
/// seconds since 1970.
///
/// # Errors
/// A file cannot be read, or the archive cannot be written.
pub(crate) fn pack(folder: &Path, name: &str, epoch: u64, out: &Path) -> Result<()> {
    let file = File::create(out).with_context(|| format!("creating {}", out.display()))?;
    // Neither the name of the file nor a time stands in the compressed form.
    let packed = GzBuilder::new().mtime(0).write(file, Compression::best());
    let mut archive = Builder::new(packed);
    for path in list_files(folder)? {
        let bytes = fs::read(folder.join(&path)).with_context(|| format!("reading {path}"))?;
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(if path.starts_with("bin/") {
            0o755
        } else {
            0o644
        });
        header.set_mtime(epoch);
        header.set_size(bytes.len() as u64);
        let entry = format!("{name}/{path}");
        archive.append_data(&mut header, entry, bytes.as_slice())?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

/// The files below a folder, sorted, with `/` between the parts of a path.
///
/// # Errors
/// A folder cannot be read.
pub(crate) fn list_files(folder: &Path) -> Result<Vec<String>> {
    let mut waiting = vec![PathBuf::new()];
    let mut files = Vec::new();
    while let Some(below) = waiting.pop() {
        let dir = folder.join(&below);
        for entry in fs::read_dir(&dir).with_context(|| format!("reading {}", dir.display()))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                waiting.push(path);
            } else {
                files.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn an_archive_depends_on_names_and_bytes_alone() {
        let dir = std::env::temp_dir().join(format!("dist-archive-{}", std::process::id()));
        let packed = |order: [&str; 2]| {
            let tree = dir.join(order[0]);
            fs::create_dir_all(tree.join("bin")).unwrap();
            fs::create_dir_all(tree.join("share")).unwrap();
            for name in order {
                let (folder, name) = name.split_once('-').unwrap();
                fs::write(tree.join(folder).join(name), name).unwrap();
            }
            let out = dir.join(format!("{}.tar.gz", order[0]));
            pack(&tree, "coplay-1", 1_700_000_000, &out).unwrap();
            fs::read(out).unwrap()
        };
        let first = packed(["bin-coplay", "share-notes"]);
        assert_eq!(first, packed(["share-notes", "bin-coplay"]));

        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(first.as_slice()));
        let found: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut text = String::new();
                entry.read_to_string(&mut text).unwrap();
                let path = entry.path().unwrap().to_string_lossy().into_owned();
                (path, entry.header().mode().unwrap(), text)
            })
            .collect();
        let file = |path: &str, mode, text: &str| (path.to_owned(), mode, text.to_owned());
        assert_eq!(
            found,
            [
                file("coplay-1/bin/coplay", 0o755, "coplay"),
                file("coplay-1/share/notes", 0o644, "notes"),
            ]
        );
        fs::remove_dir_all(dir).unwrap();
    }
}
