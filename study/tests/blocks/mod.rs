//! The walk of blocks: copies, order, choice, names; and the reports about a tree that cannot be walked.

mod arms;
mod groups;
mod walks;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use study::assign::{self, Assignment, Counts, UnitAssignment};
use study::design::Unit;
use study::{Company, EnvFacts, EnvFault, Progress, Study};

use crate::folder::{Folder, opening};

const HEAD: &str = "format: 1
study: {id: blocks, version: 1.0.0, title: Blocks, contact: lab@example.edu}
";

const END: &str = "  - {id: thanks, type: end, file: thanks.md}\n";

/// A page to read, as a node.
fn page(id: &str) -> String {
    format!("{{id: {id}, type: instructions, pages: [how.md]}}")
}

/// A timeline of these lines.
fn file(design: &str, timeline: &str) -> String {
    let a_to_d = ["a", "b", "c", "d"].map(|id| (format!("<{id}>"), page(id)));
    let text = format!("{HEAD}{design}timeline:\n{timeline}{END}");
    a_to_d
        .iter()
        .fold(text, |text, (short, long)| text.replace(short, long))
}

fn write(name: &str, design: &str, timeline: &str) -> Folder {
    let folder = Folder::new(&format!("blocks-{name}"));
    folder.write("study.yaml", file(design, timeline));
    folder
}

fn good(name: &str, design: &str, timeline: &str) -> Study {
    let folder = write(name, design, timeline);
    study::load(&folder.path)
        .unwrap_or_else(|problems| panic!("{problems:#?}\n{}", file(design, timeline)))
}

/// Every fault of a study, without its file.
fn faults(name: &str, design: &str, timeline: &str) -> Vec<String> {
    let folder = write(name, design, timeline);
    let problems = study::load(&folder.path).expect_err("a fault");
    let told = problems.iter().map(ToString::to_string);
    told.map(|text| text.trim_start_matches("study.yaml:").to_owned())
        .collect()
}

fn drawn(study: &Study, number: u64) -> Assignment {
    let draw = |unit| {
        assign::assign(&study.design, unit, 11, number, &Counts::default()).expect("no quota")
    };
    Assignment {
        own: draw(Unit::Participant),
        groups: BTreeMap::new(),
    }
}

/// The ids of a route, one after the other, without the end.
fn walk(study: &Study, assignment: &Assignment) -> String {
    let route = study::timeline::make_route(study, assignment);
    let ids = route
        .iter()
        .map(|visit| study.timeline[usize::from(visit.stage)].id.as_str());
    let ids: Vec<&str> = ids.collect();
    let (last, ids) = ids.split_last().expect("an end");
    assert!(["thanks", "_end"].contains(last));
    ids.concat()
}

/// The routes of many participants, and how many have each.
fn walks(study: &Study, participants: u64) -> BTreeMap<String, u32> {
    (0..participants).fold(BTreeMap::new(), |mut all, number| {
        *all.entry(walk(study, &drawn(study, number))).or_default() += 1;
        all
    })
}

fn even(of: &BTreeMap<String, u32>, cells: usize, most: f64) {
    let all: u32 = of.values().sum();
    let expected = f64::from(all) / cells as f64;
    let off = |count: &u32| f64::from(*count) - expected;
    let cell = |count: &u32| off(count) * off(count) / expected;
    let found: f64 = of.values().map(cell).sum();
    assert_eq!(of.len(), cells, "{of:?}");
    assert!(found < most, "chi-squared {found}: {of:?}");
}

/// MUG: `RandomizeOrder([Repeat(a,3),Repeat(b,3)])` played a and b once each.
#[test]
fn a_shuffle_of_repeats_plays_each_three_times_and_whole() {
    let study = good(
        "shuffle-of-repeats",
        "",
        "  - shuffle: true
    block:
      - {repeat: 3, block: [<a>]}
      - {repeat: 3, block: [<b>]}
",
    );
    even(&walks(&study, 400), 2, 10.83);
    assert_eq!(
        walks(&study, 400).into_keys().collect::<Vec<_>>(),
        ["aaabbb", "bbbaaa"]
    );
}

/// MUG: `Repeat([RandomizeOrder(keep_n=1)],2)` played all three scenes twice.
#[test]
fn a_repeat_of_a_choice_of_one_of_three_plays_two() {
    let study = good(
        "repeat-of-choice",
        "",
        "  - {repeat: 2, choose: 1, block: [<a>, <b>, <c>]}\n",
    );
    // Drawn again in each copy: nine pairs; 8 degrees of freedom, once in a thousand: 26.12.
    even(&walks(&study, 900), 9, 26.12);
    let nested = good(
        "repeat-of-choice-nested",
        "",
        "  - repeat: 2\n    block:\n      - {choose: 1, block: [<a>, <b>, <c>]}\n",
    );
    even(&walks(&nested, 900), 9, 26.12);
}

