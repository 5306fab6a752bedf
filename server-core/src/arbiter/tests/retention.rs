//! Erasure of recorded data past the study's retention period.

use std::collections::BTreeMap;

use study::Outcome;

use super::*;

const DAY: u64 = 24 * 3_600 * SECOND;

fn stage() -> Stage {
    // Here, sessions that nobody begins must be kept as long as others.
    let limits = Limits {
        entering: std::time::Duration::from_hours(24 * 10_000),
        ..Limits::default()
    };
    let mut stage = Stage::new(limits);
    let mut study = Study::clone(&stage.study);
    study.keeping.retention_days = Some(30);
    study.recruitment.provider = study::recruitment::Provider::Parameters;
    study.recruitment.parameters = BTreeMap::from([("participant".into(), "id".into())]);
    stage.study = Arc::new(study);
    stage.restart();
    stage
}

fn named(id: &str) -> Entry {
    Entry::Sent(vec![("id".into(), id.into())])
}

/// The sessions whose data were erased, by their order of arrival.
fn erased(stage: &Stage) -> Vec<usize> {
    let names: Vec<&String> = (stage.writes.iter())
        .filter_map(|write| match write {
            Write::NewSession { participant, .. } => Some(participant),
            _ => None,
        })
        .collect();
    let erased = stage.writes.iter().filter_map(|write| match write {
        Write::Erase { participant } => names.iter().position(|name| *name == participant),
        _ => None,
    });
    erased.collect()
}

#[test]
fn so_many_days_after_somebody_was_there_last_their_data_are_erased() {
    let mut stage = stage();
    stage.enter(1, named("anna"));
    stage.enter(2, named("bert"));
    stage.say(1, ClientMessage::Leave);
    stage.close(1);
    stage.close(2);
    stage.wait(10 * DAY);
    stage.enter(3, named("bert"));
    stage.close(3);
    stage.wait(20 * DAY - 1);
    assert_eq!(erased(&stage), Vec::<usize>::new());
    stage.wait(1);
    assert_eq!(erased(&stage), [0]);
    stage.wait(10 * DAY);
    assert_eq!(erased(&stage), [0, 1]);
    // A session without an end has one now.
    let mut outcomes = stage.writes.iter().filter_map(|write| match write {
        Write::Place {
            payment: Some(payment),
            ..
        } => Some(payment.outcome),
        _ => None,
    });
    assert_eq!(outcomes.next_back(), Some(Outcome::TimedOut));
    // Nobody knows them any more.
    let sessions = |stage: &Stage| {
        let new = |write: &&Write| matches!(write, Write::NewSession { .. });
        stage.writes.iter().filter(new).count()
    };
    stage.enter(4, named("anna"));
    assert_eq!(sessions(&stage), 3);
}

#[test]
fn a_server_that_was_away_erases_when_it_starts_and_nothing_twice() {
    let mut stage = stage();
    let token = stage.enter(1, named("anna"));
    stage.say(1, ClientMessage::Leave);
    stage.handle(Event::Stop);
    stage.now_us += 31 * DAY;
    stage.restart();
    assert_eq!(erased(&stage), [0]);
    stage.restart();
    assert_eq!(erased(&stage), [0]);
    // The link still shows how it ended.
    stage.resume(2, &token, None);
    assert!(matches!(
        view(&stage.hear(2)),
        Some(StageView::End { outcome, .. }) if outcome == "left_early"
    ));
}

#[test]
fn what_is_kept_of_a_place_has_no_answers() {
    let mut stage = Stage::read(
        "timeline:
  - {id: who, type: survey, surveyjs: {elements: [{type: text, name: town}]}}
  - {id: thanks, type: end, file: page.md}
",
        Limits::default(),
    );
    let mut study = Study::clone(&stage.study);
    study.keeping.retention_days = Some(1);
    stage.study = Arc::new(study);
    stage.restart();
    stage.say(1, ClientMessage::make_hello(Entry::Open));
    let answer = Answer {
        name: "town".into(),
        value: "\"Atlantis\"".into(),
    };
    let done = ClientMessage::StageDone {
        stage: 0,
        answers: vec![answer],
        pages_ms: vec![1],
    };
    stage.say(1, done);
    stage.close(1);
    let last = |stage: &Stage| {
        let mut places = stage.writes.iter().filter_map(|write| match write {
            Write::Place { progress, .. } => Some(serde_json::to_string(progress).unwrap()),
            _ => None,
        });
        places.next_back().unwrap()
    };
    assert!(last(&stage).contains("Atlantis"));
    stage.wait(DAY);
    assert!(!last(&stage).contains("Atlantis"));
    assert_eq!(erased(&stage), [0]);
}

#[test]
fn a_clock_that_is_far_ahead_erases_nothing_also_when_somebody_comes() {
    let mut stage = stage();
    stage.wait(SECOND);
    stage.enter(1, named("anna"));
    stage.close(1);
    stage.now_us += 5 * 365 * DAY;
    stage.restart();
    stage.enter(2, named("bert"));
    stage.wait(10 * DAY);
    assert_eq!(erased(&stage), Vec::<usize>::new());
    // The clock is set right, and time passes as it should.
    stage.now_us = 2 * DAY;
    stage.restart();
    stage.wait(40 * DAY);
    assert!(erased(&stage).contains(&0));
}

#[test]
fn what_is_due_at_the_start_is_erased_before_anybody_comes() {
    let mut stage = stage();
    stage.wait(SECOND);
    stage.enter(1, named("anna"));
    stage.close(1);
    stage.now_us += 100 * DAY;
    stage.restart();
    assert_eq!(erased(&stage), [0]);
}

#[test]
fn one_visit_under_a_clock_that_is_far_ahead_erases_nothing_at_later_starts() {
    let mut stage = stage();
    stage.wait(SECOND);
    stage.enter(1, named("anna"));
    stage.close(1);
    let right_us = stage.now_us;
    stage.now_us += 3_650 * DAY;
    stage.restart();
    stage.enter(2, named("bert"));
    stage.close(2);
    // Once more while it is wrong, and then again as it is right.
    stage.restart();
    stage.wait(DAY);
    assert_eq!(erased(&stage), Vec::<usize>::new());
    stage.now_us = right_us + DAY;
    stage.restart();
    assert_eq!(stage.now_us, right_us + DAY);
    stage.wait(29 * DAY - 1);
    assert_eq!(erased(&stage), Vec::<usize>::new());
    stage.wait(1);
    assert_eq!(erased(&stage), [0], "when it is due");
}

#[test]
fn a_clock_that_may_have_been_ahead_and_may_be_set_back_erases_by_the_earlier_time() {
    let mut stage = stage();
    stage.wait(SECOND);
    stage.enter(1, named("anna"));
    stage.close(1);
    // Not far enough to be doubted, and long enough for the period.
    stage.study = {
        let mut study = Study::clone(&stage.study);
        study.keeping.retention_days = Some(200);
        Arc::new(study)
    };
    stage.now_us += 150 * DAY;
    stage.restart();
    stage.enter(2, named("bert"));
    stage.close(2);
    stage.now_us -= 149 * DAY;
    stage.restart();
    stage.wait(198 * DAY);
    assert_eq!(erased(&stage), Vec::<usize>::new());
    stage.wait(DAY);
    assert_eq!(erased(&stage), [0]);
}
