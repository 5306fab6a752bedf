//! Summaries of doc comments and docstrings are nouns or verbs, not relative clauses.

use super::rust::RustFile;
use super::{Finding, RustFiles, Tree};

/// Words that no summary begins with.
const CLAUSES: [&str; 6] = ["What", "Who", "Whom", "Whose", "Whence", "Whether"];

/// Checks the summaries of every file.
pub(super) fn check(tree: &Tree, files: &RustFiles) -> Vec<Finding> {
    let rust = files.iter().flat_map(|(path, file)| {
        let found = find_clauses(file);
        found.map(move |clause| finding(path, clause))
    });
    let python = tree.iter().filter(|(path, _)| path.ends_with(".py"));
    let python = python.flat_map(|(path, text)| {
        let found = python_clauses(text.as_deref().unwrap_or_default());
        found.map(move |clause| finding(path, clause))
    });
    rust.chain(python).collect()
}

fn finding(path: &str, (line, word): (usize, &str)) -> Finding {
    let what = format!("a summary begins with \"{word}\": name the thing, or say what it does");
    Finding::new(path, line, what)
}

/// The lines of the summaries that begin with such a word, and the word.
pub(super) fn find_clauses(file: &RustFile) -> impl Iterator<Item = (usize, &'static str)> {
    let summaries = file.summaries.iter();
    summaries.filter_map(|summary| Some((summary.line, clause_at_start(&summary.text)?)))
}

/// The same of the docstrings of a Python file.
fn python_clauses(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let summary = line.trim_start().strip_prefix("\"\"\"")?;
        Some((index + 1, clause_at_start(summary)?))
    })
}

fn clause_at_start(summary: &str) -> Option<&'static str> {
    let first = summary.split(|c: char| !c.is_alphabetic()).next()?;
    CLAUSES.into_iter().find(|word| *word == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_that_is_a_clause_is_found() {
        let text = "/// What is there.\n/// More.\nstruct A;\n/// Whatever.\nstruct B;\n/// Fine.\n/// What follows.\nstruct C;\n/// What's it.\nstruct D;";
        let file = RustFile::read(text).unwrap();
        let found: Vec<_> = find_clauses(&file).collect();
        assert_eq!(found, [(1, "What"), (9, "What")]);
    }

    #[test]
    fn a_docstring_that_is_a_clause_is_found() {
        let text = "\"\"\"A module.\"\"\"\n\ndef f():\n    \"\"\"Whether it is.\n\n    What follows.\n    \"\"\"\n";
        let found: Vec<_> = python_clauses(text).collect();
        assert_eq!(found, [(4, "Whether")]);
    }
}
