//! Seats that people share with AI partners: the study file's keys for them, and their faults.

use protocol::rules::{SharedSeats, SharingMode};
use study::{StageKind, Study};

use crate::folder::{Folder, STUDY, opening};

const AFTER: &str = "  - id: after\n";

/// The small study, in which a person plays one more stage, with these keys.
fn load(name: &str, keys: &str) -> Result<Study, Vec<String>> {
    let folder = Folder::new(&format!("shared-{name}"));
    let stage = format!(
        "  - id: shared\n    type: env\n    env: overcooked@2.0.0\n    players: [self, {{policy: cook}}]\n    \
         config: {{layout: cramped_room}}\n{keys}"
    );
    folder.write(
        "study.yaml",
        STUDY.replace(AFTER, &format!("{stage}{AFTER}")),
    );
    let told = |problems: Vec<study::Problem>| problems.iter().map(ToString::to_string).collect();
    study::load(&folder.path).map_err(told)
}

fn wire(name: &str, keys: &str) -> SharedSeats {
    let study = load(name, keys).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let stage = study.timeline.iter().find(|stage| stage.id == "shared");
    match &stage.unwrap().kind {
        StageKind::Env(env) => env.shared_seat.as_ref().unwrap().to_wire(),
        _ => panic!("no env stage"),
    }
}

#[test]
fn a_shared_seat_is_what_the_file_says() {
    let found = wire("plain", "    shared_seat: {partner: {policy: cook}}\n");
    let expected = SharedSeats {
        policies: vec!["cook".into()],
        keys: vec!["KeyH".into()],
        mode: SharingMode::Handover,
        begins_with_partner: false,
    };
    assert_eq!(found, expected);
    let found = wire(
        "override",
        "    shared_seat: {partner: {policy: cook, noise: 0.1}, mode: override, key: KeyP}\n",
    );
    // What is imperfect enters the name once the host has checked the study.
    assert_eq!(found.policies, ["cook"]);
    assert_eq!(found.keys, ["KeyP"]);
    assert!(found.begins_with_partner);
    let found = wire(
        "choose",
        "    mode: turns\n    shared_seat: {mode: choose, proposals: [{policy: cook}, {policy: idle}]}\n",
    );
    assert_eq!(found.policies, ["cook", "idle"]);
    assert_eq!(found.keys, ["Digit1", "Digit2"]);
    assert_eq!(found.mode, SharingMode::Choose);
}

#[test]
fn what_cannot_be_shared_is_refused_at_its_place_with_the_fix() {
    let cook = "{policy: cook}";
    for (name, keys, field, fix) in [
        (
            "turns",
            format!("    mode: turns\n    shared_seat: {{partner: {cook}}}\n"),
            "timeline[3].shared_seat.mode",
            "write `mode: choose`",
        ),
        (
            "ticks",
            format!("    shared_seat: {{mode: choose, proposals: [{cook}, {cook}]}}\n"),
            "timeline[3].shared_seat.mode",
            "write `mode: turns`",
        ),
        (
            "missing",
            "    shared_seat: {mode: override}\n".into(),
            "timeline[3].shared_seat",
            "partner: {policy: cook}",
        ),
        (
            "both",
            format!("    shared_seat: {{partner: {cook}, proposals: [{cook}, {cook}]}}\n"),
            "timeline[3].shared_seat.proposals",
            "mode: choose",
        ),
        (
            "lonely",
            format!("    mode: turns\n    shared_seat: {{mode: choose, partner: {cook}}}\n"),
            "timeline[3].shared_seat.partner",
            "proposals: [a, b]",
        ),
        (
            "one",
            format!("    mode: turns\n    shared_seat: {{mode: choose, proposals: [{cook}]}}\n"),
            "timeline[3].shared_seat.proposals",
            "2",
        ),
        (
            "chord",
            format!("    shared_seat: {{partner: {cook}, key: ShiftLeft+KeyH}}\n"),
            "timeline[3].shared_seat.key",
            "take a single key",
        ),
        (
            "taken",
            format!("    keys: {{move_up: [KeyH]}}\n    shared_seat: {{partner: {cook}}}\n"),
            "timeline[3].shared_seat",
            "`KeyH` is also a key of `move_up`",
        ),
        (
            "host",
            format!("    run: host\n    shared_seat: {{partner: {cook}}}\n"),
            "timeline[3].shared_seat",
            "write `run: page`",
        ),
    ] {
        let problems = load(name, &keys).expect_err(name);
        let problem = problems.join("\n");
        assert!(problem.contains("study.yaml:"), "{name}: {problem}");
        assert!(
            problem.contains(&format!(": {field}: ")),
            "{name}: {problem}"
        );
        assert!(problem.contains(fix), "{name}: {problem}");
    }
}

#[test]
fn a_policy_that_the_host_has_not_is_refused_at_its_line() {
    let folder = Folder::new("shared-policy");
    let stage = "  - id: shared\n    type: env\n    env: overcooked@2.0.0\n    players: [self, {policy: cook}]\n    \
                 config: {layout: cramped_room}\n    shared_seat:\n      partner: {policy: chef}\n";
    folder.write(
        "study.yaml",
        STUDY.replace(AFTER, &format!("{stage}{AFTER}")),
    );
    let problems = folder.check(&opening(&|_| {
        Err(study::EnvFault::Unknown { known: Vec::new() })
    }));
    let problems = problems.expect_err("an unknown policy").join("\n");
    assert!(
        problems.contains("timeline[3].shared_seat.partner.policy: unknown policy `chef`"),
        "{problems}"
    );
}
