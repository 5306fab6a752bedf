//! `coplay new environment`: a small, complete environment to begin with, in Rust, C or Python.

use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use crate::cli::Language;

pub mod human_ai;
pub mod study;

const MANIFEST: &str = include_str!("../templates/environment/manifest.toml");
const LIB: &str = include_str!("../templates/environment/lib.rs");
const LAWS: &str = include_str!("../templates/environment/laws.rs");
const README_RUST: &str = include_str!("../templates/environment/README.rust.md");
const README_C: &str = include_str!("../templates/environment/README.c.md");
const README_PYTHON: &str = include_str!("../templates/environment/README.python.md");
const GAME: &str = include_str!("../templates/environment/game.py");
const STUDY: &str = include_str!("../templates/environment/study.yaml");
const HOW: &str = include_str!("../templates/environment/how.md");
const THANKS: &str = include_str!("../templates/environment/thanks.md");
const TAG: &str = include_str!("../../examples/environment-c/tag.c");

/// Names that Rust keeps for itself, or that another crate of the template has.
const TAKEN: [&str; 12] = [
    "env_core", "serde", "core", "alloc", "std", "test", "self", "crate", "super", "type", "match",
    "move",
];

/// The environment that was written.
#[derive(Debug)]
pub struct Written {
    dir: PathBuf,
    language: Language,
    name: String,
}

/// Writes the template of a language into a folder that is empty or does not exist.
/// `coplay` is the checkout that a Rust environment is built with; without it, the one around `dir` or
/// around the working folder.
///
/// # Errors
/// The name cannot be an id, the folder has files, `coplay` is not a checkout, a Rust environment has none, or writing
/// fails. If an environment is refused, no file is written.
pub fn write_environment(
    dir: &Path,
    name: Option<&str>,
    language: Language,
    coplay: Option<&Path>,
) -> anyhow::Result<Written> {
    let name = id(dir, name)?;
    let empty = |dir: &Path| {
        dir.read_dir()
            .is_ok_and(|mut entries| entries.next().is_none())
    };
    ensure!(
        !dir.exists() || empty(dir),
        "{} is there already and not empty; name a new folder",
        dir.display()
    );
    match language {
        Language::Rust => {
            let path = env_core(dir, coplay)?.with_context(|| no_checkout(dir))?;
            let manifest = MANIFEST.replace("ENV_CORE", &path.to_string_lossy().replace('\\', "/"));
            put(dir, "Cargo.toml", &manifest, &name)?;
            put(dir, "src/lib.rs", LIB, &name)?;
            put(dir, "tests/laws.rs", LAWS, &name)?;
            put(dir, ".gitignore", "/target\n", &name)?;
            put(dir, "README.md", README_RUST, &name)?;
        }
        Language::C => {
            let code = TAG
                .replace("\\\"id\\\":\\\"tag\\\"", "\\\"id\\\":\\\"my_env\\\"")
                .replace("tag.c", "my_env.c")
                .replace("tag.wasm", "my_env.wasm")
                // What version 2 adds is optional.
                .replace(
                    "coplay_abi)(void) { return 1; }",
                    "coplay_abi)(void) { return 2; }",
                );
            put(dir, &format!("{name}.c"), &code, &name)?;
            put(dir, ".gitignore", "*.wasm\n", &name)?;
            put(dir, "README.md", README_C, &name)?;
        }
        Language::Python => {
            put(dir, &format!("{name}.py"), GAME, &name)?;
            put(dir, "study.yaml", STUDY, &name)?;
            put(dir, "how.md", HOW, &name)?;
            put(dir, "thanks.md", THANKS, &name)?;
            put(dir, ".gitignore", "coplay-data/\ncoplay-dev-data/\n", &name)?;
            put(dir, "README.md", README_PYTHON, &name)?;
        }
    }
    Ok(Written {
        dir: dir.to_owned(),
        language,
        name,
    })
}

/// The refusal of a Rust environment that has no checkout to be built with.
fn no_checkout(dir: &Path) -> String {
    let dir = study::quote_path(dir);
    format!(
        "a Rust environment is built with the source code of Coplay, and no folder around {dir} or around this one has it; \
         nothing was written. Name the folder of the source code (the one with `env-core` in it):\n\
         \x20 coplay new environment {dir} --coplay PATH\n\
         or write the environment in C, which needs no source code of Coplay:\n\
         \x20 coplay new environment {dir} --language c"
    )
}

/// Returns the id: the given name, or the name of the folder.
fn id(dir: &Path, name: Option<&str>) -> anyhow::Result<String> {
    let folder = dir
        .file_name()
        .map(|name| name.to_string_lossy().replace('-', "_"));
    let name = match name {
        Some(name) => name.to_owned(),
        None => folder.context("the folder has no name; say one with --name")?,
    };
    let plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) || !name.chars().all(plain) {
        bail!(
            "`{name}` cannot be an id: small letters, digits and underscores, a letter first, \
             such as my_env; say another with --name"
        );
    }
    if TAKEN.contains(&name.as_str()) {
        bail!("`{name}` is a name that Rust needs; say another with --name");
    }
    Ok(name)
}

