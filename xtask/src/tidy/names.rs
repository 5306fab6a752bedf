//! A public type has its own name, unless the glossary says why several crates share it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, RustFiles, Tree};

/// The page with the shared names, and the section they stand in.
const GLOSSARY: &str = "docs/glossary.md";
const SECTION: &str = "## Names that several crates share";

/// The crates that have a public type, by its name: the folder of the crate, and a place.
pub(super) type Types<'a> = BTreeMap<&'a str, BTreeMap<&'a str, (&'a str, usize)>>;

/// A row of the table: where it stands, and the crates.
type Row<'a> = (usize, BTreeSet<&'a str>);

/// Folders of crates that no other crate can name anything of, or that show what an author may call things.
const APART: [&str; 3] = ["examples/", "tests/", "xtask"];

/// Checks public types against the glossary. `crates` are names and folders.
pub(super) fn check(tree: &Tree, files: &RustFiles, crates: &[(&str, String)]) -> Vec<Finding> {
    let text = tree.get(GLOSSARY).and_then(Option::as_deref);
    compare(
        &public_types(files, crates),
        &shared(text.unwrap_or_default()),
    )
}

/// The public types of every crate's `src/`.
pub(super) fn public_types<'a>(files: &'a RustFiles, crates: &[(&'a str, String)]) -> Types<'a> {
    let mut types = Types::new();
    for (path, file) in files {
        let owner = crates
            .iter()
            .find(|(_, folder)| path.starts_with(&format!("{folder}/src/")));
        let is_apart = APART.iter().any(|folder| path.starts_with(folder));
        let Some((name, _)) = owner.filter(|_| !is_apart && !super::texts::is_test(path)) else {
            continue;
        };
        for public in &file.public_types {
            let places = types.entry(&public.text).or_default();
            places.entry(name).or_insert((path, public.line));
        }
    }
    types
}

/// Reads the table: a row is `` | `Name` | crate, crate | why | ``.
fn shared(text: &str) -> BTreeMap<&str, Row<'_>> {
    let lines = text.lines().enumerate();
    let section = lines
        .skip_while(|(_, line)| *line != SECTION)
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "));
    let rows = section.filter_map(|(index, line)| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, crates, why] = cells[..] else {
            return None;
        };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let crates = crates.split(", ").filter(|_| !why.is_empty()).collect();
        Some((name, (index + 1, crates)))
    });
    rows.collect()
}

fn compare(types: &Types<'_>, shared: &BTreeMap<&str, Row<'_>>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, places) in types.iter().filter(|(_, places)| places.len() > 1) {
        let allowed = shared.get(name).map(|(_, crates)| crates);
        let new = places
            .iter()
            .find(|(owner, _)| !allowed.is_some_and(|allowed| allowed.contains(**owner)));
        if let Some((_, (path, line))) = new {
            let owners: Vec<&str> = places.keys().copied().collect();
            let what = format!(
                "{name} is a public type of {}: rename it, or say why in {GLOSSARY}, \"{}\"",
                owners.join(", "),
                SECTION
                    .trim_start_matches("# ")
                    .trim_start_matches('#')
                    .trim()
            );
            findings.push(Finding::new(path, *line, what));
        }
    }
    for (name, (line, crates)) in shared {
        let places = types.get(name);
        for owner in crates {
            if !places.is_some_and(|places| places.contains_key(owner)) {
                let what = format!("{owner} has no public type {name}");
                findings.push(Finding::new(GLOSSARY, *line, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# Glossary\n\n| `Other` | a, b | elsewhere |\n\n## Names that several crates share\n\nWhy.\n\n| Name | Crates | Why |\n| --- | --- | --- |\n| `Value` | one, two | Two layers. |\n| `Bare` | one, two | |\n\n## Next\n\n| `Last` | one, two | no |\n";

    fn types<'a>(all: &[(&'a str, &[&'a str])]) -> Types<'a> {
        all.iter()
            .map(|(name, crates)| {
                (
                    *name,
                    crates.iter().map(|owner| (*owner, ("a.rs", 3))).collect(),
                )
            })
            .collect()
    }

    #[test]
    fn a_row_with_a_reason_is_read() {
        let rows = shared(TABLE);
        assert_eq!(rows.keys().copied().collect::<Vec<_>>(), ["Bare", "Value"]);
        assert_eq!(rows["Value"], (11, BTreeSet::from(["one", "two"])));
        assert!(rows["Bare"].1.is_empty());
    }

    #[test]
    fn a_name_that_is_shared_without_a_reason_is_found() {
        let rows = shared(TABLE);
        let fine = types(&[("Value", &["one", "two"]), ("Own", &["one"])]);
        assert!(compare(&fine, &rows).is_empty());
        let third = types(&[("Value", &["one", "three", "two"])]);
        assert_eq!(compare(&third, &rows).len(), 1);
        let bare = types(&[("Value", &["one", "two"]), ("Bare", &["one", "two"])]);
        assert!(compare(&bare, &rows)[0].what.starts_with("Bare"));
    }

    #[test]
    fn a_row_that_is_not_true_any_more_is_found() {
        let rows = shared(TABLE);
        let gone = types(&[("Value", &["one"])]);
        assert_eq!(
            compare(&gone, &rows)[0].what,
            "two has no public type Value"
        );
    }
}
