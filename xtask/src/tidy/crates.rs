//! Which crate may know which.

use serde_json::Value;

use super::Finding;

/// Crates and those of ours they may depend on. A crate that is not here may not exist.
const MAY_KNOW: [(&str, &[&str]); 21] = [
    ("env-core", &[]),
    ("protocol", &["formula"]),
    ("formula", &[]),
    ("survey", &[]),
    ("study", &["formula", "protocol", "survey"]),
    ("rollback", &["env-core", "formula", "protocol"]),
    ("policy", &["env-core"]),
    ("onnx", &["env-core", "policy"]),
    ("peer", &["env-core", "policy", "protocol", "rollback"]),
    ("picture", &["env-core"]),
    ("batch", &["env-core", "module"]),
    ("module", &["env-core"]),
    (
        "client-wasm",
        &[
            "env-core", "formula", "peer", "policy", "protocol", "rollback", "study", "survey",
        ],
    ),
    (
        "signaling-server",
        &[
            "env-core", "formula", "module", "onnx", "peer", "policy", "protocol", "rollback",
            "study", "survey",
        ],
    ),
    (
        "simulation",
        &[
            "env-core",
            "formula",
            "onnx",
            "peer",
            "policy",
            "protocol",
            "rollback",
            "signaling-server",
            "study",
        ],
    ),
    (
        "fuzz",
        &[
            "client-wasm",
            "env-core",
            "formula",
            "peer",
            "policy",
            "protocol",
            "rollback",
            "signaling-server",
            "study",
            "survey",
        ],
    ),
    ("net", &[]),
    (
        "parity",
        &[
            "env-core", "module", "policy", "protocol", "rollback", "study", "survey",
        ],
    ),
    (
        "coplay-python",
        &["batch", "env-core", "module", "picture", "policy"],
    ),
    ("example-environments", &["env-core"]),
    ("xtask", &[]),
];

/// Checks what `cargo metadata` says of dependencies; those of tests alone may go anywhere.
pub(super) fn arrows(metadata: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = format!("crate {name}");
        let Some((_, may)) = MAY_KNOW.iter().find(|(known, _)| *known == name) else {
            findings.push(Finding::new(
                &manifest,
                1,
                "say in xtask/src/tidy/crates.rs which crates it may know",
            ));
            continue;
        };
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let ours = dependencies.filter(|other| other["path"].is_string() && other["kind"] != "dev");
        for other in ours
            .filter_map(|other| other["name"].as_str())
            .filter(|other| !may.contains(other))
        {
            findings.push(Finding::new(&manifest, 1, format!("must not know {other}")));
        }
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

    #[test]
    fn an_arrow_that_points_back_is_found() {
        assert_eq!(
            arrows(&one("env-core", Value::Null))[0].what,
            "must not know rollback"
        );
        assert!(arrows(&one("env-core", json!("dev"))).is_empty());
        assert!(arrows(&one("client-wasm", Value::Null)).is_empty());
    }

    #[test]
    fn a_crate_without_a_rule_is_found() {
        assert_eq!(arrows(&one("helpers", Value::Null)).len(), 1);
    }
}
