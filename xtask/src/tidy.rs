//! `tidy`: the rules of the house that no compiler knows. Each is a pure function with a test.

mod arrows;
mod circles;
mod cores;
mod crates;
mod finding;
mod glossary;
mod house;
mod names;
mod pages;
mod rust;
mod summaries;
mod texts;
mod unsafety;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::figures::{as_object, describe_machine, table};
use crate::options::{Options, Takes};
use crate::workspace::{Workspace, output};
use finding::RustFiles;
pub(crate) use finding::{Finding, Tree};
use rust::RustFile;

const HELP: &str = "\
cargo xtask tidy [--circles CRATE | --figures [--build] [--json] [--write] [--root DIR]]

Checks what CONTRIBUTING and ARCHITECTURE promise and no compiler knows: which crate may
know which, and does, and that ARCHITECTURE says the same; that every path and link in the documents exists, that every
environment has its page, that modules open with their purpose, file lengths, left-over
markers; that no path of a developer's machine and no registry host is in the tree; that
a crate without unsafe code forbids it. No doc summary may begin with What, Who, Whom,
Whose, Whence or Whether, in Rust and in Python. Public types of two crates may share a
name only if docs/glossary.md gives the reason; a type that the glossary names exists. Beside each core stands a clippy.toml that bans clocks, hash maps and
platform floats. A circle of imports may have at most 6 files, or as many as the list of
exceptions says.

--circles CRATE
              shows the imports within the largest circle of a crate instead

--figures     measures instead: the third-party crates of each crate, its share of the
              Rust, its largest circle of imports, names, summaries, long functions, files
--build       with them, the time of a build from nothing of simulation, server and
              client: minutes, on an idle machine
--root DIR    another checkout
--json        one object: machine, date, figures [{group, name, value, unit}]
--write       a column of docs/testing.md, by commit";

const PAGE: &str = "docs/testing.md";

/// `cargo xtask tidy`.
pub(crate) fn command(parser: lexopt::Parser) -> Result<()> {
    let takes = Takes {
        help: HELP,
        switches: &["figures", "build", "json", "write"],
        values: &["root", "circles"],
        ..Takes::default()
    };
    let Some(options) = Options::parse(parser, takes)? else {
        return Ok(());
    };
    let own = Workspace::find()?;
    if let Some(name) = options.value("circles") {
        let (files, _) = rust_files(&tree(&own)?);
        let imports = circles::list_imports(&files, &own.folders(), name);
        imports.iter().for_each(|import| println!("{import}"));
        return Ok(());
    }
    if !options.has("figures") {
        return check(&own);
    }
    match options.value("root") {
        Some(root) => figures(&Workspace::at(Some(PathBuf::from(root)))?, &own, &options),
        None => figures(&own, &own, &options),
    }
}

/// Checks every rule.
///
/// # Errors
/// A rule is broken; each place is on stderr.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let tree = tree(workspace)?;
    let (files, mut findings) = rust_files(&tree);
    findings.extend(crates::check_arrows(&workspace.metadata));
    findings.extend(arrows::check(&tree, &crates::MAY_KNOW));
    findings.extend(cores::check(&tree));
    findings.extend(circles::check(&files, &workspace.folders()));
    findings.extend(glossary::check(&tree));
    findings.extend(pages::check(&tree));
    findings.extend(texts::check(&tree));
    findings.extend(summaries::check(&tree, &files));
    findings.extend(unsafety::check(&tree, &workspace.folders()));
    findings.extend(names::check(&tree, &files, &workspace.folders()));
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

/// Measures a workspace; the figures to keep are written into our own page.
fn figures(workspace: &Workspace, own: &Workspace, options: &Options) -> Result<()> {
    let tree = tree(workspace)?;
    let (files, _) = rust_files(&tree);
    let figures = house::measure(workspace, &tree, &files, options.has("build"))?;
    let date = output(own.command("date").args(["-u", "+%Y-%m-%d"]))?;
    let (machine, date) = (describe_machine(), date.trim());
    if options.has("json") {
        println!("{}", as_object(&figures, &machine, date));
    } else {
        println!("{machine}, {date}\n{}", table(&figures));
    }
    if options.has("write") {
        let commit = ["rev-parse", "--short", "HEAD"];
        let commit = output(workspace.command("git").args(commit))?;
        let title = format!("{}, {date}", commit.trim());
        let file = own.root.join(PAGE);
        let page = fs::read_to_string(&file).with_context(|| format!("reading {PAGE}"))?;
        fs::write(&file, house::record(&page, &figures, &title))?;
        eprintln!("    {PAGE} has them as {title}");
    }
    Ok(())
}

/// Reads the Rust files of a tree, and finds those that are not Rust.
fn rust_files(tree: &Tree) -> (RustFiles, Vec<Finding>) {
    let (mut files, mut findings) = (RustFiles::new(), Vec::new());
    for (path, text) in tree {
        let Some(text) = text.as_ref().filter(|_| path.ends_with(".rs")) else {
            continue;
        };
        match RustFile::read(text) {
            Ok(file) => drop(files.insert(path.clone(), file)),
            Err(error) => findings.push(Finding::new(path, 1, error.to_string())),
        }
    }
    (files, findings)
}

/// Reads the files that git has, and those that it would take.
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
        if let Ok(bytes) = fs::read(workspace.root.join(name)) {
            tree.insert(name.to_owned(), String::from_utf8(bytes).ok());
        }
    }
    Ok(tree)
}
