//! The way of one participant, and the study beside its host.

use std::collections::BTreeMap;

use proptest::prelude::*;
use protocol::control::{Answer, Draft, EndReason, StageView};
use study::{
    Episode, EventRefusal, Outcome, Progress, ProgressEvent, ProgressStep, Study, UnitAssignment,
};

use crate::folder::{Folder, STUDY};

pub(crate) fn small(name: &str) -> Study {
    let folder = Folder::new(name);
    folder.write("study.yaml", STUDY);
    study::load(&folder.path).expect("a good study")
}

fn answers(pairs: &[(&str, &str)]) -> Vec<Answer> {
    pairs
        .iter()
        .map(|(name, value)| Answer {
            name: (*name).into(),
            value: (*value).into(),
        })
        .collect()
}

fn done(at: u16) -> ProgressEvent<'static> {
    ProgressEvent::StageDone { at, answers: &[] }
}

const PLAYED: ProgressEvent<'static> = ProgressEvent::EpisodeEnded(&ENDED[0]);

static ENDED: [Episode; 3] = [
    ended(EndReason::Played),
    ended(EndReason::PartnerLeft),
    ended(EndReason::Technical),
];

const fn ended(reason: EndReason) -> Episode {
    Episode {
        reason,
        score: 3,
        ticks: 900,
        partners: study::PartnerKind::None,
        seats: study::SeatTotals {
            scores: Vec::new(),
            rewards: Vec::new(),
        },
        seat: 0,
        success: None,
    }
}

/// A group of which nothing was drawn but the seed.
static GROUP: UnitAssignment = UnitAssignment {
    seed: 7,
    levels: BTreeMap::new(),
    orders: BTreeMap::new(),
    sequences: BTreeMap::new(),
    partner: None,
};

const MATCHED: ProgressEvent<'static> = ProgressEvent::Matched {
    draw: &GROUP,
    seat: Some(0),
};

fn start(study: &Study) -> Progress {
    Progress::new(study, UnitAssignment::default())
}

#[test]
fn the_whole_way_ends_in_the_declared_outcome() {
    let study = small("whole-way");
    let mut at = start(&study);
    assert_eq!(at.stage(&study).id, "how");
    assert_eq!(at.handle(&study, done(0)), Ok(ProgressStep::Enter(1)));
    assert_eq!(at.handle(&study, MATCHED), Ok(ProgressStep::Enter(2)));
    assert_eq!(at.view(&study), StageView::Env);
    assert_eq!(at.handle(&study, PLAYED), Ok(ProgressStep::Enter(3)));
    assert_eq!(at.outcome(&study), None);
    let given = answers(&[("fun", "7"), ("place", "\"second\"")]);
    assert_eq!(
        at.handle(
            &study,
            ProgressEvent::StageDone {
                at: 3,
                answers: &given
            }
        ),
        Ok(ProgressStep::Enter(4))
    );
    assert_eq!(at.outcome(&study), Some(Outcome::Completed));
    let StageView::End { outcome, page, .. } = at.view(&study) else {
        panic!("not the end")
    };
    assert_eq!(
        (outcome.as_str(), page.as_str()),
        ("completed", "<h1>Thanks</h1>\n")
    );
    assert_eq!(
        at.handle(&study, ProgressEvent::Left),
        Ok(ProgressStep::Stay)
    );
}

#[test]
fn a_formula_knows_the_seat_of_a_participant() {
    let folder = Folder::new("seat");
    let guarded = "    pages: [how.md]\n  - {id: role, type: instructions, pages: [how.md], when: 'seat == 1'}\n";
    let second = STUDY.replace(
        "  - id: play\n",
        "  - {id: lead, type: instructions, pages: [how.md], when: seat == 1}\n  - id: play\n",
    );
    folder.write(
        "study.yaml",
        second.replace("    pages: [how.md]\n", guarded),
    );
    let study = study::load(&folder.path).expect("a good study");
    let after_the_lobby = |seat: u8| {
        let mut at = start(&study);
        at.handle(&study, done(0)).expect("the first stage");
        assert_eq!(at.stage(&study).id, "lobby", "nobody has a seat yet");
        let matched = ProgressEvent::Matched {
            draw: &GROUP,
            seat: Some(seat),
        };
        at.handle(&study, matched).expect("a group");
        at.stage(&study).id.clone()
    };
    assert_eq!([0, 1].map(after_the_lobby), ["play", "lead"]);
}

