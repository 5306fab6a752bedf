//! The line of `ARCHITECTURE.md` that says which crate knows which is the table of [`super::crates`].

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Tree};

const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// The text before the arrows.
const OPENING: &str =
    "Arrows point one way, and `cargo xtask tidy` compares this line with the manifests: ";

/// The crates that each crate knows.
type Arrows<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Compares the line with the table.
pub(super) fn check(tree: &Tree, table: &[(&str, &[&str])]) -> Vec<Finding> {
    let text = tree.get(ARCHITECTURE).and_then(Option::as_deref);
    compare(text.unwrap_or_default(), table)
}

fn compare(text: &str, table: &[(&str, &[&str])]) -> Vec<Finding> {
    let lines = text.lines().enumerate();
    let mut found =
        lines.filter_map(|(index, line)| Some((index + 1, line.split_once(OPENING)?.1)));
    let Some((number, arrows)) = found.next() else {
        let what = format!("no line says which crate knows which: \"{OPENING}…\"");
        return vec![Finding::new(ARCHITECTURE, 1, what)];
    };
    let mut told = read(arrows);
    let mut findings = Vec::new();
    for (name, may) in table {
        let may: BTreeSet<&str> = may.iter().copied().collect();
        if told.remove(name).as_ref() != Some(&may) {
            let names: Vec<String> = may.iter().map(|other| format!("`{other}`")).collect();
            let names = match names.is_empty() {
                true => "none of ours".to_owned(),
                false => names.join(", "),
            };
            let what = format!("the manifests say `{name}` → {names}");
            findings.push(Finding::new(ARCHITECTURE, number, what));
        }
    }
    for name in told.keys() {
        let what = format!("there is no crate {name}");
        findings.push(Finding::new(ARCHITECTURE, number, what));
    }
    findings
}

/// Reads `` `a`, `b` → `c`; `d` → none of ours ``. What has no name in front of its arrow says who may know something.
fn read(arrows: &str) -> Arrows<'_> {
    let mut told = Arrows::new();
    for (from, to) in arrows.split(';').filter_map(|part| part.split_once('→')) {
        for name in code(from) {
            told.entry(name).or_default().extend(code(to));
        }
    }
    told
}

fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: [(&str, &[&str]); 3] = [("env", &[]), ("one", &["env"]), ("two", &["env"])];

    fn found(arrows: &str) -> Vec<String> {
        let findings = compare(&format!("# A\n\n{OPENING}{arrows}"), &TABLE);
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_line_that_is_the_table_is_fine() {
        let arrows = "`one`, `two` → `env` (for its words); `env` → none of ours; nothing → `two`.";
        assert_eq!(found(arrows), [""; 0]);
    }

    #[test]
    fn an_arrow_that_is_missing_or_too_many_is_found() {
        let arrows = "`one` → `env`, `two`; `two` → `env`; `gone`, `env` → none of ours.";
        assert_eq!(
            found(arrows),
            ["the manifests say `one` → `env`", "there is no crate gone"]
        );
        assert_eq!(found("`one`, `two` → `env`.").len(), 1);
        assert_eq!(compare("# A", &TABLE).len(), 1);
    }
}
