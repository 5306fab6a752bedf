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
    assert_eq!(survey.names().count(), 2);
    let StageView::Instructions { pages, .. } = study.timeline[0].view("en") else {
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

/// The block of YAML in the documentation that has this in it.
fn yaml_with(words: &str) -> &'static str {
    let found = blocks("yaml").into_iter().find(|text| text.contains(words));
    found.unwrap_or_else(|| panic!("no example with {words}"))
}

#[test]
fn the_documented_keys_load() {
    let whole = blocks("yaml")[0];
    let (head, rest) = whole.split_once("    keys:\n").expect("keys");
    let (_, tail) = rest.split_once("    on_disconnect:").expect("what follows");
    let folder = Folder::new("documented-keys");
    let keys = yaml_with("capture: press");
    folder.write(
        "study.yaml",
        format!("{head}{keys}    on_disconnect:{tail}"),
    );
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let Kind::Env(env) = &study.timeline[2].kind else {
        panic!("not an env stage")
    };
    assert_eq!(env.keys["pick_up_or_drop"], ["Space", "ShiftLeft+KeyE"]);
    assert_eq!(env.screen.capture, study::stage::Capture::Press);
}

#[test]
fn the_documented_study_loads() {
    let folder = Folder::new("documented");
    folder.write("study.yaml", blocks("yaml")[0]);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    assert_eq!(
        (study.title.usual(), study.timeline.len()),
        ("Cooking together", 5)
    );
}

#[test]
fn the_documented_screening_loads() {
    let folder = Folder::new("documented-screening");
    let text = format!("{}\n{}", blocks("yaml")[0], yaml_with("min_fps: 30"));
    folder.write("study.yaml", &text);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let screening = study.screening().expect("it is asked for");
    assert_eq!((screening.attempts, screening.min_fps), (3, Some(30)));
}

#[test]
fn the_documented_block_and_design_load() {
    let whole = blocks("yaml")[0];
    let (block, design) = (yaml_with("- id: rounds"), yaml_with("unit: participant"));
    let recruitment = yaml_with("currency: GBP");
    let (head, _) = whole.split_once("timeline:\n").expect("a timeline");
    let folder = Folder::new("documented-block");
    let visits = |text: String| {
        folder.write("study.yaml", &text);
        let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
        study.timeline.len()
    };
    assert_eq!(visits(format!("{whole}\n{recruitment}")), 5);
    // A stage that the program brings ends the way.
    assert_eq!(visits(format!("{head}timeline:\n{block}")), 3);
    let by_design = block
        .replace(
            "for_each: {layout: [cramped_room, coordination_ring]}",
            "for_each: layout",
        )
        .replace("horizon: 300", "horizon: \"{{ horizon }}\"");
    assert_eq!(visits(format!("{head}{design}timeline:\n{by_design}")), 3);
}

#[test]
fn the_documented_episodes_load() {
    let whole = blocks("yaml")[0];
    let (head, _) = whole.split_once("timeline:\n").expect("a timeline");
    let folder = Folder::new("documented-episodes");
    folder.write("rest.md", "# A rest\n");
    let text = format!("{head}timeline:\n{}", yaml_with("- id: train"));
    folder.write("study.yaml", &text);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let Kind::Env(env) = &study.timeline[0].kind else {
        panic!("not an env stage")
    };
    assert_eq!((env.course.limit(), env.course.goes_on(2, 1)), (6, true));
    assert!(!env.course.goes_on(2, 2));
    assert_eq!(
        env.screen.hud[0].value.source(),
        "{{ score / 20 }} of {{ goal / 20 }}"
    );
}

#[test]
fn the_documented_forms_load() {
    let whole = blocks("yaml")[0];
    let (head, _) = whole.split_once("timeline:\n").expect("a timeline");
    let names_of = |id: &str| {
        let folder = Folder::new(&format!("documented-form-{id}"));
        let stage = yaml_with(&format!("- id: {id}\n    type: survey"));
        folder.write("study.yaml", format!("{head}timeline:\n{stage}"));
        let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
        assert!(study.warnings(&study::EnvFactsByStage::new()).is_empty());
        let Kind::Survey(survey) = &study.timeline[0].kind else {
            panic!("not a survey")
        };
        let names: Vec<String> = survey.names().map(str::to_owned).collect();
        names.join(" ")
    };
    assert_eq!(
        names_of("about"),
        "played which which-Comment liked age code"
    );
    assert_eq!(names_of("tools"), "you share order each");
}

#[test]
fn the_documented_errors_are_the_ones_reported() {
    let folder = Folder::new("documented-errors");
    folder.write("study.yaml", yaml_with("titel:"));
    let problems = study::load(&folder.path).expect_err("a study with faults");
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(told, blocks("text")[0].lines().collect::<Vec<_>>());
}

#[test]
fn defaults_are_as_documented() {
    let folder = Folder::new("defaults");
    let spelt = [
        "    input_delay: {min: 0, max: 3}\n",
        "    on_disconnect: {grace_s: 15, meanwhile: stand, then: partner_left}\n",
        "    hidden_tab: {warn_s: 3, drop_s: 20}\n",
        "    outcome: completed\n",
        "  language: en\n",
        "net: {ice: all, fallback: websocket}\n",
    ];
    let grace = "    on_disconnect: {grace_s: 15}\n";
    assert!(STUDY.contains(grace), "{grace}");
    let long = STUDY
        .replace(grace, &spelt[1..3].concat())
        .replace("timeline:\n", &format!("{}timeline:\n", spelt[5]));
    let mut short = long.clone();
    for line in spelt {
        assert!(short.contains(line), "{line}");
        short = short.replace(line, "");
    }
    let hash = |text: &str| {
        folder.write("study.yaml", text);
        study::load(&folder.path).expect("a good study").hash
    };
    assert_eq!(hash(&short), hash(&long));
    assert_eq!(hash(&long), hash(STUDY));
}

#[test]
fn the_window_follows_from_the_tick_rate_unless_the_study_says_it() {
    let folder = Folder::new("window");
    let window = |text: &str, tick_hz: u16| {
        folder.write("study.yaml", text);
        let study = study::load(&folder.path).expect("a good study");
        let Kind::Env(env) = &study.timeline[2].kind else {
            panic!("not an env stage")
        };
        let facts = study::EnvFacts {
            seats: 2,
            tick_hz,
            horizon: 900,
            actions: Vec::new(),
        };
        env.window(&facts)
    };
    let usual = STUDY.replace("    window: 8\n", "");
    let rates = [1, 10, 30, 31, 45, 60, 240];
    assert_eq!(rates.map(|hz| window(&usual, hz)), [8, 8, 8, 9, 12, 16, 16]);
    let longest = STUDY.replace("window: 8", "window: 37");
    assert_eq!(rates.map(|hz| window(&longest, hz)), [37; 7]);
}

#[test]
fn the_composition_of_the_page_is_a_formula_that_a_lobby_takes() {
    let rules: String = yaml_with("composition:")
        .lines()
        .map(|line| format!("    {line}\n"))
        .collect();
    let text = format!(
        "format: 1
study: {{id: pairs, version: 1.0.0, title: Pairs, contact: lab@example.edu}}
timeline:
  - {{id: intake, type: survey, surveyjs: {{elements: [{{type: text, name: role}}]}}}}
  - id: lobby
    type: lobby
    group_size: 2
    timeout_s: 60
    on_timeout: wait
{rules}  - {{id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}}
"
    );
    let folder = Folder::new("example-composition");
    folder.write("study.yaml", &text);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let lobby = study.lobby(1).expect("the lobby");
    assert!(lobby.matching.composition.is_some());
}