#[test]
fn a_study_that_does_not_tell_ai_partners_does_not_tell_what_is_passed_over_either() {
    let hides = |name: &str, disclose: bool, when: &str| {
        let folder = Folder::new(name);
        let bot = format!("bot: {{policy: cook, disclose: {disclose}}}");
        let study = STUDY.replace("bot: {policy: cook}", &bot);
        folder.write(
            "study.yaml",
            study.replace("  - id: after\n", &format!("  - id: after\n{when}")),
        );
        study::load(&folder.path)
            .expect("a good study")
            .hides_progress()
    };
    let when = "    when: play.episodes[0].partners == \"human\"\n";
    assert!(hides("hides", false, when));
    assert!(!hides("hides-disclosed", true, when));
    assert!(!hides("hides-nothing", false, ""));
}

#[test]
fn a_message_sent_again_changes_nothing() {
    let study = small("again");
    let mut at = start(&study);
    assert_eq!(at.handle(&study, done(0)), Ok(ProgressStep::Enter(1)));
    let here = at.clone();
    assert_eq!(at.handle(&study, done(0)), Ok(ProgressStep::Stay));
    assert_eq!(at.handle(&study, done(3)), Ok(ProgressStep::Stay));
    assert_eq!(at.handle(&study, PLAYED), Ok(ProgressStep::Stay));
    assert_eq!(at, here);
}

#[test]
fn a_page_cannot_skip_lobby_and_episode() {
    let study = small("skip");
    let mut at = start(&study);
    at.handle(&study, done(0)).expect("the first stage");
    let refused = at
        .handle(&study, done(1))
        .expect_err("a lobby ends by itself");
    assert_eq!(
        refused.to_string(),
        "the stage `lobby` ends by itself, not by a page"
    );
    at.handle(&study, MATCHED).expect("a group");
    assert_eq!(
        at.handle(&study, done(2)),
        Err(EventRefusal::NotByPage {
            stage: "play".into()
        })
    );
    assert_eq!(at.index(), 2);
}

#[test]
fn answers_must_be_ones_that_the_form_takes() {
    let study = small("answers");
    let mut at = start(&study);
    for event in [done(0), MATCHED, PLAYED] {
        at.handle(&study, event).expect("a step on");
    }
    let here = at.clone();
    for (given, sentence) in [
        (vec![], "the question `fun` must be answered"),
        (
            vec![("place", "\"first\"")],
            "the question `fun` must be answered",
        ),
        (
            vec![("fun", "8")],
            "the answer to `fun` is not one that this question takes",
        ),
        (
            vec![("fun", "\"7\"")],
            "the answer to `fun` is not one that this question takes",
        ),
        (
            vec![("fun", "7"), ("place", "oops")],
            "the answer to `place` is not one that this question takes",
        ),
        (
            vec![("fun", "7"), ("fun", "6")],
            "the question `fun` was answered twice",
        ),
        (
            vec![("fun", "7"), ("funny", "6")],
            "this stage has no question `funny`",
        ),
    ] {
        let given = answers(&given);
        let refused = at
            .handle(
                &study,
                ProgressEvent::StageDone {
                    at: 3,
                    answers: &given,
                },
            )
            .expect_err(sentence);
        assert_eq!((refused.to_string().as_str(), &at), (sentence, &here));
    }
    let given = answers(&[("fun", "1")]);
    assert_eq!(
        at.handle(
            &study,
            ProgressEvent::StageDone {
                at: 3,
                answers: &given
            }
        ),
        Ok(ProgressStep::Enter(4))
    );
}

#[test]
fn what_cut_the_way_short_is_the_outcome() {
    let study = small("cut");
    let mut at = start(&study);
    for event in [done(0), MATCHED, ProgressEvent::EpisodeEnded(&ENDED[1])] {
        at.handle(&study, event).expect("a step on");
    }
    assert_eq!(at.index(), 3, "the survey is still theirs");
    let given = answers(&[("fun", "1")]);
    at.handle(
        &study,
        ProgressEvent::StageDone {
            at: 3,
            answers: &given,
        },
    )
    .expect("good answers");
    assert_eq!(at.outcome(&study), Some(Outcome::PartnerLeft));

    let mut at = start(&study);
    assert_eq!(
        at.handle(&study, ProgressEvent::Left),
        Ok(ProgressStep::Enter(4))
    );
    assert_eq!(at.outcome(&study), Some(Outcome::LeftEarly));
    let StageView::End { outcome, .. } = at.view(&study) else {
        panic!("not the end")
    };
    assert_eq!(outcome, "left_early");
}

fn event(
    answers: &'static [Answer],
    draft: &'static Draft,
) -> impl Strategy<Value = ProgressEvent<'static>> {
    prop_oneof![
        4 => (0u16..7).prop_map(done),
        3 => (0u16..7).prop_map(move |stage| ProgressEvent::StageDone { at: stage, answers }),
        2 => (0u16..7).prop_map(move |at| ProgressEvent::Drafted { at, draft }),
        2 => Just(MATCHED),
        2 => Just(PLAYED),
        1 => Just(ProgressEvent::EpisodeEnded(&ENDED[1])),
        1 => Just(ProgressEvent::EpisodeEnded(&ENDED[2])),
        1 => Just(ProgressEvent::Left),
    ]
}

