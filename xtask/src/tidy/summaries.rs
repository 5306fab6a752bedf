//! Summaries of doc comments are nouns or verbs, not relative clauses.

use super::rust::RustFile;
use super::{Finding, RustFiles};

/// Words that no summary begins with.
const CLAUSES: [&str; 6] = ["What", "Who", "Whom", "Whose", "Whence", "Whether"];

/// Checks the summaries of every file.
pub(super) fn check(files: &RustFiles) -> Vec<Finding> {
    files
        .iter()
        .flat_map(|(path, file)| {
            clauses(file).map(move |(line, word)| {
                let what = format!(
                    "a summary begins with \"{word}\": name the thing, or say what it does"
                );
                Finding::new(path, line, what)
            })
        })
        .collect()
}

/// The lines of the summaries that begin with such a word, and the word.
pub(super) fn clauses(file: &RustFile) -> impl Iterator<Item = (usize, &'static str)> {
    file.summaries.iter().filter_map(|summary| {
        let first = summary.text.split(|c: char| !c.is_alphabetic()).next()?;
        let word = CLAUSES.into_iter().find(|word| *word == first)?;
        Some((summary.line, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_that_is_a_clause_is_found() {
        let text = "/// What is there.\n/// More.\nstruct A;\n/// Whatever.\nstruct B;\n/// Fine.\n/// What follows.\nstruct C;\n/// What's it.\nstruct D;";
        let file = RustFile::read(text).unwrap();
        let found: Vec<_> = clauses(&file).collect();
        assert_eq!(found, [(1, "What"), (9, "What")]);
    }
}
