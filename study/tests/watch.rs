//! Recordings that participants watch: the study file's keys for them, and the answers that are taken.

use protocol::control::{Answer, Draft, StageView};
use serde_json::Value;
use study::assign::UnitAssignment;
use study::{EventRefusal, Progress, ProgressEvent, ProgressStep, Study};

use crate::folder::{Folder, STUDY};

const AFTER: &str = "  - id: after\n";

const LOOK: &str = "  - id: look
    type: watch
    file: how.md
    clips: [{stage: play, from_s: 2, to_s: 9}]
    rate: {question: How well?, low: badly, high: well, every_ms: 250}
    mark: {question: What happened?, labels: [idea, {value: bad, text: A problem}], least: 1, most: 2}
";

const COMPARE: &str = "  - id: look
    type: watch
    clips: [{stage: play}, {stage: play, view: whole}]
    choose: {question: Which one?, tie: true}
";

fn load(name: &str, stage: &str) -> Result<Study, Vec<String>> {
    let folder = Folder::new(&format!("watch-{name}"));
    assert_eq!(STUDY.matches(AFTER).count(), 1);
    folder.write(
        "study.yaml",
        STUDY.replace(AFTER, &format!("{stage}{AFTER}")),
    );
    let told = |problems: Vec<study::Problem>| problems.iter().map(ToString::to_string).collect();
    study::load(&folder.path).map_err(told)
}

fn good(name: &str, stage: &str) -> (Study, Progress) {
    let study = load(name, stage).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let at = Progress::new(&study, UnitAssignment::default());
    (study, at)
}

/// The faults after a change of a stage.
fn faults(stage: &str, from: &str, to: &str) -> Vec<String> {
    assert_eq!(stage.matches(from).count(), 1, "`{from}` must stand once");
    let name: String = format!("{from}{to}")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    load(&name, &stage.replace(from, to)).expect_err("a fault")
}