#[test]
fn every_sequence_of_events_waits_or_ends_in_a_declared_stage() {
    let study = small("laws");
    let good: &'static [Answer] = answers(&[("fun", "3")]).leak();
    let draft: &'static Draft = Box::leak(Box::new(Draft {
        page: 0,
        pages_ms: vec![5],
        answers: good.to_vec(),
    }));
    proptest!(|(events in proptest::collection::vec(event(good, draft), 0..40))| {
        let mut at = start(&study);
        for event in events {
            let before = at.clone();
            match at.handle(&study, event) {
                Ok(ProgressStep::Enter(index)) => {
                    prop_assert!(index > before.index());
                    prop_assert_eq!(index, at.index());
                    prop_assert_eq!(at.draft(), None);
                }
                Ok(ProgressStep::Keep) => {
                    prop_assert_eq!(at.draft(), Some(draft));
                    prop_assert_eq!((at.index(), at.visit()), (before.index(), before.visit()));
                }
                Ok(ProgressStep::Stay) | Err(_) => prop_assert_eq!(&at, &before),
            }
            prop_assert!(usize::from(at.index()) < study.timeline.len());
            prop_assert_eq!(at.outcome(&study).is_some(), usize::from(at.index()) == study.timeline.len() - 1);
            let kept = serde_json::to_string(&at).expect("plain data");
            prop_assert_eq!(serde_json::from_str::<Progress>(&kept).expect("as written"), at.clone());
        }
    });
}

#[test]
fn what_is_half_done_is_kept_until_the_stage_is_done() {
    let study = small("draft");
    let mut at = start(&study);
    let half = |page, pairs: &[(&str, &str)]| Draft {
        page,
        pages_ms: vec![300],
        answers: answers(pairs),
    };
    let read = half(1, &[]);
    let keep = |at: &mut Progress, stage, draft: &Draft| {
        at.handle(&study, ProgressEvent::Drafted { at: stage, draft })
    };
    assert_eq!(keep(&mut at, 0, &read), Ok(ProgressStep::Keep));
    assert_eq!(at.draft(), Some(&read));
    assert!(
        keep(&mut at, 0, &half(0, &[("fun", "3")])).is_err(),
        "nothing is asked"
    );
    assert_eq!(
        keep(&mut at, 3, &read),
        Ok(ProgressStep::Stay),
        "of another stage"
    );
    for event in [done(0), MATCHED, PLAYED] {
        at.handle(&study, event).expect("a step on");
        assert_eq!(at.draft(), None);
    }
    // An answer need not be one that the form takes: it is not given yet.
    let odd = half(0, &[("fun", "900")]);
    assert_eq!(keep(&mut at, 3, &odd), Ok(ProgressStep::Keep));
    for wrong in [
        &[("funny", "3")][..],
        &[("fun", "3"), ("fun", "4")],
        &[("fun", "{")],
    ] {
        assert!(keep(&mut at, 3, &half(0, wrong)).is_err(), "{wrong:?}");
    }
    assert_eq!(at.draft(), Some(&odd));
    let given = answers(&[("fun", "3")]);
    let done = ProgressEvent::StageDone {
        at: 3,
        answers: &given,
    };
    at.handle(&study, done).expect("good answers");
    assert_eq!(at.draft(), None);
}

#[test]
fn a_position_beyond_the_study_is_its_end() {
    let study = small("beyond");
    let mut at: Progress =
        serde_json::from_str(r#"{"stage": 900, "cut": null}"#).expect("a position");
    assert_eq!(at.stage(&study).id, "thanks");
    assert_eq!(at.handle(&study, done(900)), Ok(ProgressStep::Stay));
}

#[test]
fn the_hash_follows_the_meaning_and_not_the_spelling() {
    let (folder, study) = (Folder::new("hash"), small("hash-base"));
    let hash = |text: &str| {
        folder.write("study.yaml", text);
        study::load(&folder.path).expect("a good study").hash
    };
    assert_eq!(
        hash(&STUDY.replace("    input_delay: {min: 0, max: 3}\n", "    # the default\n")),
        study.hash
    );
    assert_eq!(
        hash(&STUDY.replace("title: Small", "title: {de: Klein, en: \"Small\"}")),
        study.hash
    );
    assert_ne!(
        hash(&STUDY.replace("timeout_s: 30", "timeout_s: 31")),
        study.hash
    );
    folder.write("how.md", "# How\n\nPlay well.\n");
    assert_ne!(hash(STUDY), study.hash);
    assert!(
        study
            .canonical
            .starts_with(r#"{"format":1,"net":{"fallback":"websocket","ice":"all"},"study":{"contact":"lab@example.edu","id":"small","#)
    );
}
