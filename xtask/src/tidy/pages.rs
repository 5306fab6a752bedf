//! Documents: what they name exists, and what must be documented is.

use std::collections::BTreeSet;

use super::{Finding, Tree};

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const ARCHITECTURE_LINES: usize = 200;
const ENVIRONMENTS: &str = "env-core/src/envs/";
/// Names there that are no environments: the list of them, and what two of them share.
const NO_ENVIRONMENTS: [&str; 2] = ["mod", "kitchen"];

/// Checks every document.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = environments(tree);
    for (path, text) in tree
        .iter()
        .filter_map(|(path, text)| Some((path, text.as_ref()?)))
    {
        if path.ends_with(".md") {
            findings.extend(links(path, text, tree));
        }
    }
    if let Some(Some(text)) = tree.get(ARCHITECTURE) {
        findings.extend(architecture(text, tree));
    }
    findings
}

/// Every environment has its page.
fn environments(tree: &Tree) -> Vec<Finding> {
    let entries = tree
        .keys()
        .filter_map(|path| path.strip_prefix(ENVIRONMENTS));
    let names: BTreeSet<&str> = entries
        .filter_map(|rest| rest.split(['/', '.']).next())
        .collect();
    let pages = names
        .into_iter()
        .filter(|name| !NO_ENVIRONMENTS.contains(name))
        .map(|name| match name {
            "grid" => "docs/environments/without-code.md".into(),
            name => format!("docs/environments/{name}.md"),
        });
    pages
        .filter(|page| !tree.contains_key(page))
        .map(|page| Finding::new(&page, 1, "an environment has no page"))
        .collect()
}

/// Every relative link leads somewhere.
fn links(path: &str, text: &str, tree: &Tree) -> Vec<Finding> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut findings = Vec::new();
    for (number, line) in prose(text) {
        for target in line
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', ' ', '#']).next())
        {
            if !target.is_empty() && !target.contains(':') && !exists(&join(folder, target), tree) {
                findings.push(Finding::new(
                    path,
                    number,
                    format!("the link to {target} leads nowhere"),
                ));
            }
        }
    }
    findings
}

/// `ARCHITECTURE.md` is short, and every path that it names exists.
fn architecture(text: &str, tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = text.lines().count();
    if lines > ARCHITECTURE_LINES {
        let what = format!("{lines} lines; it is a map, of at most {ARCHITECTURE_LINES}");
        findings.push(Finding::new(ARCHITECTURE, lines, what));
    }
    for (number, line) in prose(text) {
        for path in line
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|code| is_path(code))
        {
            let name = format!("/{path}");
            if !exists(path, tree)
                && (path.contains('/') || !tree.keys().any(|known| known.ends_with(&name)))
            {
                findings.push(Finding::new(
                    ARCHITECTURE,
                    number,
                    format!("{path} does not exist"),
                ));
            }
        }
    }
    findings
}

/// True if inline code is a path of the repository: a folder, or a file by its extension.
fn is_path(code: &str) -> bool {
    let plain = !code.is_empty()
        && code
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let extension = code.rsplit_once('.').map_or("", |(_, extension)| extension);
    let file = ["css", "html", "js", "md", "mjs", "rs", "toml", "yaml"].contains(&extension);
    // What starts with a slash is a route of the server; a lone name with a dot may be `rust.field`.
    plain && !code.starts_with(['/', '.']) && (file || code.contains('/'))
}

/// Lines outside code blocks, counted from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        (!code && !fence).then_some((index + 1, line))
    })
}

/// True if a file, or a folder with a file in it, has this path.
fn exists(path: &str, tree: &Tree) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    tree.contains_key(path) || tree.keys().any(|known| known.starts_with(&folder))
}

fn join(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> Tree {
        paths
            .iter()
            .map(|path| ((*path).to_owned(), Some(String::new())))
            .collect()
    }

    #[test]
    fn a_path_that_does_not_exist_is_found() {
        let tree = tree(&["rollback/src/lib.rs"]);
        let text = "`rollback/src/lib.rs`, `rollback/`, `lib.rs`, `/session`, `a.b()` and `rollback/src/gone.rs`";
        let findings = architecture(text, &tree);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].what.contains("gone.rs"));
    }

    #[test]
    fn a_map_that_grew_into_a_book_is_found() {
        assert_eq!(architecture(&"line\n".repeat(201), &Tree::new()).len(), 1);
        assert!(architecture(&"line\n".repeat(200), &Tree::new()).is_empty());
    }

    #[test]
    fn a_broken_link_is_found_from_where_it_stands() {
        let tree = tree(&["docs/one.md", "README.md"]);
        assert!(
            links(
                "docs/one.md",
                "[up](../README.md#top) [web](https://example.org)",
                &tree
            )
            .is_empty()
        );
        assert_eq!(links("docs/one.md", "[up](README.md)", &tree).len(), 1);
        assert!(links("docs/one.md", "```\n[up](README.md)\n```", &tree).is_empty());
    }

    #[test]
    fn an_environment_without_a_page_is_found() {
        let mut tree = tree(&["env-core/src/envs/mod.rs", "env-core/src/envs/maze.rs"]);
        assert_eq!(environments(&tree)[0].path, "docs/environments/maze.md");
        tree.insert("docs/environments/maze.md".to_owned(), None);
        assert!(environments(&tree).is_empty());
    }
}
