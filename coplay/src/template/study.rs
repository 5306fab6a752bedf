//! `coplay new`: small, whole studies to begin with, explained line by line.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

/// A study to begin with.
#[derive(Debug)]
pub struct StudyTemplate {
    /// Its name.
    pub name: &'static str,
    /// Its description, in a line.
    pub about: &'static str,
    files: &'static [(&'static str, &'static str)],
}

macro_rules! template {
    ($name:literal, $about:literal, [$($file:literal),+]) => {
        StudyTemplate {
            name: $name,
            about: $about,
            files: &[$(($file, include_str!(concat!("../../templates/study/", $name, "/", $file)))),+],
        }
    };
}

/// The studies that there are.
pub const STUDIES: [StudyTemplate; 3] = [
    template!(
        "overcooked",
        "two people cook together: consent, quiz, waiting room, a round, questions, debriefing",
        [
            "study.yaml",
            "consent.md",
            "how.md",
            "debrief.md",
            "thanks.md"
        ]
    ),
    template!(
        "solo",
        "one person plays in stages: practice, rounds in a balanced order, questions between",
        ["study.yaml", "consent.md", "how.md", "thanks.md"]
    ),
    template!(
        "survey",
        "the smallest study: consent, a form, a last page",
        ["study.yaml", "consent.md", "thanks.md"]
    ),
];

/// The study that was written.
#[derive(Debug)]
pub struct Written {
    dir: PathBuf,
    name: &'static str,
}

/// Writes a template into a folder that is empty or not there.
///
/// # Errors
/// The folder has files, or writing fails.
pub fn write_study(template: &StudyTemplate, dir: &Path) -> anyhow::Result<Written> {
    let mut entries = dir.read_dir().into_iter().flatten();
    ensure!(
        !dir.exists() || (dir.is_dir() && entries.next().is_none()),
        "{} is there already and not empty; name a new folder",
        dir.display()
    );
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let put = |file: &str, text: &str| {
        let path = dir.join(file);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let id = id(dir);
    for (file, text) in template.files {
        let text = text.replace(
            "id: my-study                  #",
            &format!("{:<30}#", format!("id: {id}")),
        );
        put(file, &text)?;
    }
    write_schema(dir)?;
    put(".gitignore", "coplay-data/\ncoplay-dev-data/\n")?;
    Ok(Written {
        dir: dir.to_owned(),
        name: template.name,
    })
}

/// Writes the schema of study files, for editors.
///
/// # Errors
/// Writing fails.
pub(super) fn write_schema(dir: &Path) -> anyhow::Result<()> {
    let path = dir.join("study.schema.json");
    let text = serde_json::to_string_pretty(&study::schema())? + "\n";
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The id of a study in a folder: what the folder is called, as far as that can be an id.
pub(super) fn id(dir: &Path) -> String {
    let name = dir
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase());
    let name = name.unwrap_or_default();
    let plain = |c: char| {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            c
        } else {
            '-'
        }
    };
    let id: String = name.chars().map(plain).take(34).collect();
    match id.trim_matches('-') {
        "" => "my-study".to_owned(),
        id if id.starts_with(|c: char| c.is_ascii_digit()) => format!("study-{id}"),
        id => id.to_owned(),
    }
}

/// A path as it is typed in a shell.
pub(super) fn quote_path(path: &Path) -> String {
    let path = path.display().to_string();
    let marks = if cfg!(windows) { "_-./:\\" } else { "_-./" };
    let is_plain = |c: char| c.is_alphanumeric() || marks.contains(c);
    match path.chars().all(is_plain) {
        true => path,
        false if cfg!(windows) => format!("\"{path}\""),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

/// The text that `coplay new` shows without a template.
pub fn list() -> String {
    let mut text = "Templates:\n".to_owned();
    for template in &STUDIES {
        text += &format!("  {:<12} {}\n", template.name, template.about);
    }
    text += "  human-ai     people cook with your own agents, blinded and counterbalanced, and rate each of them\n";
    text += "  environment  your own environment, in Rust, C or Python\n\nBegin with one of them:\n  coplay new overcooked my-study";
    text
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dir, typed) = (self.dir.display(), quote_path(&self.dir));
        write!(
            f,
            "Wrote the study `{}` into {dir}. Begin with {dir}/study.yaml.\n\n  coplay dev {typed}     try it, and change it while it runs\n  coplay lint {typed}    check it",
            self.name
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_clean_and_has_the_name_of_its_folder() {
        let home = tempfile::tempdir().unwrap();
        for template in &STUDIES {
            let dir = home.path().join(format!("My {}", template.name));
            write_study(template, &dir).unwrap();
            let linted = catalog::lint::lint_study(&dir);
            assert!(linted.is_fine() && linted.warnings.is_empty(), "{linted}");
            let outline = linted.outline.unwrap();
            assert_eq!(outline.id, format!("my-{}", template.name));
            let text = fs::read_to_string(dir.join("study.yaml")).unwrap();
            assert!(text.starts_with("# yaml-language-server: $schema=study.schema.json\n"));
            let schema = fs::read_to_string(dir.join("study.schema.json")).unwrap();
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&schema).unwrap(),
                study::schema()
            );
            assert!(list().contains(template.about));
        }
    }

    #[test]
    fn a_folder_with_files_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes"), "mine").unwrap();
        let error = write_study(&STUDIES[0], dir.path()).unwrap_err();
        assert!(error.to_string().contains("not empty"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_names_the_study_if_it_can() {
        for (dir, wanted) in [
            ("a/Cooks 2", "cooks-2"),
            ("2cooks", "study-2cooks"),
            ("..", "my-study"),
            ("\u{e4}", "my-study"),
        ] {
            assert_eq!(id(Path::new(dir)), wanted);
        }
    }

    #[test]
    #[cfg(not(windows))]
    fn paths_are_shown_as_they_are_typed_in_a_shell() {
        for (path, typed) in [
            ("a/b-2", "a/b-2"),
            ("My study", "'My study'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(quote_path(Path::new(path)), typed);
        }
    }
}
