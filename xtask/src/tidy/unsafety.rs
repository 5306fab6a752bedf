//! Unsafe code: a crate without any forbids it, so that it stays so.

use super::{Finding, Tree};

/// The attribute that forbids it.
const FORBID: &str = "#![forbid(unsafe_code)]";

/// Words that unsafe code begins with, put together so that this file has none.
fn words() -> [String; 4] {
    ["{", "fn ", "impl ", "extern "].map(|what| format!("unsafe {what}"))
}

/// Finds the roots of crates that have no unsafe code, and do not forbid it.
pub(super) fn check(tree: &Tree, folders: &[(&str, String)]) -> Vec<Finding> {
    let check_root = |folder: &str| {
        let source = format!("{folder}/src/");
        let own = || {
            let texts = tree.iter().filter(|(path, _)| path.starts_with(&source));
            texts.filter_map(|(path, text)| Some((path, text.as_ref()?)))
        };
        let words = words();
        let is_unsafe = |text: &str| {
            let mut lines = text.lines().map(str::trim_start);
            lines.any(|line| {
                let is_code = !line.starts_with("//");
                let marked = line.contains("#[unsafe(");
                is_code && (marked || words.iter().any(|word| line.contains(word)))
            })
        };
        if own().any(|(_, text)| is_unsafe(text)) {
            return Vec::new();
        }
        let is_root = |path: &str| {
            ["lib.rs", "main.rs"]
                .iter()
                .any(|file| path == format!("{source}{file}"))
        };
        let roots = own().filter(|(path, text)| is_root(path) && !text.contains(FORBID));
        let finding =
            |path: &String| Finding::new(path, 1, format!("no unsafe code: write {FORBID}"));
        roots.map(|(path, _)| finding(path)).collect()
    };
    let folders = folders.iter().map(|(_, folder)| folder.as_str());
    folders.flat_map(check_root).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_unsafe_code_forbids_it() {
        let found = |root: &str, other: &str| {
            let file = |path: &str, text: &str| (path.to_owned(), Some(text.to_owned()));
            let tree = Tree::from([file("a/src/lib.rs", root), file("a/src/b.rs", other)]);
            check(&tree, &[("a", "a".to_owned())]).len()
        };
        let block = format!("{} }}", words()[0]);
        assert_eq!(found("//! A.", "fn f() {}"), 1);
        assert_eq!(found(&format!("//! A.\n\n{FORBID}\n"), "fn f() {}"), 0);
        assert_eq!(found("//! A.", &block), 0);
        assert_eq!(found("//! A.", &format!("// {block}")), 1);
    }
}
