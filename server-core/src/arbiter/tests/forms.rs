//! Forms with a time limit: the time runs on while no page shows them, and answers that are not complete count only
//! when it is over.

use super::*;

const LIMIT_MS: u32 = 60_000;

fn stage() -> Stage {
    let timeline = "timeline:
  - id: quick
    type: survey
    time_limit_s: 60
    surveyjs:
      elements:
        - {type: text, name: sum, inputType: number, isRequired: true}
        - {type: comment, name: why, isRequired: true, defaultValue: so}
  - {id: read, type: instructions, pages: [page.md]}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, {policy: cook}]}
";
    let mut stage = Stage::read(timeline, Limits::default());
    stage.wait(SECOND);
    stage
}

fn sum(value: &str) -> Vec<Answer> {
    vec![Answer {
        name: "sum".to_owned(),
        value: value.to_owned(),
    }]
}

fn done(stage: &mut Stage, conn: u64, answers: Vec<Answer>, page_ms: u32) -> bool {
    let done = ClientMessage::StageDone {
        stage: 0,
        answers,
        pages_ms: vec![page_ms],
    };
    stage.say(conn, done);
    matches!(
        view(&stage.hear(conn)),
        Some(StageView::Instructions { .. })
    )
}

/// The draft that comes with a stage.
fn draft(messages: &[ServerMessage]) -> Option<protocol::control::Draft> {
    messages.iter().find_map(|message| match message {
        ServerMessage::Stage { draft, .. } => draft.clone(),
        _ => None,
    })
}

fn keep(stage: &mut Stage, conn: u64, answers: Vec<Answer>, page_ms: u32) {
    let draft = protocol::control::Draft {
        page: 0,
        pages_ms: vec![page_ms],
        answers,
    };
    let message = ClientMessage::Draft {
        number: 1,
        stage: 0,
        draft,
    };
    stage.say(conn, message);
}

#[test]
fn answers_that_are_not_complete_count_when_the_time_is_up_and_not_before() {
    let mut stage = stage();
    stage.enter(1, Entry::Open);
    stage.hear(1);
    stage.wait(30 * SECOND);
    assert!(!done(&mut stage, 1, sum("4"), 30_000), "half the time");
    assert!(!done(&mut stage, 1, sum("4"), LIMIT_MS), "so the page says");
    stage.wait(30 * SECOND);
    assert!(!done(&mut stage, 1, sum("4"), 30_000), "so the server says");
    assert!(!done(&mut stage, 1, sum("\"many\""), LIMIT_MS), "no number");
    assert!(done(&mut stage, 1, sum("4"), LIMIT_MS));
    let given = stage.writes.iter().find_map(|write| match write {
        Write::Place {
            answers: Some(given),
            ..
        } => Some((given.answers.clone(), given.pages_ms.clone())),
        _ => None,
    });
    assert_eq!(given, Some((sum("4"), vec![LIMIT_MS])));
}

#[test]
fn the_time_of_a_form_runs_on_while_no_page_shows_it() {
    let mut stage = stage();
    let token = stage.enter(1, Entry::Open);
    assert_eq!(draft(&stage.hear(1)), None, "it begins");
    stage.wait(10 * SECOND);
    stage.close(1);
    stage.wait(15 * SECOND);
    stage.resume(2, &token, None);
    let untouched = draft(&stage.hear(2)).expect("the time so far");
    assert_eq!(untouched.pages_ms, [25_000]);
    assert_eq!(untouched.answers[0].value, "\"so\"", "{untouched:?}");
    keep(&mut stage, 2, sum("4"), 27_000);
    stage.close(2);
    stage.wait(40 * SECOND);
    stage.resume(3, &token, None);
    let late = draft(&stage.hear(3)).expect("a draft");
    assert_eq!((late.pages_ms, late.answers), (vec![65_000], sum("4")));
    assert!(done(&mut stage, 3, sum("4"), 65_000));
}

#[test]
fn a_restart_of_the_server_gives_nobody_the_whole_time_again() {
    let mut stage = stage();
    let token = stage.enter(1, Entry::Open);
    stage.wait(30 * SECOND);
    keep(&mut stage, 1, sum("4"), 30_000);
    stage.restart();
    stage.resume(2, &token, None);
    let kept = draft(&stage.hear(2)).expect("a draft");
    assert_eq!((kept.pages_ms, kept.answers), (vec![30_000], sum("4")));
    assert!(!done(&mut stage, 2, sum("4"), 31_000));
    stage.wait(30 * SECOND);
    assert!(done(&mut stage, 2, sum("4"), LIMIT_MS));
}