#[test]
fn a_choice_keeps_the_order_of_the_file_unless_it_is_shuffled() {
    let chosen = good("chosen", "", "  - {choose: 2, block: [<a>, <b>, <c>]}\n");
    even(&walks(&chosen, 600), 3, 13.82);
    let keys: Vec<String> = walks(&chosen, 600).into_keys().collect();
    assert_eq!(keys, ["ab", "ac", "bc"]);
    let shuffled = good(
        "chosen-shuffled",
        "",
        "  - {choose: 2, shuffle: true, block: [<a>, <b>, <c>]}\n",
    );
    even(&walks(&shuffled, 600), 6, 20.52);
}

#[test]
fn a_thousand_shuffles_are_uniform_and_what_is_fixed_stays() {
    let study = good(
        "uniform",
        "",
        "  - <a>\n  - {shuffle: true, block: [<b>, <c>, <d>]}\n",
    );
    let found = walks(&study, 1_000);
    even(&found, 6, 20.52);
    assert!(found.keys().all(|walk| walk.starts_with('a')));
}

#[test]
fn copies_are_made_for_each_value_and_then_repeated() {
    let study = good(
        "copies",
        "",
        "  - {for_each: {size: [small, 2]}, repeat: 2, block: [<a>, <b>]}\n",
    );
    let assignment = drawn(&study, 0);
    assert_eq!(walk(&study, &assignment), "abababab");
    let route = study::timeline::make_route(&study, &assignment);
    let sizes: Vec<&str> = (route.iter())
        .filter_map(|visit| visit.bindings.get("size"))
        .map(|level| level.name.as_str())
        .collect();
    assert_eq!(
        sizes,
        ["small", "small", "small", "small", "2", "2", "2", "2"]
    );
}

#[test]
fn a_stage_can_be_repeated_by_itself_and_be_followed_each_time() {
    let study = good(
        "after-each",
        "",
        "  - {id: p, type: env, env: overcooked@2.0.0, repeat: 3, after_each: <a>}\n",
    );
    assert_eq!(walk(&study, &drawn(&study, 0)), "papapa");
    let ids: Vec<&str> = study
        .timeline
        .iter()
        .map(|stage| stage.id.as_str())
        .collect();
    assert_eq!(
        ids,
        ["p", "a", "thanks"],
        "stages are there once, in the order of the file"
    );
}

#[test]
fn a_timeline_without_an_end_gets_the_usual_one() {
    let folder = Folder::new("blocks-usual-end");
    folder.write("study.yaml", file("", "  - <a>\n").replace(END, ""));
    let study = study::load(&folder.path).expect("a good study");
    let last = study.timeline.last().expect("an end");
    assert_eq!(last.id, "_end");
    let mut at = Progress::new(&study, UnitAssignment::default());
    let done = study::ProgressEvent::StageDone {
        at: 0,
        answers: &[],
    };
    assert_eq!(at.handle(&study, done), Ok(study::ProgressStep::Enter(1)));
    assert_eq!(at.outcome(&study), Some(study::Outcome::Completed));
}

const LAYOUTS: &str = "design:
  unit: participant
  between:
    speed: {levels: [{name: slow, hz: 5}, {name: fast, hz: 10}]}
  within:
    layout: {levels: [ring, room, hall], order: random}
";

const PLAYED: &str = "  - id: play
    type: env
    env: overcooked@2.0.0
    for_each: layout
    config: {layout: '{{ layout }}', tick_hz: '{{ speed.hz }}', label: 'a {{ speed }} {{layout}}'}
";

#[test]
fn names_stand_for_the_levels_that_were_drawn() {
    let study = good("names", LAYOUTS, PLAYED);
    let assignment = drawn(&study, 4);
    let study::StageKind::Env(env) = &study.timeline[0].kind else {
        panic!("not an env stage")
    };
    let speed = &assignment.own.levels["speed"];
    let hz = if speed == "slow" { 5 } else { 10 };
    for (visit, layout) in study::timeline::make_route(&study, &assignment)
        .iter()
        .zip(&assignment.own.orders["layout"])
    {
        let wanted = serde_json::json!({"layout": layout, "tick_hz": hz, "label": format!("a {speed} {layout}")});
        assert_eq!(env.params(&visit.bindings), wanted);
    }
}

