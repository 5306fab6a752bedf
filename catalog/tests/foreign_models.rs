//! Models of other projects: the observation that each takes, alone and several in one kitchen.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

use std::path::Path;

use catalog::agent::{Certificate, Tally, describe_agent};
use catalog::lint::{Linted, lint_study};
use protocol::hash::sha256_hex;
use study::stage::CERTIFICATE;

/// Lints a study with these partners in one kitchen.
fn linted(partners: &str, config: &str) -> Linted {
    linted_beside(partners, config, &[])
}

/// Lints it with certificates beside the models.
fn linted_beside(partners: &str, config: &str, certificates: &[(&str, String)]) -> Linted {
    let dir = tempfile::tempdir().unwrap();
    let study = format!(
        "format: 1
study: {{id: small, version: 1.0.0, title: Small, contact: lab@example.edu}}
partners:
{partners}design:
  within:
    partner: {{levels: [one, other], order: latin}}
timeline:
  - id: play
    for_each: partner
    type: env
    env: overcooked_ai@1.0.0
    players: [self, \"{{{{ partner }}}}\"]
    config: {{layout: cramped_room, horizon: 40{config}}}
  - {{id: thanks, type: end, file: thanks.md}}
"
    );
    std::fs::write(dir.path().join("study.yaml"), study).unwrap();
    std::fs::write(dir.path().join("thanks.md"), "# Thanks\n").unwrap();
    for name in ["lossless.onnx", "jaxmarl.onnx", "features.onnx"] {
        let model = Path::new("tests/models").join(name);
        std::fs::copy(model, dir.path().join(name)).unwrap();
    }
    for (model, text) in certificates {
        std::fs::write(dir.path().join(format!("{model}{CERTIFICATE}")), text).unwrap();
    }
    lint_study(dir.path())
}

/// The certificate of a model that plays its own rules, with this number of equal actions among 40.
fn certificate(model: &str, equal: u64) -> String {
    let bytes = std::fs::read(Path::new("tests/models").join(model)).unwrap();
    let certificate = Certificate {
        format: 1,
        coplay: "0.1.0".into(),
        agent_sha256: sha256_hex(&bytes),
        network_sha256: String::new(),
        env: "overcooked_ai@1.0.0".into(),
        params: [("rules".to_owned(), "jaxmarl-0.2.0".into())]
            .into_iter()
            .collect(),
        package: None,
        trace_sha256: String::new(),
        episodes: 1,
        steps: 40,
        observations: Tally {
            compared: 40,
            equal: 40,
        },
        actions: Tally {
            compared: 40,
            equal,
        },
        greatest_value_difference: None,
        first_observation_difference: None,
        first_action_difference: None,
    };
    serde_json::to_string(&certificate).unwrap()
}

#[test]
fn partners_of_several_origins_play_in_one_kitchen_and_each_observation_is_reported() {
    let found = linted(
        "  one: {policy: lossless.onnx}\n  other: {policy: jaxmarl.onnx}\n",
        ", observation: [lossless, jaxmarl]",
    );
    assert!(found.is_fine(), "{found}");
    let text = found.to_string();
    for line in [
        "lossless.onnx (play) takes lossless [5, 4, 26]; without a certificate",
        "jaxmarl.onnx (play) takes jaxmarl [4, 5, 26]; without a certificate",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let json = serde_json::to_value(&found).unwrap();
    let own = |index: usize| json["models"][index]["observation"][0].clone();
    assert_eq!(
        [own(0), own(1)],
        ["lossless [5, 4, 26]", "jaxmarl [4, 5, 26]"]
    );
}

#[test]
fn a_certificate_is_read_and_belongs_to_its_model() {
    let partners = "  one: {policy: lossless.onnx}\n  other: {policy: jaxmarl.onnx}\n";
    let config = ", observation: [lossless, jaxmarl]";
    let linted = |text: String| linted_beside(partners, config, &[("jaxmarl.onnx", text)]);
    let found = linted(certificate("jaxmarl.onnx", 40));
    assert!(found.is_fine() && found.warnings.is_empty(), "{found}");
    let told = "40 of 40 observations and 40 of 40 actions were equal in overcooked_ai@1.0.0 by the rules jaxmarl-0.2.0";
    assert!(found.to_string().contains(told), "{found}");
    let found = linted(certificate("jaxmarl.onnx", 39));
    assert!(found.is_fine() && found.warnings.len() == 1, "{found}");
    assert!(found.to_string().contains("39 of 40 actions"), "{found}");
    for (text, told) in [
        (
            certificate("lossless.onnx", 40),
            "is the certificate of another model",
        ),
        (
            "garbage".to_owned(),
            "jaxmarl.onnx.certificate.json is no certificate",
        ),
    ] {
        let found = linted(text);
        assert_eq!(found.faults.len(), 1, "{found}");
        assert!(found.to_string().contains(told), "{found}");
    }
}

#[test]
fn rules_that_nobody_has_are_told_with_those_that_are_alike() {
    let partners =
        "  one: {policy: lossless.onnx, rules: jaxmarl-0.2.1}\n  other: {policy: jaxmarl.onnx}\n";
    let found = linted(partners, ", observation: [lossless, jaxmarl]");
    assert!(found.is_fine() && found.warnings.len() == 1, "{found}");
    assert!(
        found.to_string().contains("did you mean `jaxmarl-0.2.0`?"),
        "{found}"
    );
}

#[test]
fn a_model_of_another_observation_is_refused_with_both_shapes() {
    let other = "  one: {policy: lossless.onnx}\n  other: {policy: jaxmarl.onnx}\n";
    let named =
        "  one: {policy: lossless.onnx}\n  other: {policy: lossless.onnx, observation: jaxmarl}\n";
    for (partners, config) in [
        (other, ""),
        (named, ", observation: [lossless, jaxmarl]"),
        (other, ", rules: jaxmarl-0.2.0"),
    ] {
        let found = linted(partners, config);
        assert_eq!(found.faults.len(), 1, "{found}");
        let text = found.to_string();
        for part in [
            "[4, 5, 26]",
            "[5, 4, 26]",
            "would take each value for another one",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

#[test]
fn a_row_of_numbers_is_refused_with_the_key_that_names_it() {
    let found = linted(
        "  one: {policy: lossless.onnx}\n  other: {policy: features.onnx}\n",
        ", observation: [lossless, features]",
    );
    let text = found.to_string();
    assert!(
        text.contains(
            "if it takes `features` [96] alone, write so, such as `observation: features`"
        ),
        "{text}"
    );
}

#[test]
fn a_description_says_which_observation_a_model_takes() {
    let params = r#"{"layout": "cramped_room", "rules": "jaxmarl-0.2.0"}"#;
    let model = Path::new("tests/models/jaxmarl.onnx");
    let shown = describe_agent(model, Some(("overcooked_ai", params))).unwrap();
    let text = shown.to_string();
    assert!(
        text.contains("520 values of the observation (jaxmarl [4, 5, 26])"),
        "{text}"
    );
}