/// Finds the path of `env-core` for the manifest in `dir`; `None` if it is not known.
fn env_core(dir: &Path, coplay: Option<&Path>) -> anyhow::Result<Option<PathBuf>> {
    let is_checkout = |root: &Path| {
        let manifest = fs::read_to_string(root.join("env-core/Cargo.toml"));
        manifest.is_ok_and(|text| text.contains("name = \"env-core\""))
    };
    let dir = std::path::absolute(dir)?;
    let root = match coplay {
        Some(root) if !is_checkout(root) => {
            bail!(
                "{} is no checkout of Coplay: it has no env-core",
                root.display()
            )
        }
        Some(root) => Some(std::path::absolute(root)?),
        None => {
            let here = std::env::current_dir()?;
            let above = dir.ancestors().chain(here.ancestors());
            above.map(Path::to_owned).find(|root| is_checkout(root))
        }
    };
    Ok(root.map(|root| relative(&dir, &root.join("env-core"))))
}

/// The way from a folder to another: upwards as far as needed, then down.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to) = (tidy(from), tidy(to));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from.iter().skip(shared).map(|_| "..".into());
    up.chain(to.into_iter().skip(shared)).collect()
}

/// The parts of an absolute path, without `.` and `..`.
fn tidy(path: &Path) -> Vec<std::ffi::OsString> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => {}
            part => parts.push(part.as_os_str().to_owned()),
        }
    }
    parts
}

fn put(dir: &Path, file: &str, text: &str, name: &str) -> anyhow::Result<()> {
    let (camel, title) = (camel(name), title(name));
    let text = text
        .replace("my_env", name)
        .replace("MyEnv", &camel)
        .replace("My env", &title);
    let path = dir.join(file);
    let folder = path.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// `my_env` as a Rust type: `MyEnv`.
fn camel(name: &str) -> String {
    name.split('_').map(capital).collect()
}

/// `my_env` as a title: `My env`.
fn title(name: &str) -> String {
    capital(&name.replace('_', " "))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            dir,
            language,
            name,
        } = self;
        writeln!(
            f,
            "Wrote the environment `{name}` into {}.\n",
            dir.display()
        )?;
        let dir = study::quote_path(dir);
        let (build, module) = match language {
            Language::Python => {
                return write!(
                    f,
                    "  cd {dir}\n  coplay env check {name}.py\n  coplay dev ."
                );
            }
            Language::Rust => (
                "cargo build --release --target wasm32-unknown-unknown".to_owned(),
                format!("target/wasm32-unknown-unknown/release/{name}.wasm"),
            ),
            Language::C => (
                format!(
                    "clang --target=wasm32 -O2 -nostdlib -fno-builtin -Wl,--no-entry -o {name}.wasm {name}.c"
                ),
                format!("{name}.wasm"),
            ),
        };
        write!(f, "  cd {dir}\n  {build}\n  coplay env check {module}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_ids_types_and_titles() {
        let dir = Path::new("games/tag-two");
        assert_eq!(id(dir, None).unwrap(), "tag_two");
        assert_eq!(
            (camel("tag_two"), title("tag_two")),
            ("TagTwo".into(), "Tag two".into())
        );
        for wrong in ["", "Tag", "2tag", "tag two", "täg", "serde"] {
            let error = id(dir, Some(wrong)).unwrap_err().to_string();
            assert!(error.contains("--name"), "{error}");
        }
    }

    #[test]
    fn the_way_to_the_checkout_is_relative() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
        assert_eq!(way("/a/b/c", "/a/env-core"), Path::new("../../env-core"));
        assert_eq!(way("/a/b/../x", "/a/./env-core"), Path::new("../env-core"));
    }

    #[test]
    fn a_folder_with_files_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes"), "mine").unwrap();
        let error = write_environment(dir.path(), Some("tag"), Language::C, None).unwrap_err();
        assert!(error.to_string().contains("not empty"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_path_that_is_no_checkout_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().join("tag");
        let error = write_environment(&new, None, Language::Rust, Some(dir.path())).unwrap_err();
        assert!(error.to_string().contains("no checkout"), "{error}");
        assert!(!new.exists());
    }

    #[test]
    fn no_placeholder_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (language, file, words) in [
            (Language::Rust, "src/lib.rs", "impl Environment for Chase"),
            (Language::C, "chase.c", "\\\"id\\\":\\\"chase\\\""),
            (Language::Python, "chase.py", "title = \"Chase\""),
            (Language::Python, "study.yaml", "env: {python: chase.py}"),
        ] {
            let new = dir
                .path()
                .join(format!("{language:?}-{file}").replace('/', "-"));
            write_environment(&new, Some("chase"), language, Some(&root)).unwrap();
            let text = fs::read_to_string(new.join(file)).unwrap();
            assert!(text.contains(words));
            for file in ["README.md", file] {
                let text = fs::read_to_string(new.join(file)).unwrap();
                assert!(
                    !text.contains("my_env") && !text.contains("MyEnv"),
                    "{file}"
                );
            }
        }
        let manifest = fs::read_to_string(dir.path().join("Rust-src-lib.rs/Cargo.toml")).unwrap();
        assert!(
            manifest.contains("/env-core\" }") && manifest.contains("name = \"chase\""),
            "{manifest}"
        );
    }
}
