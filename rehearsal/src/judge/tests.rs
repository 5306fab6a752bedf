use protocol::control::{Answer, Farewell};
use study::recruitment::RecruiterAction;

use super::*;
use store::PayState;

fn given(stage: &str, value: &str, is_acknowledged: bool) -> Given {
    let answers = vec![Answer {
        name: "item".to_owned(),
        value: value.to_owned(),
    }];
    Given {
        stage: stage.to_owned(),
        answers,
        is_acknowledged,
    }
}

fn kept(stage: &str, value: &str) -> Visit {
    let item = ("item".to_owned(), value.to_owned());
    (stage.to_owned(), BTreeMap::from([item]))
}

#[test]
fn a_treatment_has_the_name_that_the_study_gives_it() {
    let dir = tempfile::tempdir().unwrap();
    let text = "format: 1
study: {id: s, version: '1', title: S, contact: c@example.edu}
design:
  between: {speed: {levels: [slow, fast]}, light: {levels: [dim, bright]}}
  within: {room: {levels: [a, b], order: latin}}
timeline:
  - for_each: room
    when: speed == 'slow' || light == 'dim'
    block: [{id: ask, type: survey, surveyjs: {elements: [{type: comment, name: q}]}}]
";
    std::fs::write(dir.path().join(study::FILE), text).unwrap();
    let study = study::load(dir.path()).unwrap();
    let level = |factor: &str, level: &str| (factor.to_owned(), level.to_owned());
    let draw = UnitAssignment {
        levels: [level("light", "dim"), level("speed", "fast")].into(),
        sequences: [("room".to_owned(), 1)].into(),
        ..UnitAssignment::default()
    };
    assert_eq!(
        cell(&study, &draw).as_deref(),
        Some("fast/dim/order 2 of room")
    );
    let names = study.design.list_treatments().into_iter();
    let names: Vec<String> = names
        .map(|cell| study.design.treatment_name(&cell))
        .collect();
    assert_eq!(
        names,
        ["slow/dim", "slow/bright", "fast/dim", "fast/bright"]
    );
    assert_eq!(cell(&study, &UnitAssignment::default()), None);
}

#[test]
fn acknowledged_answers_that_are_not_there_are_found_and_so_are_those_nobody_gave() {
    let all = [
        given("a", "\"x\"", true),
        given("b", "3", true),
        given("b", "3", false),
    ];
    let both = [kept("a", "x"), kept("b", "3")];
    assert_eq!(lost_answers(&all, &both), Vec::<String>::new());
    let lost = lost_answers(&all, &both[..1]);
    assert!(lost.len() == 1 && lost[0].contains("lack"), "{lost:?}");
    let more = lost_answers(&all[..1], &[kept("a", "x"), kept("a", "x")]);
    assert!(more.len() == 1 && more[0].contains("not given"), "{more:?}");
    let other = lost_answers(&all[..1], &[kept("a", "y")]);
    assert_eq!(other.len(), 2, "{other:?}");
}

#[test]
fn who_is_paid_twice_or_for_something_else_or_was_told_something_else_is_found() {
    let session = Session {
        id: "S-1".to_owned(),
        number: 0,
        participant: "P-1".to_owned(),
        token_hash: String::new(),
        link_hash: None,
        study: String::new(),
        study_version: String::new(),
        study_hash: String::new(),
        position: String::new(),
        spent_us: 0,
        seen_us: 0,
        acted_us: 0,
        outcome: Some("completed".to_owned()),
        created_at: String::new(),
        ended_at: None,
        erased_at: None,
    };
    let paid = Payment {
        session: "S-1".to_owned(),
        participant: "P-1".to_owned(),
        what: study::Payment {
            outcome: Outcome::Completed,
            deed: RecruiterAction::Approve,
            code: Some("C0DE".to_owned()),
            receipt: "R-1".to_owned(),
            currency: Some("GBP".to_owned()),
            time_ms: 0,
            base: 150,
            bonus: 0,
            time: 0,
            total: 150,
            extra: 0,
            note: None,
        },
        state: PayState::Due,
        at: String::new(),
        paid_at: None,
    };
    let told = Record {
        outcome: Some("completed".to_owned()),
        farewell: Farewell {
            code: "C0DE".to_owned(),
            receipt: "R-1".to_owned(),
            pay: "£1.50".to_owned(),
            ..Farewell::default()
        },
        ..Record::default()
    };
    let wrong = |paid: &[Payment]| unpaid(&told, &session, "en", paid);
    assert_eq!(wrong(std::slice::from_ref(&paid)), Vec::<String>::new());
    assert!(wrong(&[])[0].contains("0 payments"));
    assert!(wrong(&[paid.clone(), paid.clone()])[0].contains("2 payments"));
    let mut other = paid.clone();
    other.what.outcome = Outcome::PartnerLeft;
    assert!(wrong(&[other])[0].contains("is paid for"));
    let mut other = paid;
    other.what.total = 151;
    assert!(wrong(&[other])[0].contains("was told"));
}

#[test]
fn answers_of_somebody_who_has_withdrawn_are_found() {
    assert_eq!(still_there(&[], &[]), Vec::<String>::new());
    let found = still_there(&[kept("a", "x")], &["Hello"]);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn a_draw_that_is_another_one_after_a_death_is_found_and_a_new_group_is_none() {
    let draw = |seed| UnitAssignment {
        seed,
        ..UnitAssignment::default()
    };
    let of = |own, groups: &[(u16, u64)]| Assignment {
        own: draw(own),
        groups: groups.iter().map(|(at, seed)| (*at, draw(*seed))).collect(),
    };
    let all = |assignment| BTreeMap::from([("P-1".to_owned(), assignment)]);
    let before = [all(of(1, &[(2, 9)]))];
    assert_eq!(redrawn(&before, &all(of(1, &[(2, 9), (5, 8)]))), []);
    for now in [
        all(of(2, &[(2, 9)])),
        all(of(1, &[(2, 7)])),
        all(of(1, &[])),
        BTreeMap::new(),
    ] {
        assert_eq!(redrawn(&before, &now).len(), 1, "{now:?}");
    }
}
