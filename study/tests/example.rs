//! The study that the repository ships, and the ones that its documentation shows.

use std::path::Path;

use protocol::control::StageView;
use study::StageKind;

use crate::folder::{Folder, STUDY};

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
    let StageKind::Env(env) = &study.timeline[2].kind else {
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
    let StageKind::Survey(survey) = &study.timeline[3].kind else {
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

/// The pages about the study file: name and text.
fn pages() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/study-file");
    let entries = std::fs::read_dir(folder).expect("the pages about the study file");
    let mut pages: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("a page").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into();
            (name, std::fs::read_to_string(&path).expect("a page"))
        })
        .collect();
    pages.sort();
    pages
}

/// The blocks of a kind in a page, in order.
fn blocks<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let fence = format!("```{kind}\n");
    let parts = page.split(fence.as_str()).skip(1);
    parts
        .map(|part| part.split("```").next().unwrap_or_default())
        .collect()
}

/// The blocks of YAML in a page about the study file.
fn yaml_of(name: &str) -> Vec<String> {
    let (_, page) = (pages().into_iter())
        .find(|(known, _)| known == name)
        .unwrap_or_else(|| panic!("no page {name}"));
    let found = blocks(&page, "yaml");
    found.into_iter().map(str::to_owned).collect()
}

/// The whole study of the first page.
fn whole() -> String {
    yaml_of("first-study").swap_remove(0)
}

/// The blocks at the top of a study file: key and text.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if !line.starts_with([' ', '#']) {
            let (key, _) = line.split_once(':').expect("a key");
            sections.push((key.to_owned(), String::new()));
        }
        let (_, section) = sections.last_mut().expect("a key comes first");
        *section += line;
        section.push('\n');
    }
    sections
}

/// The whole study with these blocks instead of its own.
fn study_with(parts: &str) -> String {
    let mut all = sections(&whole());
    for (key, text) in sections(parts) {
        match all.iter_mut().find(|(known, _)| *known == key) {
            Some((_, own)) => *own = text,
            None => all.push((key, text)),
        }
    }
    all.into_iter().map(|(_, text)| text).collect()
}

/// A folder with the study and every page that it names.
fn folder_of(name: &str, study: &str) -> Folder {
    let folder = Folder::new(name);
    for word in study.split(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))) {
        if let Some(stem) = word.strip_suffix(".md") {
            folder.write(word, "# A page\n");
            folder.write(&format!("{stem}.de.md"), "# Eine Seite\n");
        }
    }
    folder.write("study.yaml", study);
    folder
}

fn load(name: &str, parts: &str) -> study::Study {
    let folder = folder_of(name, &study_with(parts));
    study::load(&folder.path).unwrap_or_else(|problems| panic!("{name}: {problems:#?}\n{parts}"))
}

