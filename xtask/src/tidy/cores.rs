//! Cores: crates that get the time from their callers and compute the same everywhere. A `clippy.toml` beside each bans
//! the rest.

use super::{Finding, Tree};

/// The folders of the cores.
const CORES: [&str; 18] = [
    "archive",
    "batch",
    "client-core",
    "env-core",
    "formula",
    "module",
    "onnx",
    "peer",
    "policy",
    "protocol",
    "replay",
    "rollback",
    "server-core",
    "offline",
    "simulation",
    "study",
    "survey",
    "turn",
];

/// Texts that each of these files has: a file replaces the one at the root, whose rules it has to repeat.
const BANS: [&str; 7] = [
    "allow-unwrap-in-tests = true",
    "\"std::collections::HashMap\"",
    "\"std::collections::HashSet\"",
    "\"std::time::Instant\"",
    "\"std::time::SystemTime\"",
    "\"f32::sin\"",
    "\"f64::exp\"",
];

/// Finds cores without the bans.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let missing = |core: &&str| {
        let path = format!("{core}/clippy.toml");
        let text = tree
            .get(&path)
            .and_then(Option::as_deref)
            .unwrap_or_default();
        let missing = BANS.iter().find(|ban| !text.contains(**ban))?;
        let what = format!("a core without `{missing}`: copy server-core/clippy.toml");
        Some(Finding::new(&path, 1, what))
    };
    CORES.iter().filter_map(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_without_a_ban_is_found() {
        let whole = BANS.join("\n");
        let tree = |text: &str| -> Tree {
            let paths = CORES.iter().map(|core| format!("{core}/clippy.toml"));
            paths.map(|path| (path, Some(text.to_owned()))).collect()
        };
        assert!(check(&tree(&whole)).is_empty());
        assert_eq!(check(&Tree::new()).len(), CORES.len());
        let less = whole.replace("\"std::time::Instant\"", "");
        let found = check(&tree(&less));
        assert!(found[0].what.contains("std::time::Instant"), "{found:?}");
    }
}