#[test]
fn every_combination_of_levels_is_checked_against_the_environment() {
    let folder = write("combinations", LAYOUTS, PLAYED);
    let seen = RefCell::new(BTreeSet::new());
    let facts = |hz: u16| EnvFacts {
        seats: 1,
        tick_hz: hz,
        horizon: 900,
        actions: Vec::new(),
        noop: 0,
        is_old: false,
        page_facts: None,
        is_secret: false,
    };
    let open_all = |env: &study::stage::Env| {
        seen.borrow_mut().insert(env.config.to_string());
        Ok(facts(
            env.config["tick_hz"].as_u64().expect("a number") as u16
        ))
    };
    let all = folder.check(&opening(&open_all));
    let all = all.expect("good environments");
    assert_eq!((seen.borrow().len(), all.len()), (6, 6));
    assert!(all.iter().all(|((stage, params), facts)| *stage == 0
        && params.contains(&format!("\"tick_hz\":{}", facts.tick_hz))));
    let told = folder.check(&opening(&|env| match &env.config["layout"] {
        layout if layout == "hall" => Err(EnvFault::Config {
            field: "layout".into(),
            reason: "no such kitchen".into(),
        }),
        _ => Ok(facts(5)),
    }));
    let told = told.expect_err("a fault");
    assert_eq!(
        told,
        [
            "study.yaml:8:35: design.within.layout.levels[2]: no such kitchen; it is `config.layout` of `play`"
        ]
    );
    let told = |refuses: &dyn Fn(&study::stage::Env) -> bool| {
        let fault = EnvFault::Config {
            field: "label".into(),
            reason: "no such label".into(),
        };
        let open = |env: &study::stage::Env| {
            if refuses(env) {
                Err(fault.clone())
            } else {
                Ok(facts(5))
            }
        };
        folder.check(&opening(&open)).expect_err("a fault")
    };
    assert_eq!(
        told(&|_| true),
        ["study.yaml:14:65: timeline[0].config.label: no such label"],
        "what is wrong whatever the names stand for is told once"
    );
    assert_eq!(
        told(&|env| env.config["label"] == "a slow hall"),
        [
            "study.yaml:14:65: timeline[0].config.label: no such label (where `layout` is `hall` and `speed` is `slow`)"
        ]
    );
}

const DYAD: &str = "  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: wait}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}
";

/// The lines one block deeper.
fn inside(lines: &str) -> String {
    lines.lines().map(|line| format!("    {line}\n")).collect()
}

#[test]
fn blocks_that_cannot_be_walked_are_told_at_their_place() {
    let one = |name: &str, timeline: &str| {
        let mut found = faults(name, "", timeline);
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    };
    assert_eq!(
        one("choose", "  - {choose: 4, block: [<a>, <b>]}\n"),
        "4:14: timeline[0].choose: 4 of 2 cannot be chosen; write a number from 1 to 2, or add stages to the block"
    );
    assert_eq!(
        one("repeat", "  - {repeat: 0, block: [<a>]}\n"),
        "4:14: timeline[0].repeat: expected a whole number from 1 to 2000 times, found `0`"
    );
    assert_eq!(
        one("empty", "  - {id: none, block: []}\n"),
        "4:23: timeline[0].block: 0 stages; there must be 1 to 200"
    );
    assert_eq!(
        one("twice", "  - {id: a, block: [<a>]}\n"),
        "4:22: timeline[0].block[0].id: `a` is already the id of the block on line 4; ids name stages in the data, so give each its own"
    );
    assert_eq!(
        one("unknown-key", "  - {shufle: true, block: [<a>]}\n"),
        "4:6: timeline[0].shufle: unknown key; did you mean `shuffle`? Known here: id, block, for_each, repeat, when, shuffle, choose"
    );
    assert_eq!(
        one(
            "long",
            "  - {repeat: 50, block: [{repeat: 41, block: [<a>]}]}\n"
        ),
        "4:6: timeline[0].repeat: the copies of this make up to 2050 visits of stages; the limit of a way is 2000, so make fewer"
    );
    let deep = (0..9).fold("<a>".to_owned(), |inner, _| format!("{{block: [{inner}]}}"));
    assert!(
        one("deep", &format!("  - {deep}\n"))
            .ends_with("a block inside 8 others; write the study with fewer blocks in each other")
    );
}

