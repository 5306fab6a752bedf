//! The tests in real browsers, and what is done with one that fails beside others.
//!
//! A page keeps time, and a machine with two cores is late now and then. A file with a failed test therefore runs once
//! more with nothing beside it; what fails there fails the step, and the step says what did not.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::tally::{Count, counted_lines, run_counted};
use crate::workspace::Workspace;

/// More files than this do not fail because the machine was late.
const MOST_AGAIN: usize = 3;

/// Runs them all.
///
/// # Errors
/// A test fails, and fails again when its file runs alone.
pub(crate) fn check(workspace: &Workspace, chromium: &Path, count: &mut Count) -> Result<()> {
    let mut failed = BTreeSet::new();
    let mut note = |line: &str| failed.extend(find_file(line).map(str::to_owned));
    let Err(error) = counted_lines(&mut node(workspace, chromium, 2), count, &mut note) else {
        return Ok(());
    };
    if failed.is_empty() || failed.len() > MOST_AGAIN {
        return Err(error);
    }
    let files: Vec<_> = failed.iter().map(String::as_str).collect();
    let files = files.join(", ");
    println!("\n    FAILED beside other tests: {files}; runs again with nothing beside it");
    let mut again = node(workspace, chromium, 1);
    again.env("COPLAY_ALONE", "1").args(&failed);
    let mut alone = Count::default();
    if run_counted(&mut again, &mut alone).is_err() {
        bail!("{error:#}; alone, a test of {files} failed too");
    }
    println!("\n    passed only with nothing beside it: {files}");
    *count = Count {
        passed: count.passed + count.failed,
        failed: 0,
    };
    Ok(())
}

/// The test runner, with this many files at a time.
fn node(workspace: &Workspace, chromium: &Path, files: u32) -> Command {
    let mut node = workspace.node(chromium);
    node.env("COPLAY_BIN", workspace.checked("coplay"));
    node.env("COPLAY_SCENES", workspace.checked("examples/scenes"));
    node.env("COPLAY_KITCHENS", workspace.checked("examples/kitchens"));
    node.args(["--test", "--test-reporter=spec"]);
    node.arg(format!("--test-concurrency={files}"));
    node.current_dir(workspace.root.join("tests/e2e"));
    node
}

/// The file in `test at access.test.mjs:78:3`, with which Node begins the report of a failed test.
fn find_file(line: &str) -> Option<&str> {
    let place = line.trim().strip_prefix("test at ")?;
    let file = place.split(':').next()?;
    file.ends_with(".test.mjs").then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_failed_test_is_found() {
        let told = "test at access.test.mjs:78:3";
        assert_eq!(find_file(told), Some("access.test.mjs"));
        assert_eq!(
            find_file("  test at blinding.test.mjs:77:1"),
            Some("blinding.test.mjs")
        );
        assert_eq!(find_file("a test at noon:1"), None);
        assert_eq!(find_file("test at file:///e2e/match.mjs:1:1"), None);
    }
}
