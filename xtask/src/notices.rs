//! The notices of third-party crates that a release contains: in the page, in the modules, in the server, or in the
//! Python package.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::workspace::{Workspace, output};

/// The file in `dist/`, which the server serves.
pub(crate) const FILE: &str = "third-party-notices.txt";

/// The crates of ours that make up a release.
const RELEASED: [&str; 4] = ["coplay", "client-wasm", "env-core", "coplay-python"];

/// Beginnings of the names of files that must be passed on, in capitals.
const TEXTS: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "NOTICE",
    "COPYRIGHT",
    "UNLICENSE",
];

/// Writes the notices into a folder.
pub(crate) fn write_notices(workspace: &Workspace, folder: &Path) -> Result<()> {
    let notices = make_notices(&list_released(workspace)?)?;
    fs::write(folder.join(FILE), notices).with_context(|| format!("writing {FILE}"))
}

/// The third-party crates that a release contains.
///
/// # Errors
/// Cargo cannot describe the workspace.
pub(crate) fn list_released(workspace: &Workspace) -> Result<BTreeSet<ThirdParty>> {
    let mut cargo = workspace.cargo(&["metadata", "--format-version", "1", "--locked"]);
    let metadata: Value = serde_json::from_str(&output(&mut cargo)?)?;
    Ok(list_crates(&metadata, &RELEASED))
}

/// A third-party crate, as its manifest has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ThirdParty {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: String,
    manifest: String,
}

/// The third-party crates that are linked into some of ours: what builds or tests them is in no release.
fn list_crates(metadata: &Value, ours: &[&str]) -> BTreeSet<ThirdParty> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let by_id: BTreeMap<&str, &Value> = packages
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten();
    let nodes: BTreeMap<&str, &Value> = nodes
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let is_ours = |id: &&str| ours.iter().any(|name| by_id[id]["name"] == *name);
    let mut waiting: Vec<&str> = by_id.keys().copied().filter(is_ours).collect();
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) {
            continue;
        }
        let package = by_id[id];
        if !package["source"].is_null() {
            let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
            found.insert(ThirdParty {
                name: text("name"),
                version: text("version"),
                license: text("license"),
                manifest: text("manifest_path"),
            });
        }
        let deps = nodes.get(id).and_then(|node| node["deps"].as_array());
        for dep in deps.into_iter().flatten() {
            let mut kinds = dep["dep_kinds"].as_array().into_iter().flatten();
            if kinds.any(|kind| kind["kind"].is_null()) {
                waiting.extend(dep["pkg"].as_str());
            }
        }
    }
    found
}

/// The list of the crates, and each text once, with the crates that have it.
fn make_notices(crates: &BTreeSet<ThirdParty>) -> Result<String> {
    let mut notices = "Third-party software in Coplay\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for it in crates {
        writeln!(notices, "{} {}: {}", it.name, it.version, it.license)?;
        let folder = Path::new(&it.manifest).parent().context("a folder")?;
        for entry in fs::read_dir(folder).with_context(|| format!("reading {}", it.name))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().to_uppercase();
            if TEXTS.iter().any(|text| name.starts_with(text)) && entry.path().is_file() {
                let text = String::from_utf8_lossy(&fs::read(entry.path())?)
                    .trim()
                    .to_owned();
                let users = texts.entry(text).or_default();
                users.push(format!("{} {}", it.name, it.version));
            }
        }
    }
    for (text, users) in texts {
        write!(
            notices,
            "\n\n{}\n{}\n\n{text}\n",
            "=".repeat(80),
            users.join(", ")
        )?;
    }
    Ok(notices)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_notices_of_a_release_name_what_it_contains() {
        let dir = std::env::temp_dir().join(format!("release-notices-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        write_notices(&Workspace::find().unwrap(), &dir).unwrap();
        let notices = fs::read_to_string(dir.join(FILE)).unwrap();
        for name in ["tokio", "web-sys", "libsqlite3-sys"] {
            assert!(notices.contains(&format!("\n{name} ")), "{name}");
        }
        assert!(!notices.contains("\nproptest "), "tests alone have it");
        assert!(notices.contains("Permission is hereby granted"));
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_is_linked_is_named_with_its_text_and_what_builds_it_is_not() {
        let dir = std::env::temp_dir().join(format!("notices-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("LICENSE-MIT"), "do as you like\n").unwrap();
        let package = |id: &str, source: Value| {
            let manifest = dir.join("Cargo.toml");
            json!({"id": id, "name": id, "version": "1.0.0", "license": "MIT", "source": source,
                   "manifest_path": manifest})
        };
        let dep = |pkg: &str, kind: Value| json!({"pkg": pkg, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [
                package("coplay", Value::Null),
                package("linked", json!("registry")),
                package("below", json!("registry")),
                package("builds", json!("registry")),
            ],
            "resolve": {"nodes": [
                {"id": "coplay", "deps": [dep("linked", Value::Null), dep("builds", json!("build"))]},
                {"id": "linked", "deps": [dep("below", Value::Null)]},
            ]},
        });
        let crates = list_crates(&metadata, &["coplay"]);
        let names: Vec<_> = crates.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["below", "linked"]);
        let notices = make_notices(&crates).unwrap();
        assert!(notices.contains("linked 1.0.0: MIT"), "{notices}");
        assert!(
            notices.contains("below 1.0.0, linked 1.0.0\n\ndo as you like"),
            "{notices}"
        );
        fs::remove_dir_all(&dir).unwrap();
    }
}
