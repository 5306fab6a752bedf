//! Files of the study folder: what a field names is read from there and from nowhere else.

use std::path::{Component, Path};

use crate::partners::Partners;
use crate::problem::nearest;
use crate::read::Cursor;
use crate::text::{self, Languages};

/// Where a study is read from, the languages of its texts, and the partners that it names.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub dir: &'a Path,
    pub languages: Languages<'a>,
    pub partners: &'a Partners,
}

/// The files that are named as this one with a language before the ending, such as `how.de.md` for `how.md`.
pub(crate) fn translations_of(dir: &Path, file: &str) -> Vec<(String, String)> {
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
    names_beside(&dir.join(file))
        .iter()
        .filter_map(language)
        .collect()
}

/// Reads a text file of the study folder.
pub(crate) fn read_text(
    dir: &Path,
    place: &Cursor<'_>,
    file: &str,
    limit: u64,
    example: &str,
) -> Option<String> {
    match String::from_utf8(read_bytes(dir, place, file, limit, example)?) {
        Ok(text) => Some(text.trim_start_matches('\u{feff}').to_owned()),
        Err(_) => {
            place.wrong(format!("`{file}` is not UTF-8 text; save it as UTF-8"));
            None
        }
    }
}

/// Reads a file of the study folder.
pub(crate) fn read_bytes(
    dir: &Path,
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
        place.wrong(format!("`{file}` is not inside the study folder; name a file like `{example}` or `pages/{example}`"));
        return None;
    }
    let path = dir.join(path);
    match std::fs::metadata(&path) {
        Ok(facts) if facts.is_dir() => place.wrong(format!("`{file}` is a folder; name a file")),
        Ok(facts) if facts.len() > limit => {
            place.wrong(format!(
                "`{file}` has {} bytes; the limit is {limit}",
                facts.len()
            ));
        }
        Ok(_) => match std::fs::read(&path) {
            Ok(bytes) => return Some(bytes),
            Err(error) => place.wrong(format!("`{file}` cannot be read: {error}")),
        },
        Err(_) => {
            let names = names_beside(&path);
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
            let near = near.or_else(|| nearest(&name, &names));
            let hint = near
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            place.wrong(format!(
                "there is no file `{file}` in the study folder{hint}"
            ));
        }
    }
    None
}

/// Names of the files beside a path.
fn names_beside(path: &Path) -> Vec<String> {
    let entries = path
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok());
    let names = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    let mut names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
