//! Faults of a study with their place and fix, and the report that collects them.

use std::cell::RefCell;
use std::fmt;

use serde::Serialize;

/// One fault of a study folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The file, relative to the study folder.
    pub file: String,
    /// Line, from 1; 0 if the fault has no line.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The field, such as `timeline[2].timeout_s`; empty for the whole file.
    pub path: String,
    /// The fault and its fix.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.file)?;
        if self.line > 0 {
            write!(out, ":{}:{}", self.line, self.column)?;
        }
        if !self.path.is_empty() {
            write!(out, ": {}", self.path)?;
        }
        write!(out, ": {}", self.message)
    }
}

impl std::error::Error for Problem {}

/// A place in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// Collects the problems of one file, so that a run reports all of them and not only the first.
#[derive(Debug)]
pub(crate) struct ProblemReport {
    file: String,
    /// The text of the file, to find the place of a part of a value.
    text: RefCell<String>,
    found: RefCell<Vec<Problem>>,
}

impl ProblemReport {
    pub(crate) fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            text: RefCell::default(),
            found: RefCell::default(),
        }
    }

    /// Keeps the text of the file.
    pub(crate) fn keep_text(&self, text: &str) {
        text.clone_into(&mut self.text.borrow_mut());
    }

    /// Returns the place of a byte of a value that begins at a place: on its line without quotes or in quotes, or in a
    /// block of lines below it. `None` if the file writes the value differently, with escapes or folded lines.
    pub(crate) fn locate(&self, at: LineColumn, value: &str, offset: usize) -> Option<LineColumn> {
        let before = &value[..offset];
        let row = before.matches('\n').count();
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let wanted = value[start..].lines().next().unwrap_or_default();
        let inside = characters(&value[start..offset]);
        let text = self.text.borrow();
        let line = |number: usize| text.lines().nth(number);
        let first = usize::try_from(at.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
        if !value.contains('\n') {
            let rest: String = line(first)?.chars().skip(column).collect();
            let quote = u32::from(rest.starts_with(['"', '\'']));
            let is_there = rest
                .get(quote as usize..)
                .is_some_and(|rest| rest.starts_with(wanted));
            if is_there {
                return Some(LineColumn {
                    line: at.line,
                    column: at.column + quote + inside,
                });
            }
        }
        // A block of lines starts below the place of its `|`, or is that place.
        let mut below = (first + row..)
            .take(2)
            .filter_map(|number| Some((number, line(number)?)));
        let (number, line) = below
            .find(|(_, line)| line.trim_start() == wanted.trim_start() && !wanted.is_empty())?;
        let indent = characters(line).checked_sub(characters(wanted))?;
        Some(LineColumn {
            line: u32::try_from(number + 1).ok()?,
            column: indent + inside + 1,
        })
    }

    pub(crate) fn add(&self, at: LineColumn, path: &str, message: impl Into<String>) {
        self.add_problem(self.problem(at, path, message));
    }

    /// A problem at a place of the file.
    pub(crate) fn problem(
        &self,
        at: LineColumn,
        path: &str,
        message: impl Into<String>,
    ) -> Problem {
        Problem {
            file: self.file.clone(),
            line: at.line,
            column: at.column,
            path: path.to_owned(),
            message: message.into(),
        }
    }

    pub(crate) fn add_problem(&self, problem: Problem) {
        self.found.borrow_mut().push(problem);
    }

    /// Takes over the problems of another file.
    pub(crate) fn add_problems(&self, other: ProblemReport) {
        self.found
            .borrow_mut()
            .append(&mut other.found.into_inner());
    }

    /// The value, if nothing was found.
    pub(crate) fn result<T>(self, value: Option<T>) -> Result<T, Vec<Problem>> {
        let mut found = self.found.into_inner();
        found.sort_by(|a, b| (a.file != self.file, a).cmp(&(b.file != self.file, b)));
        found.dedup();
        match value {
            Some(value) if found.is_empty() => Ok(value),
            _ => Err(found),
        }
    }
}

fn characters(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

/// The known word that is nearest to a wrong one, if any is near: at most a third of its letters differ.
pub(crate) fn nearest_name<'a>(wrong: &str, known: &[&'a str]) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    known
        .iter()
        .map(|word| (strsim::osa_distance(&wrong, word), *word))
        .filter(|(distance, word)| *distance <= word.chars().count().max(3) / 3)
        .min()
        .map(|(_, word)| word)
}

/// Returns the known name that is similar, if there is one, and all known names: `did you mean …? Known here: …`.
pub fn make_hint(wrong: &str, known: &[&str]) -> String {
    // `required` is more likely `isRequired` than `requiredIf`.
    let is = format!("is{wrong}");
    let same = |word: &&&str| word.eq_ignore_ascii_case(&is);
    match known
        .iter()
        .find(same)
        .copied()
        .or_else(|| nearest_name(wrong, known))
    {
        Some(word) => format!("did you mean `{word}`? Known here: {}", known.join(", ")),
        None => format!("known here: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_typing_errors_and_nothing_far() {
        let known = ["timeout_s", "on_timeout", "group_size", "bot"];
        assert_eq!(nearest_name("timeuot_s", &known), Some("timeout_s"));
        assert_eq!(nearest_name("groupsize", &known), Some("group_size"));
        assert_eq!(nearest_name("colour", &known), None);
        let survey = ["requiredIf", "isRequired"];
        assert!(make_hint("required", &survey).starts_with("did you mean `isRequired`?"));
    }
}