#[test]
fn names_and_factors_that_do_not_fit_are_told_at_their_place() {
    let one = |name: &str, design: &str, timeline: &str| {
        let mut found = faults(name, design, timeline);
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    };
    let design = "design:\n  within:\n    layout: {levels: [ring, room]}\n";
    let used = "  - {for_each: layout, block: [<a>]}\n";
    assert_eq!(
        one(
            "factor",
            design,
            &format!("{used}  - {{for_each: layuot, block: [<b>]}}\n")
        ),
        "8:6: timeline[1].for_each: unknown factor `layuot`; did you mean `layout`? Known here: layout; \
         name a factor of `design.within`, or write the values: `{layuot: [a, b]}`"
    );
    assert_eq!(
        one("unused", design, "  - <a>\n"),
        "5:5: design.within.layout: never used; write `for_each: layout` at a block or stage, or remove the factor"
    );
    assert_eq!(
        one(
            "unused-between",
            "design:\n  between:\n    speed: {levels: [slow, fast]}\n",
            "  - <a>\n"
        ),
        "5:5: design.between.speed: never used; write `{{ speed }}` in the config of an env stage, or `speed` in a formula, or remove the factor"
    );
    let play = |config: &str| {
        format!(
            "{used}  - {{id: play, type: env, env: overcooked@2.0.0, config: {{layout: '{config}'}}}}\n"
        )
    };
    assert_eq!(
        one("unbound", design, &play("{{ layout }}")),
        "8:59: timeline[1].config.layout: `layout` stands for nothing here; write `for_each: layout` at this stage or at a block around it"
    );
    assert_eq!(
        one("misspelt", design, &play("{{ kitchen }}")),
        "8:59: timeline[1].config.layout: `kitchen` stands for nothing here, and no other name does; write `for_each: {kitchen: [a, b]}` at this stage or at a block around it"
    );
    assert_eq!(
        one("malformed", design, &play("{{ layout")),
        "8:59: timeline[1].config.layout: `{{` begins a name that cannot be read; write `{{ name }}` or `{{ name.parameter }}`"
    );
    assert_eq!(
        one(
            "parameter",
            design,
            "  - {id: play, type: env, env: overcooked@2.0.0, for_each: layout, config: {layout: '{{ layout.size }}'}}\n"
        ),
        "7:77: timeline[0].config.layout: the level `ring` of `layout` has no parameter `size`; give every level one"
    );
    let group = design.replace("design:", "design:\n  unit: group");
    assert_eq!(
        one("before-lobby", &group, used),
        "8:6: timeline[0].for_each: `layout` is drawn for a group (`unit: group`), and there is none yet, as no lobby comes \
         before this place; put a lobby before it, or write `unit: participant` in the design"
    );
    assert_eq!(
        one(
            "shadow",
            design,
            "  - {for_each: layout, block: [{for_each: {layout: [1, 2]}, block: [<a>]}]}\n"
        ),
        "7:33: timeline[0].block[0].for_each: `layout` already stands for a value of a block around this one; \
         give one of them another name"
    );
}

#[test]
fn a_guard_is_asked_when_its_copy_is_reached() {
    use protocol::control::{Answer, EndReason};
    use study::{Episode, ProgressEvent, ProgressStep};
    let study = good(
        "guards",
        "design:\n  between:\n    help: {levels: [true, false]}\n",
        "  - {id: ask, type: survey, surveyjs: {elements: [{type: boolean, name: more}]}}
  - {repeat: 4, when: 'sum(play.episodes.map(e, e.score)) < 5', block: [{id: play, type: env, env: overcooked@2.0.0}, <a>]}
  - {id: tips, type: instructions, pages: [how.md], when: help}
  - {when: answers.ask.more, block: [<b>, <c>]}
",
    );
    let walked = |help: &str, answers: &[Answer]| {
        let own = UnitAssignment {
            levels: [("help".to_owned(), help.to_owned())].into(),
            ..UnitAssignment::default()
        };
        let mut at = Progress::new(&study, own);
        let mut ids = Vec::new();
        let played = Episode {
            score: 3,
            ticks: 9,
            ..Episode::unplayed_facts(EndReason::Played)
        };
        while at.outcome(&study).is_none() {
            let stage = at.stage(&study);
            ids.push(stage.id.clone());
            let here = at.position();
            let event = match stage.id.as_str() {
                "ask" => ProgressEvent::StageDone { at: here, answers },
                "play" => ProgressEvent::EpisodeEnded(&played),
                _ => ProgressEvent::StageDone {
                    at: here,
                    answers: &[],
                },
            };
            assert!(matches!(
                at.handle(&study, event),
                Ok(ProgressStep::Enter(_))
            ));
        }
        ids.join(" ")
    };
    let more = |value: &str| {
        [Answer {
            name: "more".into(),
            value: value.into(),
        }]
    };
    // Two episodes reach the criterion: the rest of the copies is passed over, each as a whole.
    assert_eq!(walked("true", &more("true")), "ask play a play a tips b c");
    assert_eq!(walked("false", &more("false")), "ask play a play a");
    // What was not answered is not there to be asked.
    assert_eq!(walked("false", &[]), "ask play a play a");
    let found = faults(
        "guard-type",
        "",
        "  - {repeat: 2, when: size(ply.episodes) < 2, block: [<a>]}\n",
    );
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].starts_with("4:") && found[0].contains("timeline[0].when"),
        "{}",
        found[0]
    );
}
