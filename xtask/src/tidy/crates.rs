//! Which crate may know which.

use serde_json::Value;

use super::Finding;

/// Where the table is.
const TABLE: &str = "xtask/src/tidy/crates.rs";

/// Crates and those of ours they may depend on. A crate that is not here may not exist.
pub(super) const MAY_KNOW: [(&str, &[&str]); 40] = [
    ("env-core", &[]),
    ("protocol", &["formula"]),
    ("formula", &[]),
    ("survey", &[]),
    ("study", &["formula", "protocol", "survey"]),
    ("rollback", &["env-core", "formula", "protocol"]),
    ("policy", &["env-core"]),
    ("onnx", &["env-core", "policy"]),
    ("peer", &["env-core", "policy", "protocol", "rollback"]),
    ("client-core", &["peer", "protocol"]),
    ("picture", &["env-core"]),
    ("video", &["env-core", "picture"]),
    ("batch", &["env-core"]),
    ("module", &["env-core"]),
    (
        "page-python",
        &["env-core", "env-host", "module", "protocol"],
    ),
    (
        "client-wasm",
        &[
            "client-core",
            "env-core",
            "policy",
            "protocol",
            "rollback",
            "survey",
        ],
    ),
    ("server-core", &["protocol", "study"]),
    (
        "archive",
        &[
            "env-core",
            "module",
            "page-python",
            "policy",
            "protocol",
            "rollback",
            "server-core",
            "study",
        ],
    ),
    ("offline", &["archive", "protocol", "server-core", "study"]),
    ("offline-wasm", &["offline", "protocol"]),
    ("store", &["archive", "protocol", "server-core", "study"]),
    (
        "catalog",
        &[
            "env-core",
            "env-host",
            "module",
            "onnx",
            "page-python",
            "policy",
            "protocol",
            "study",
        ],
    ),
    (
        "dataset",
        &[
            "archive", "env-core", "picture", "protocol", "store", "study", "survey",
        ],
    ),
    (
        "replay",
        &["archive", "env-core", "policy", "protocol", "rollback"],
    ),
    ("env-host", &["env-core", "protocol"]),
    ("turn", &["protocol"]),
    ("clock", &[]),
    ("data-channels", &["protocol"]),
    (
        "rehearsal",
        &[
            "archive",
            "catalog",
            "client-core",
            "clock",
            "data-channels",
            "dataset",
            "env-core",
            "page-python",
            "peer",
            "policy",
            "protocol",
            "server-core",
            "simulation",
            "store",
            "study",
            "survey",
        ],
    ),
    (
        "coplay",
        &[
            "catalog",
            "clock",
            "dataset",
            "env-host",
            "offline",
            "page-python",
            "rehearsal",
            "replay",
            "server-core",
            "signaling-server",
            "store",
            "study",
            "video",
        ],
    ),
    (
        "signaling-server",
        &[
            "archive",
            "catalog",
            "clock",
            "offline",
            "page-python",
            "protocol",
            "replay",
            "server-core",
            "store",
            "study",
            "turn",
        ],
    ),
    (
        "simulation",
        &[
            "archive",
            "catalog",
            "client-core",
            "env-core",
            "onnx",
            "policy",
            "protocol",
            "rollback",
            "server-core",
            "study",
        ],
    ),
    (
        "fuzz",
        &[
            "archive",
            "catalog",
            "env-core",
            "env-host",
            "peer",
            "policy",
            "protocol",
            "rollback",
            "server-core",
            "study",
            "survey",
            "turn",
        ],
    ),
    ("hostile", &["clock", "env-core", "policy", "rehearsal"]),
    ("load", &["client-core", "env-core", "protocol"]),
    ("net", &[]),
    ("parity", &["env-core"]),
    (
        "coplay-python",
        &[
            "batch", "env-core", "module", "onnx", "picture", "policy", "video",
        ],
    ),
    ("example-environments", &["env-core"]),
    ("xtask", &[]),
];

/// Checks what `cargo metadata` says of dependencies against the table, both ways; those of tests alone may go anywhere.
pub(super) fn check_arrows(metadata: &Value) -> Vec<Finding> {
    compare(metadata, &MAY_KNOW)
}

fn compare(metadata: &Value, table: &[(&str, &[&str])]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut missing: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = format!("crate {name}");
        missing.retain(|known| *known != name);
        let Some((_, may)) = table.iter().find(|(known, _)| *known == name) else {
            findings.push(Finding::new(
                &manifest,
                1,
                format!("say in {TABLE} which crates it may know"),
            ));
            continue;
        };
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let known: Vec<&str> = dependencies
            .filter(|other| other["path"].is_string() && other["kind"] != "dev")
            .filter_map(|other| other["name"].as_str())
            .collect();
        for other in known.iter().filter(|other| !may.contains(other)) {
            findings.push(Finding::new(&manifest, 1, format!("must not know {other}")));
        }
        for other in may.iter().filter(|other| !known.contains(other)) {
            let what = format!("may know {other}, and does not: take that out of {TABLE}");
            findings.push(Finding::new(&manifest, 1, what));
        }
    }
    for name in missing {
        let what = format!("there is no such crate: take it out of {TABLE}");
        findings.push(Finding::new(&format!("crate {name}"), 1, what));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(name: &str, kind: Value) -> Value {
        let dependency = json!({"name": "rollback", "path": "/r/rollback", "kind": kind});
        json!({"packages": [{"name": name, "dependencies": [dependency]}]})
    }

    const TABLE: [(&str, &[&str]); 2] = [("env-core", &[]), ("client-wasm", &["rollback"])];

    fn found(metadata: &Value) -> Vec<String> {
        let findings = compare(metadata, &TABLE).into_iter();
        let own = findings.filter(|finding| !finding.what.contains("no such crate"));
        own.map(|finding| finding.what).collect()
    }

    #[test]
    fn an_arrow_that_points_back_is_found() {
        let back = found(&one("env-core", Value::Null));
        assert_eq!(back, ["must not know rollback"]);
        assert!(found(&one("env-core", json!("dev"))).is_empty());
        assert!(found(&one("client-wasm", Value::Null)).is_empty());
    }

    #[test]
    fn a_permission_that_nobody_uses_is_found() {
        let unused = found(&one("client-wasm", json!("dev")));
        assert!(unused[0].starts_with("may know rollback, and does not"));
        assert_eq!(compare(&one("env-core", json!("dev")), &TABLE).len(), 1);
    }

    #[test]
    fn a_crate_without_a_rule_is_found() {
        assert_eq!(found(&one("helpers", Value::Null)).len(), 1);
    }
}
