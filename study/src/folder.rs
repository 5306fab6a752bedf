//! Files of the study folder: files that a field names are read only from there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::partners::Partners;
use crate::problem::nearest_name;
use crate::read::Cursor;
use crate::text::{self, Languages};

/// The most files that the names beside a file are looked for in.
const MANY: usize = 10_000;

/// The folder of a study: on the disk, or in memory where there is no disk.
#[derive(Debug)]
pub struct StudyFolder {
    files: Files,
    /// The files that were read, relative to the folder.
    read: RefCell<BTreeSet<String>>,
}

/// The files of a study folder.
#[derive(Debug)]
enum Files {
    Disk(PathBuf),
    /// By their path in the folder, with `/` between its parts.
    Memory(BTreeMap<String, Vec<u8>>),
}

impl StudyFolder {
    /// A folder on the disk.
    pub fn on_disk(dir: &Path) -> Self {
        Self::new(Files::Disk(dir.to_owned()))
    }

    /// A folder in memory: files by their path in it, with `/` between its parts.
    pub fn in_memory(files: BTreeMap<String, Vec<u8>>) -> Self {
        Self::new(Files::Memory(files))
    }

    fn new(files: Files) -> Self {
        Self {
            files,
            read: RefCell::default(),
        }
    }

    /// Lists the paths of the files that were read so far, in order: the study file, and the files that it names.
    pub fn list_read(&self) -> Vec<String> {
        self.read.borrow().iter().cloned().collect()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The disk failed, or there is no such file.
    pub fn read_file(&self, file: &str) -> io::Result<Vec<u8>> {
        let bytes = match &self.files {
            Files::Disk(dir) => std::fs::read(dir.join(file))?,
            Files::Memory(files) => files.get(file).cloned().ok_or(io::ErrorKind::NotFound)?,
        };
        self.read.borrow_mut().insert(file.to_owned());
        Ok(bytes)
    }

    /// The length of a file, bytes; `None` for a folder.
    ///
    /// # Errors
    /// The disk failed, or there is nothing of this name.
    pub(crate) fn find_len(&self, file: &str) -> io::Result<Option<u64>> {
        match &self.files {
            Files::Disk(dir) => {
                let facts = std::fs::metadata(dir.join(file))?;
                Ok((!facts.is_dir()).then_some(facts.len()))
            }
            Files::Memory(files) => match files.get(file) {
                Some(bytes) => Ok(Some(bytes.len() as u64)),
                None => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    /// Lists the names of the files and folders in a folder below, in order; the study folder itself is the empty path.
    pub(crate) fn list_names(&self, below: &str) -> Vec<String> {
        let mut names: Vec<String> = match &self.files {
            Files::Disk(dir) => {
                let entries = std::fs::read_dir(dir.join(below)).into_iter().flatten();
                let entries = entries.flatten().take(MANY);
                let names = entries.map(|entry| entry.file_name());
                names
                    .map(|name| name.to_string_lossy().into_owned())
                    .collect()
            }
            Files::Memory(files) => {
                let prefix = match below {
                    "" => String::new(),
                    below => format!("{}/", below.trim_end_matches('/')),
                };
                let names = files.keys().filter_map(|file| file.strip_prefix(&prefix));
                let names = names.filter(|name| !name.contains('/'));
                names.map(str::to_owned).collect()
            }
        };
        names.sort();
        names
    }

    /// The folder, for people.
    pub(crate) fn describe(&self) -> String {
        match &self.files {
            Files::Disk(dir) => dir.display().to_string(),
            Files::Memory(_) => "these files".to_owned(),
        }
    }
}

/// The folder of a study, the languages of its texts, and the partners that it names.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub dir: &'a StudyFolder,
    pub languages: Languages<'a>,
    pub partners: &'a Partners,
}

/// The files that are named as this one with a language before the ending, such as `how.de.md` for `how.md`.
pub(crate) fn translations_of(dir: &StudyFolder, file: &str) -> Vec<(String, String)> {
    let Some((stem, ending)) = file.rsplit_once('.') else {
        return Vec::new();
    };
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let own = name(stem);
    let folder = &file[..stem.len() - own.len()];
    let language = |found: &String| {
        let inner = found.strip_prefix(&own)?.strip_prefix('.')?;
        let tag = inner.strip_suffix(ending)?.strip_suffix('.')?;
        text::is_language(tag).then(|| (tag.to_owned(), format!("{folder}{found}")))
    };
    names_beside(dir, file)
        .iter()
        .filter_map(language)
        .collect()
}

/// Reads a text file of the study folder.
pub(crate) fn read_text(
    dir: &StudyFolder,
    place: &Cursor<'_>,
    file: &str,
    limit: u64,
    example: &str,
) -> Option<String> {
    match String::from_utf8(read_bytes(dir, place, file, limit, example)?) {
        Ok(text) => Some(text.trim_start_matches('\u{feff}').to_owned()),
        Err(_) => {
            place.report_problem(format!("`{file}` is not UTF-8 text; save it as UTF-8"));
            None
        }
    }
}

/// Reads a file of the study folder.
pub(crate) fn read_bytes(
    dir: &StudyFolder,
    place: &Cursor<'_>,
    file: &str,
    limit: u64,
    example: &str,
) -> Option<Vec<u8>> {
    let path = Path::new(file);
    if file.contains('\\')
        || !path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
    {
        place.report_problem(format!("`{file}` is not inside the study folder; name a file like `{example}` or `pages/{example}`"));
        return None;
    }
    match dir.find_len(file) {
        Ok(None) => place.report_problem(format!("`{file}` is a folder; name a file")),
        Ok(Some(len)) if len > limit => {
            place.report_problem(format!("`{file}` has {len} bytes; the limit is {limit}"));
        }
        Ok(Some(_)) => match dir.read_file(file) {
            Ok(bytes) => return Some(bytes),
            Err(error) => place.report_problem(format!("`{file}` cannot be read: {error}")),
        },
        Err(_) => {
            let names = names_beside(dir, file);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            let longer = |found: &&&str| {
                found
                    .strip_prefix(&*name)
                    .is_some_and(|rest| rest.starts_with('.'))
            };
            let near = names.iter().find(longer).copied();
            let near = near.or_else(|| nearest_name(&name, &names));
            let hint = near
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            place.report_problem(format!(
                "there is no file `{file}` in the study folder{hint}"
            ));
        }
    }
    None
}

/// Names of the files beside a file.
fn names_beside(dir: &StudyFolder, file: &str) -> Vec<String> {
    dir.list_names(file.rsplit_once('/').map_or("", |(folder, _)| folder))
}
