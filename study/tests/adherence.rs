//! Measures of the agreement of people with a policy, and the reports about measures that cannot be taken.

use study::Study;
use study::adherence::AdherenceMeasure;

use crate::folder::{Folder, STUDY};

fn read(name: &str, lines: &str) -> Result<Study, Vec<String>> {
    let folder = Folder::new(name);
    folder.write("study.yaml", format!("{STUDY}{lines}"));
    let told = |problems: Vec<study::Problem>| problems.iter().map(ToString::to_string).collect();
    study::load(&folder.path).map_err(told)
}

/// The one fault of a study with these lines.
fn fault(name: &str, lines: &str) -> String {
    let mut faults = read(name, lines).expect_err("a fault");
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults.remove(0)
}

#[test]
fn a_measure_names_a_stage_and_a_script_a_partner_or_a_model() {
    let lines = "partners:
  slow: {policy: cook, delay_ticks: 5, noise: 0.1, disclose: false}
adherence:
  - {name: greedy, stage: play, policy: cook}
  - {name: as_slow, stage: play, policy: slow}
exclusions:
  - {name: random, when: adherence.greedy.equal_share < 0.2, reason: played at random}
";
    let study = read("adherence", lines).unwrap();
    let policies: Vec<&str> = study
        .adherence
        .iter()
        .map(|measure| measure.policy.policy.as_str())
        .collect();
    assert_eq!(policies, ["cook", "cook"]);
    let slow = &study.adherence[1].policy;
    assert_eq!((slow.delay_ticks, slow.noise_permille), (0, 0));
    assert!(study.canonical.contains("\"adherence\""));
    let logged = [study.adherence[0].to_log(), ("tone".into(), "warm".into())];
    let found: Vec<_> = AdherenceMeasure::list_logged(&logged).collect();
    assert_eq!(found, [("greedy", "cook")]);
    assert!(read("without", "").unwrap().adherence.is_empty());
}

#[test]
fn a_measure_that_cannot_be_taken_is_told() {
    let of = |name: &str, stage: &str, policy: &str| {
        format!("adherence: [{{name: {name}, stage: {stage}, policy: {policy}}}]\n")
    };
    for (lines, part) in [
        (of("greedy", "plai", "cook"), "there is no env stage `plai`; did you mean `play`?"),
        (of("greedy", "after", "cook"), "there is no env stage `after`"),
        (of("no-strategy", "play", "cook"), "`no-strategy` cannot be named in a formula"),
        (of("greedy", "play", "environment"), "only there while it plays"),
        (of("greedy", "play", "agent.onnx"), "agent.onnx"),
        (
            format!("partners: {{human: {{policy: person}}}}\n{}", of("greedy", "play", "human")),
            "no single policy",
        ),
        (
            "adherence:\n  - {name: a, stage: play, policy: cook}\n  - {name: a, stage: play, policy: idle}\n"
                .to_owned(),
            "`a` is there twice",
        ),
    ] {
        let told = fault("faulty", &lines);
        assert!(told.contains(part), "{lines}{told}");
    }
}

#[test]
fn a_rule_about_a_measure_that_there_is_not_is_told() {
    let lines = "adherence: [{name: greedy, stage: play, policy: cook}]
exclusions:
  - {name: r, when: adherence.gready.equal_share < 0.2, reason: why}
";
    let told = fault("unknown-measure", lines);
    assert!(told.contains("gready") && told.contains("greedy"), "{told}");
}
