//! `tidy`: the rules of the house that no compiler knows. Each is a pure function with a test.

mod crates;
mod pages;
mod texts;

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, bail};

use crate::options::{Options, Takes};
use crate::workspace::{Workspace, output};

const HELP: &str = "\
cargo xtask tidy

Checks what CONTRIBUTING and ARCHITECTURE promise and no compiler knows: which crate may
know which, that every path and link in the documents exists, that every environment
has its page, that modules open with their purpose, file lengths, left-over markers,
and that no path of a developer's machine and no registry host is in the tree.";

/// A rule that is broken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    what: String,
    warning: bool,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
            warning: false,
        }
    }

    fn warning(path: &str, line: usize, what: impl Into<String>) -> Self {
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

/// `cargo xtask tidy`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let Some(_) = Options::parse(
        parser,
        Takes {
            help: HELP,
            ..Takes::default()
        },
    )?
    else {
        return Ok(());
    };
    check(&Workspace::find()?)
}

/// Checks every rule.
///
/// # Errors
/// A rule is broken; each place is on stderr.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let tree = tree(workspace)?;
    let mut findings = crates::arrows(&workspace.metadata);
    findings.extend(pages::check(&tree));
    findings.extend(texts::check(&tree));
    for finding in &findings {
        eprintln!("{finding}");
    }
    let broken = findings.iter().filter(|finding| !finding.warning).count();
    if broken > 0 {
        bail!("{broken} places break a rule of the house");
    }
    eprintln!("    {} files are tidy", tree.len());
    Ok(())
}

/// What git has, and what it would take.
fn tree(workspace: &Workspace) -> Result<Tree> {
    let list = [
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "-z",
    ];
    let names = output(workspace.command("git").args(list))?;
    let mut tree = Tree::new();
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        // A file that was deleted and not yet committed is in the list, but not there.
        if let Ok(bytes) = std::fs::read(workspace.root.join(name)) {
            tree.insert(name.to_owned(), String::from_utf8(bytes).ok());
        }
    }
    Ok(tree)
}
