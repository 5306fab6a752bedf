//! A rule that is broken, and the files in which it is looked for.

use std::collections::BTreeMap;
use std::fmt;

use super::rust::RustFile;

/// A rule that is broken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) what: String,
    pub(super) warning: bool,
}

impl Finding {
    pub(super) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
            warning: false,
        }
    }

    pub(super) fn warning(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            warning: true,
            ..Self::new(path, line, what)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            what,
            warning,
        } = self;
        write!(
            f,
            "{}{path}:{line}: {what}",
            if *warning { "warning: " } else { "" }
        )
    }
}

/// The files of the repository by path: the text, or nothing where there is none.
pub(crate) type Tree = BTreeMap<String, Option<String>>;

/// Its Rust files by path.
pub(super) type RustFiles = BTreeMap<String, RustFile>;