#[test]
fn every_part_of_a_study_file_in_the_pages_loads_without_a_warning() {
    let mut count = 0;
    for (name, page) in pages() {
        // The one page that shows faults; another test compares them.
        let shown = blocks(&page, "yaml").into_iter();
        for (index, text) in shown.filter(|text| !text.contains("titel:")).enumerate() {
            let study = load(&format!("page-{name}-{index}"), text);
            let warnings = study.list_warnings(&study::EnvFactsByStage::new());
            assert!(warnings.is_empty(), "{name}: {warnings:?}\n{text}");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn the_documented_keys_load() {
    let study = load("documented-keys", &yaml_of("controls")[0]);
    let StageKind::Env(env) = &study.timeline[0].kind else {
        panic!("not an env stage")
    };
    assert_eq!(env.keys["pick_up_or_drop"], ["Space", "ShiftLeft+KeyE"]);
    assert_eq!(env.screen.capture, study::stage::Capture::Press);
}

#[test]
fn the_documented_study_loads() {
    let study = load("documented", "");
    assert_eq!(
        (study.title.usual_text(), study.timeline.len()),
        ("Cooking together", 5)
    );
}

#[test]
fn the_documented_screening_loads() {
    let study = load("documented-screening", &yaml_of("screening")[0]);
    let screening = study.screening().expect("it is asked for");
    assert_eq!((screening.attempts, screening.min_fps), (3, Some(30)));
}

#[test]
fn the_documented_exclusion_rules_load() {
    let yaml = &yaml_of("exclusions")[0];
    let study = load("documented-exclusions", yaml);
    let names: Vec<&str> = study.exclusions.iter().map(|rule| &*rule.name).collect();
    assert_eq!(names, ["inactive", "absent", "no-score", "inattentive"]);
    let again = study::exclusion::read_exclusions("rules.yaml", yaml);
    assert_eq!(again.as_ref(), Ok(&study.exclusions));
    // As a data folder stores them.
    let stored: serde_json::Value = serde_json::from_str(&study.canonical).expect("JSON");
    let stored = serde_json::json!({"exclusions": stored["exclusions"]}).to_string();
    assert_eq!(study::exclusion::read_exclusions("stored", &stored), again);
}

#[test]
fn the_documented_block_and_design_load() {
    let visits = |name: &str, parts: &str| load(name, parts).timeline.len();
    let (blocks, design) = (&yaml_of("blocks")[0], &yaml_of("designs")[0]);
    assert_eq!(visits("documented-pay", &yaml_of("pay")[0]), 5);
    // A stage that the program brings ends the way.
    assert_eq!(visits("documented-block", blocks), 4);
    assert_eq!(visits("documented-design", design), 2);
    let (design, _) = design.split_once("timeline:\n").expect("a timeline");
    let by_design = blocks
        .replace(
            "for_each: {layout: [cramped_room, coordination_ring]}",
            "for_each: layout",
        )
        .replace("horizon: 300", "horizon: \"{{ horizon }}\"");
    let by_design = format!("{design}{by_design}");
    assert_eq!(visits("documented-block-by-design", &by_design), 4);
}

#[test]
fn the_documented_episodes_load() {
    let study = load("documented-episodes", &yaml_of("episodes")[0]);
    let StageKind::Env(env) = &study.timeline[0].kind else {
        panic!("not an env stage")
    };
    let goes_on = |played: &[bool]| env.course.goes_on(played);
    assert_eq!((env.course.limit(), goes_on(&[true, false])), (6, true));
    assert!(!goes_on(&[true, true]));
    assert_eq!(
        env.screen.hud[0].value.source(),
        "{{ score / 20 }} of {{ goal / 20 }}"
    );
}

#[test]
fn the_documented_forms_load() {
    let names_of = |page: &str| {
        let study = load(&format!("documented-{page}"), &yaml_of(page)[0]);
        let StageKind::Survey(survey) = &study.timeline[0].kind else {
            panic!("not a survey")
        };
        let names: Vec<String> = survey.names().map(str::to_owned).collect();
        names.join(" ")
    };
    assert_eq!(
        names_of("form-conditions"),
        "played which which-Comment liked age code"
    );
    assert_eq!(names_of("forms"), "you share order each");
}

#[test]
fn the_documented_errors_are_the_ones_reported() {
    let pages = pages();
    let (_, page) = (pages.iter())
        .find(|(name, _)| name == "checking")
        .expect("the page");
    let folder = Folder::new("documented-errors");
    folder.write("study.yaml", blocks(page, "yaml")[0]);
    let problems = study::load(&folder.path).expect_err("a study with faults");
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(told, blocks(page, "text")[0].lines().collect::<Vec<_>>());
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
        let StageKind::Env(env) = &study.timeline[2].kind else {
            panic!("not an env stage")
        };
        let facts = study::EnvFacts {
            seats: 2,
            tick_hz,
            horizon: 900,
            actions: Vec::new(),
            noop: 0,
            is_old: false,
            page_facts: None,
            is_secret: false,
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
    let study = load("documented-composition", &yaml_of("matching")[0]);
    let lobby = study.lobby(1).expect("the lobby");
    assert!(lobby.matching.composition.is_some());
}
