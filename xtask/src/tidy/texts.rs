//! Texts of every kind: lengths, markers, purposes, and what of a machine must not be in them.

use super::{Finding, Tree};

/// This file names what it forbids.
const SELF: &str = "xtask/src/tidy/texts.rs";

/// Lines of a source file without its tests: where a warning begins, and where it ends.
const LONG: usize = 500;
const TOO_LONG: usize = 700;

/// Lines of JavaScript in the page: the browser shell is Rust.
const PAGE_SCRIPT_LINES: usize = 300;

/// The beginning of the scripts that only a study without a server has, and their lines: the browser's database and its
/// locks are used from JavaScript in a third of the lines that bindings take.
const OFFLINE: &str = "web/offline_";
const OFFLINE_SCRIPT_LINES: usize = 400;

const MARKERS: [&str; 8] = [
    "TODO",
    "FIXME",
    "XXX:",
    "HACK",
    "todo!(",
    "dbg!(",
    "#[ignore",
    "test.only(",
];

/// Folders of somebody's machine, and hosts that a mirror would replace.
const FOREIGN: [&str; 9] = [
    "/home/",
    "/root/",
    "/Users/",
    "/work/",
    "C:\\Users",
    "registry.npmjs.org",
    "index.crates.io",
    "static.crates.io",
    "files.pythonhosted.org",
];

/// Checks every text.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::from_iter(script_total(tree, false));
    findings.extend(script_total(tree, true));
    for (path, text) in tree
        .iter()
        .filter_map(|(path, text)| Some((path.as_str(), text.as_ref()?)))
    {
        if path != SELF && !data(path) {
            findings.extend(forbidden(path, text));
        }
        if source(path) {
            findings.extend(length(path, text));
        }
        let module = source(path) && path.ends_with(".rs") && path.contains("src/");
        if module && !text.starts_with("//!") {
            findings.push(Finding::new(
                path,
                1,
                "open with `//!`: what this owns, and what it must not know",
            ));
        }
    }
    findings
}

fn data(path: &str) -> bool {
    [".json", ".jsonl", ".svg", ".csv", ".txt"]
        .iter()
        .any(|end| path.ends_with(end))
        && !path.ends_with("package-lock.json")
}

/// True if a file is of tests or benches alone, by its path.
pub(super) fn is_test(path: &str) -> bool {
    path.starts_with("tests/")
        || ["/tests/", "/benches/", "/tests.rs"]
            .iter()
            .any(|part| path.contains(part))
}

fn source(path: &str) -> bool {
    !is_test(path)
        && [".rs", ".js", ".mjs", ".css"]
            .iter()
            .any(|end| path.ends_with(end))
}

fn forbidden(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for marker in MARKERS.iter().filter(|marker| has_word(line, marker)) {
            findings.push(Finding::new(
                path,
                index + 1,
                format!("{marker} is left over: do it, or open an issue"),
            ));
        }
        for foreign in FOREIGN.iter().filter(|foreign| line.contains(*foreign)) {
            findings.push(Finding::new(
                path,
                index + 1,
                format!("{foreign} belongs to one machine"),
            ));
        }
    }
    findings
}

/// True if the marker is there as a separate word.
fn has_word(line: &str, marker: &str) -> bool {
    line.match_indices(marker).any(|(at, _)| {
        let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let open = marker.ends_with(|c: char| !c.is_alphanumeric());
        !letter(line[..at].chars().next_back())
            && (open || !letter(line[at + marker.len()..].chars().next()))
    })
}

fn length(path: &str, text: &str) -> Option<Finding> {
    let lines = text
        .lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .count();
    let what = || format!("{lines} lines without its tests: find the two nouns in it");
    match lines {
        0..=LONG => None,
        501..=TOO_LONG => Some(Finding::warning(path, lines, what())),
        _ => Some(Finding::new(path, lines, what())),
    }
}

fn script_total(tree: &Tree, is_offline: bool) -> Option<Finding> {
    let most = match is_offline {
        true => OFFLINE_SCRIPT_LINES,
        false => PAGE_SCRIPT_LINES,
    };
    let scripts = tree.iter().filter(|(path, _)| {
        path.starts_with("web/")
            && path.starts_with(OFFLINE) == is_offline
            && !path.contains("/vendor/")
            && (path.ends_with(".js") || path.ends_with(".mjs"))
    });
    let lines: usize = scripts
        .filter_map(|(_, text)| text.as_ref())
        .map(|text| text.lines().count())
        .sum();
    let what = || format!("{lines} lines of JavaScript, over {most}: the page is Rust");
    (lines > most).then(|| Finding::new("web/", 1, what()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_a_word_and_not_a_part_of_one() {
        assert_eq!(forbidden("a.rs", "// TODO: later").len(), 1);
        assert!(forbidden("a.rs", "let TODOS = XXXL;").is_empty());
        assert_eq!(forbidden("a.rs", "dbg!(x)").len(), 1);
    }

    #[test]
    fn a_path_of_a_machine_is_found() {
        assert_eq!(forbidden("a.md", "see /home/me/coplay").len(), 1);
        assert!(forbidden("a.md", "see docs/home.md").is_empty());
    }

    #[test]
    fn tests_do_not_count_as_length() {
        let body = "//! x\n".repeat(500);
        assert_eq!(length("a.rs", &format!("{body}#[cfg(test)]\n{body}")), None);
        assert!(length("a.rs", &"x\n".repeat(501)).unwrap().warning);
        assert!(!length("a.rs", &"x\n".repeat(701)).unwrap().warning);
    }

    #[test]
    fn much_javascript_in_the_page_is_found() {
        let page =
            |lines: usize| Tree::from([("web/main.js".to_owned(), Some("x\n".repeat(lines)))]);
        assert!(script_total(&page(300), false).is_none());
        assert!(script_total(&page(301), false).is_some());
        assert!(script_total(&page(301), true).is_none());
    }
}
