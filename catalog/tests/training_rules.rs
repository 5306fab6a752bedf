//! Partners that play other rules than those that they were trained on.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

use catalog::lint::lint_study;

/// The warnings of a study with these rules of training, and these parameters of its stage.
fn warnings(rules: &str, env: &str, config: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let study = format!(
        "format: 1
study: {{id: small, version: 1.0.0, title: Small, contact: lab@example.edu}}
partners:
  fcp: {{policy: random, rules: {rules}}}
timeline:
  - {{id: play, type: env, env: {env}, players: [self, fcp], config: {config}}}
  - {{id: thanks, type: end, file: thanks.md}}
"
    );
    std::fs::write(dir.path().join("study.yaml"), study).unwrap();
    std::fs::write(dir.path().join("thanks.md"), "# Thanks\n").unwrap();
    let linted = lint_study(dir.path());
    assert!(linted.is_fine(), "{linted}");
    linted.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_partner_that_plays_other_rules_than_it_was_trained_on_is_reported_with_both() {
    let kitchens = "overcooked_ai@1.0.0";
    let found = warnings(
        "jaxmarl-0.2.0",
        kitchens,
        "{layout: cramped_room, horizon: 40}",
    );
    assert_eq!(found.len(), 1, "{found:?}");
    for part in [
        "partners.fcp.rules",
        "trained on the rules `jaxmarl-0.2.0`",
        "plays `overcooked-ai-1.1.0` in `play`",
    ] {
        assert!(found[0].contains(part), "{part} in {}", found[0]);
    }
    let other = warnings(
        "jaxmarl-0.2.0",
        "overcooked@2.0.0",
        "{layout: cramped_room}",
    );
    assert!(other[0].contains("plays `corrected`"), "{other:?}");
}

#[test]
fn a_partner_that_plays_the_rules_that_it_was_trained_on_is_not_reported() {
    let own = "{layout: cramped_room, horizon: 40, rules: jaxmarl-0.2.0}";
    for (rules, env, config) in [
        ("jaxmarl-0.2.0", "overcooked_ai@1.0.0", own),
        ("overcooked-ai-1.1.0", "overcooked_ai@1.0.0", "{}"),
        ("corrected", "overcooked@2.0.0", "{}"),
        ("dual_destination", "dual_destination@1.0.0", "{}"),
        ("dual_destination@1.0.0", "dual_destination@1.0.0", "{}"),
    ] {
        let found = warnings(rules, env, config);
        assert!(found.is_empty(), "{rules} in {env}: {found:?}");
    }
}
