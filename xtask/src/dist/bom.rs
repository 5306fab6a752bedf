//! The bill of materials of a release, with licences, in the format of CycloneDX 1.6.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::notices::{self, ThirdParty};
use crate::workspace::Workspace;

/// Makes the bill of materials. `epoch` is the time of the release, as text of RFC 3339.
///
/// # Errors
/// Cargo cannot describe the workspace, or `Cargo.lock` cannot be read.
pub(crate) fn make_bom(workspace: &Workspace, version: &str, time: &str) -> Result<String> {
    let lock = workspace.root.join("Cargo.lock");
    let lock = fs::read_to_string(&lock).context("reading Cargo.lock")?;
    let bom = list(
        &notices::list_released(workspace)?,
        &read_hashes(&lock),
        version,
        time,
    );
    Ok(format!("{}\n", serde_json::to_string_pretty(&bom)?))
}

fn list(
    crates: &BTreeSet<ThirdParty>,
    hashes: &BTreeMap<(String, String), String>,
    version: &str,
    time: &str,
) -> Value {
    let component = |it: &ThirdParty| {
        let purl = format!("pkg:cargo/{}@{}", it.name, it.version);
        let mut component = json!({
            "type": "library",
            "bom-ref": purl,
            "name": it.name,
            "version": it.version,
            "purl": purl,
        });
        // Old manifests write "MIT/Apache-2.0".
        let license = it.license.replace('/', " OR ");
        if !license.is_empty() {
            component["licenses"] = json!([{ "expression": license }]);
        }
        if let Some(hash) = hashes.get(&(it.name.clone(), it.version.clone())) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": hash }]);
        }
        component
    };
    let purl = format!("pkg:pypi/coplay@{version}");
    let below: Vec<String> = crates
        .iter()
        .map(|it| format!("pkg:cargo/{}@{}", it.name, it.version))
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": {
                "type": "application",
                "bom-ref": purl,
                "name": "coplay",
                "version": version,
                "purl": purl,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": crates.iter().map(component).collect::<Vec<_>>(),
        "dependencies": [{ "ref": purl, "dependsOn": below }],
    })
}

/// The hashes of packages in `Cargo.lock`, by name and version.
fn read_hashes(lock: &str) -> BTreeMap<(String, String), String> {
    let mut hashes = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key))?;
            let value = line.trim_start().strip_prefix('=')?;
            Some(value.trim().trim_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(hash)) =
            (value("name"), value("version"), value("checksum"))
        {
            hashes.insert((name, version), hash);
        }
    }
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_of_a_release_is_there_once_with_its_licence_and_its_hash() {
        let workspace = Workspace::find().unwrap();
        let bom = make_bom(&workspace, "1.2.3", "2026-01-02T03:04:05Z").unwrap();
        let bom: Value = serde_json::from_str(&bom).unwrap();
        let components = bom["components"].as_array().unwrap();
        let named = |name: &str| components.iter().find(|it| it["name"] == name);
        // One of the program, one of the page, one of the Python package.
        for name in ["tokio", "web-sys", "pyo3"] {
            let found = named(name).unwrap_or_else(|| panic!("{name} is missing"));
            assert_eq!(found["hashes"][0]["content"].as_str().unwrap().len(), 64);
        }
        assert!(named("proptest").is_none(), "tests alone have it");
        let refs: BTreeSet<_> = components.iter().map(|it| it["bom-ref"].as_str()).collect();
        assert_eq!(refs.len(), components.len());
        for component in components {
            let license = component["licenses"][0]["expression"].as_str();
            assert!(license.is_some_and(|it| !it.contains('/')), "{component}");
        }
    }

    #[test]
    fn the_lock_file_tells_the_hash_of_each_version() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"0f\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n]\n";
        let hashes = read_hashes(lock);
        let expected = (("a".to_owned(), "1.0.0".to_owned()), "0f".to_owned());
        assert_eq!(hashes.into_iter().collect::<Vec<_>>(), [expected]);
    }
}