fn answers(pairs: &[(&str, &str)]) -> Vec<Answer> {
    let answer = |(name, value): &(&str, &str)| Answer {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    pairs.iter().map(answer).collect()
}

/// Walks to the watch stage: earlier questions are passed over.
fn at_stage(study: &Study, at: &mut Progress) {
    let index = study.timeline.iter().position(|stage| stage.id == "look");
    let index = index.unwrap() as u16;
    let mut kept: Value = serde_json::to_value(&*at).unwrap();
    kept["at"] = index.into();
    kept["stage"] = index.into();
    *at = serde_json::from_value(kept).unwrap();
}

fn done(
    study: &Study,
    at: &Progress,
    pairs: &[(&str, &str)],
) -> Result<ProgressStep, EventRefusal> {
    let mut at = at.clone();
    let event = ProgressEvent::StageDone {
        at: at.position(),
        answers: &answers(pairs),
    };
    at.handle(study, event)
}

const RATING: &str = r#"{"first": 20, "every_ticks": 3, "values": [null, 50, 100]}"#;
const MARKS: &str = r#"[{"first": 21, "end": 30, "label": "bad", "text": "We “waited”."}]"#;

#[test]
fn a_page_gets_the_task_and_nothing_of_where_the_replay_is() {
    let (study, mut at) = good("task", LOOK);
    at_stage(&study, &mut at);
    let StageView::Watch { page, task } = at.view(&study) else {
        panic!("a replay")
    };
    let task: Value = serde_json::from_str(&task).unwrap();
    assert!(page.contains("<h1>"));
    assert_eq!(task["order"], serde_json::json!([1]));
    assert_eq!(
        (&task["rate"]["low"], &task["rate"]["every_ms"]),
        (&"badly".into(), &250.into())
    );
    assert_eq!(task["mark"]["labels"][1]["text"], "A problem");
    assert_eq!(task.get("choose"), None);
}

#[test]
fn all_that_is_asked_is_to_be_answered_and_nothing_else() {
    let (study, mut at) = good("answers", LOOK);
    at_stage(&study, &mut at);
    let done = |pairs: &[(&str, &str)]| done(&study, &at, pairs);
    assert!(matches!(
        done(&[("rating", RATING), ("marks", MARKS)]),
        Ok(ProgressStep::Enter(_))
    ));
    assert!(matches!(
        done(&[("missing", "true")]),
        Ok(ProgressStep::Enter(_))
    ));
    let missing = |name: &str| Err(EventRefusal::Missing { name: name.into() });
    assert_eq!(done(&[]), missing("rating"));
    assert_eq!(done(&[("rating", RATING)]), missing("marks"));
    for wrong in [
        [("rating", RATING), ("marks", "[]")],
        [("rating", RATING), ("marks", "{}")],
        [
            ("rating", RATING),
            (
                "marks",
                r#"[{"first": 3, "end": 2, "label": "bad", "text": "x"}]"#,
            ),
        ],
        [
            ("rating", RATING),
            (
                "marks",
                r#"[{"first": 2, "end": 3, "label": "good", "text": "x"}]"#,
            ),
        ],
        [
            ("rating", RATING),
            (
                "marks",
                r#"[{"first": 2, "end": 3, "label": "bad", "text": ""}]"#,
            ),
        ],
        [
            (
                "rating",
                r#"{"first": 0, "every_ticks": 3, "values": [101]}"#,
            ),
            ("marks", MARKS),
        ],
        [
            ("rating", r#"{"first": 0, "every_ticks": 0, "values": [1]}"#),
            ("marks", MARKS),
        ],
        [
            ("rating", r#"{"first": 0, "every_ticks": 3, "values": []}"#),
            ("marks", MARKS),
        ],
        [("rating", "nothing"), ("marks", MARKS)],
        [("rating", RATING), ("rating", RATING)],
        [("rating", RATING), ("choice", "1")],
        [("missing", "true"), ("rating", RATING)],
    ] {
        assert!(done(&wrong).is_err(), "{wrong:?}");
    }
    assert!(done(&[("missing", "false")]).is_err());
}

#[test]
fn what_is_half_done_is_kept_even_without_words() {
    let (study, mut at) = good("draft", LOOK);
    at_stage(&study, &mut at);
    let marks = r#"[{"first": 21, "end": 30, "label": "idea", "text": ""}]"#;
    let mut keep = |pairs: &[(&str, &str)]| {
        let draft = Draft {
            answers: answers(pairs),
            ..Draft::default()
        };
        let event = ProgressEvent::Drafted {
            at: at.position(),
            draft: &draft,
        };
        at.handle(&study, event)
    };
    assert_eq!(
        keep(&[("rating", RATING), ("marks", marks)]),
        Ok(ProgressStep::Keep)
    );
    assert!(keep(&[("other", "1")]).is_err());
}

#[test]
fn a_choice_is_one_of_the_clips_and_chance_turns_their_sides() {
    let (study, mut at) = good("choice", COMPARE);
    at_stage(&study, &mut at);
    let done = |choice: &str| done(&study, &at, &[("choice", choice), ("left", "2")]);
    for right in ["1", "2", "\"same\""] {
        assert!(done(right).is_ok(), "{right}");
    }
    for wrong in ["0", "3", "\"both\"", "null", "1.5"] {
        assert!(done(wrong).is_err(), "{wrong}");
    }
    let left = |seed: u64| {
        let draw = UnitAssignment {
            seed,
            ..UnitAssignment::default()
        };
        let mut at = Progress::new(&study, draw);
        at_stage(&study, &mut at);
        let StageView::Watch { task, .. } = at.view(&study) else {
            panic!("a replay")
        };
        serde_json::from_str::<Value>(&task).unwrap()["order"][0].as_u64()
    };
    let on_left = (0..200).filter(|seed| left(*seed) == Some(2)).count();
    assert!((70..130).contains(&on_left), "{on_left} of 200");
}

#[test]
fn a_stage_that_shows_nothing_or_asks_about_nothing_is_refused() {
    let told = |stage, from, to, message: &str| {
        let faults = faults(stage, from, to);
        assert!(
            faults.iter().any(|fault| fault.contains(message)),
            "{faults:#?}"
        );
    };
    told(
        LOOK,
        "stage: play",
        "stage: plya",
        "clips[0].stage: there is no env stage `plya` before this one; did you mean `play`?",
    );
    told(
        LOOK,
        "stage: play",
        "stage: play, episode: 7",
        "clips[0].episode: there is no episode 7",
    );
    told(LOOK, "to_s: 9", "to_s: 2", "`to_s` must be greater");
    told(
        LOOK,
        "least: 1, most: 2",
        "least: 3, most: 2",
        "`least` must not be above `most`",
    );
    told(LOOK, "high: well, ", "", "rate.high: missing");
    told(
        LOOK,
        "{stage: play, from_s: 2, to_s: 9}",
        "{stage: play}, {stage: play}",
        "nothing is asked about both",
    );
    told(COMPARE, "{stage: play}, ", "", "nothing to choose");
    told(
        COMPARE,
        "choose:",
        "rate: {question: a, low: b, high: c}\n    choose:",
        "a rating is about one clip",
    );
}
