//! The study that the repository ships, and the ones that its documentation shows.

mod folder;

use std::path::Path;

use folder::{Folder, STUDY};
use protocol::control::StageView;
use study::Kind;

#[test]
fn the_example_loads() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
    let study = study::load(&dir).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let ids: Vec<&str> = study
        .timeline
        .iter()
        .map(|stage| stage.id.as_str())
        .collect();
    assert_eq!(ids, ["how", "lobby", "play", "after", "thanks"]);
    let Kind::Env(env) = &study.timeline[2].kind else {
        panic!("not an env stage")
    };
    assert_eq!(
        (env.env.as_str(), env.version.as_str()),
        ("overcooked", "2.0.0")
    );
    assert_eq!(
        (&env.config["layout"], &env.config["horizon"]),
        (&"cramped_room".into(), &900.into())
    );
    let Kind::Survey(survey) = &study.timeline[3].kind else {
        panic!("not a survey")
    };
    assert_eq!(survey.items.len(), 2);
    let StageView::Instructions { pages } = study.timeline[0].view() else {
        panic!("not instructions")
    };
    assert!(
        pages[0].starts_with("<h1>Cook with a partner</h1>") && pages[0].contains("<table>"),
        "{}",
        pages[0]
    );
}

/// The blocks of a kind in the documentation, in order.
fn blocks(kind: &str) -> Vec<&'static str> {
    let fence = format!("```{kind}\n");
    let parts = include_str!("../../docs/study-file.md")
        .split(fence.as_str())
        .skip(1);
    parts
        .map(|part| part.split("```").next().unwrap_or_default())
        .collect()
}

#[test]
fn the_documented_study_loads() {
    let folder = Folder::new("documented");
    folder.write("study.yaml", blocks("yaml")[0]);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    assert_eq!(
        (study.title.as_str(), study.timeline.len()),
        ("Cooking together", 5)
    );
}

#[test]
fn the_documented_errors_are_the_ones_reported() {
    let folder = Folder::new("documented-errors");
    folder.write("study.yaml", blocks("yaml")[1]);
    let problems = study::load(&folder.path).expect_err("a study with faults");
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(told, blocks("text")[0].lines().collect::<Vec<_>>());
}

#[test]
fn defaults_are_as_documented() {
    let folder = Folder::new("defaults");
    let mut text = STUDY.to_owned();
    let spelt = [
        "    window: 8\n",
        "    input_delay: {min: 0, max: 3}\n",
        "    on_disconnect: {grace_s: 15}\n",
        "    outcome: completed\n",
        "  language: en\n",
    ];
    for line in spelt {
        assert!(text.contains(line), "{line}");
        text = text.replace(line, "");
    }
    folder.write("study.yaml", &text);
    let short = study::load(&folder.path).expect("a good study");
    folder.write("study.yaml", STUDY);
    assert_eq!(
        short.hash,
        study::load(&folder.path).expect("a good study").hash
    );
}
