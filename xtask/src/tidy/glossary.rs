//! The types that the glossary names are there.

use std::collections::BTreeSet;

use super::{Finding, Tree};

const GLOSSARY: &str = "docs/glossary.md";
/// The cells of a row that defines a word, and which of them names code.
const CELLS: usize = 4;
const IN_CODE: usize = 2;
/// The ends of files with code.
const CODE: [&str; 3] = [".js", ".py", ".rs"];
/// The words that declare a type in them.
const DECLARATIONS: [&str; 5] = ["class", "enum", "struct", "trait", "type"];

/// Checks the column "In code" of every table.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let text = tree.get(GLOSSARY).and_then(Option::as_deref);
    let code = tree
        .iter()
        .filter(|(path, _)| CODE.iter().any(|end| path.ends_with(end)));
    let declared = code.flat_map(|(_, text)| types_in(text.as_deref().unwrap_or_default()));
    compare(text.unwrap_or_default(), &declared.collect())
}

fn compare(text: &str, declared: &BTreeSet<&str>) -> Vec<Finding> {
    let lines = text.lines().enumerate();
    let named =
        lines.flat_map(|(index, line)| types_of_row(line).map(move |name| (index + 1, name)));
    let missing = named.filter(|(_, name)| !declared.contains(name));
    let finding = |(line, name)| Finding::new(GLOSSARY, line, format!("no code has a type {name}"));
    missing.map(finding).collect()
}

/// The types that a row names in its column of code: words in camel case, and what stands before `::`.
fn types_of_row(line: &str) -> impl Iterator<Item = &str> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
    let cell = if cells.len() == CELLS {
        cells[IN_CODE]
    } else {
        ""
    };
    let words = cell.split('`').skip(1).step_by(2);
    let heads = words.filter_map(|word| word.split("::").next());
    heads.filter(|head| {
        head.starts_with(|c: char| c.is_ascii_uppercase())
            && head.contains(|c: char| c.is_ascii_lowercase())
            && head.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

fn types_in(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.find(|word| DECLARATIONS.contains(word))?;
        words.next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_is_not_there_is_found() {
        let code =
            "pub(crate) struct Study {\nclass Clone(Base):\nenum Link { Direct }\ntype A = B;";
        let declared: BTreeSet<&str> = types_in(code).collect();
        let table = "| Word | Meaning | In code | Not |\n| --- | --- | --- | --- |\n\
                     | study | A. | `Study`, key `study`, `MARK` | |\n\
                     | direct | B. | `Link::Direct` | `Gone` |\n\
                     | clone | C. | `Clone`, `Copy` | |\n\n| `Other` | one, two | Why. |\n";
        let found = compare(table, &declared);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].line, found[0].what.as_str()),
            (5, "no code has a type Copy")
        );
    }
}
