//! The study that the repository ships.

use std::path::Path;

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
        ("overcooked", "1.0.0")
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
