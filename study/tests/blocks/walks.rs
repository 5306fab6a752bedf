//! Random studies, walked by random events.

use proptest::prelude::*;
use protocol::control::{Answer, EndReason};
use study::{Episode, EventRefusal, Outcome, ProgressEvent, ProgressStep, StageKind};

use super::*;

#[derive(Clone, Debug)]
enum Tree {
    Page,
    Form,
    Solo,
    Pair,
    Block {
        children: Vec<Tree>,
        repeat: u8,
        values: u8,
        shuffle: bool,
        choose: Option<usize>,
    },
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Page),
        Just(Tree::Form),
        Just(Tree::Solo),
        Just(Tree::Pair)
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        (
            proptest::collection::vec(inner, 1..4),
            1_u8..3,
            0_u8..3,
            any::<bool>(),
            proptest::option::of(1_usize..4),
        )
            .prop_map(|(children, repeat, values, shuffle, choose)| {
                let choose = choose.map(|most| most.min(children.len()));
                Tree::Block {
                    children,
                    repeat,
                    values,
                    shuffle,
                    choose,
                }
            })
    })
}

/// The node in the file; `next` numbers ids and names.
fn written(tree: &Tree, next: &mut u32) -> String {
    *next += 1;
    let id = format!("s{next}");
    match tree {
        Tree::Page => page(&id),
        Tree::Form => format!(
            "{{id: {id}, type: survey, surveyjs: {{elements: [{{type: comment, name: why, isRequired: true}}]}}}}"
        ),
        Tree::Solo => format!("{{id: {id}, type: env, env: overcooked@2.0.0}}"),
        Tree::Pair => format!(
            "{{block: [{{id: {id}, type: lobby, group_size: 2, timeout_s: 60, on_timeout: wait}}, \
             {{id: {id}p, type: env, env: overcooked@2.0.0, players: [self, partner]}}]}}"
        ),
        Tree::Block {
            children,
            repeat,
            values,
            shuffle,
            choose,
        } => {
            let children: Vec<String> = children.iter().map(|child| written(child, next)).collect();
            let values: Vec<String> = (0..*values).map(|value| value.to_string()).collect();
            let each = match values.is_empty() {
                true => String::new(),
                false => format!("for_each: {{n{id}: [{}]}}, ", values.join(", ")),
            };
            let choose = choose.map_or(String::new(), |count| format!("choose: {count}, "));
            format!(
                "{{{each}{choose}repeat: {repeat}, shuffle: {shuffle}, block: [{}]}}",
                children.join(", ")
            )
        }
    }
}

/// An event that fits a stage, so that the participant continues.
fn fitting<'a>(
    kind: &StageKind,
    at: u16,
    given: &'a [Answer],
    group: &'a UnitAssignment,
    played: &'a Episode,
) -> ProgressEvent<'a> {
    match kind {
        StageKind::Survey(_) => ProgressEvent::StageDone { at, answers: given },
        StageKind::Lobby(_) => ProgressEvent::Matched {
            draw: group,
            seat: Some(0),
        },
        StageKind::Env(_) => ProgressEvent::EpisodeEnded(played),
        _ => ProgressEvent::StageDone { at, answers: &[] },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_event_in_every_study_leads_on_or_is_refused_in_words(
        trees in proptest::collection::vec(tree(), 1..4),
        seed: u64,
        noise in proptest::collection::vec((0_u8..7, 0_u16..40), 0..300),
        leaves in proptest::option::of(0_usize..300),
    ) {
        let mut next = 0;
        let nodes: String = trees.iter().map(|tree| format!("  - {}\n", written(tree, &mut next))).collect();
        let folder = Folder::new("blocks-random");
        folder.write("study.yaml", file("", &nodes));
        let study = match study::load(&folder.path) {
            Ok(study) => study,
            Err(problems) => {
                prop_assert!(problems.iter().any(|problem| problem.message.contains("visits of stages")), "{:#?}", problems);
                return Ok(());
            }
        };
        let given = [Answer { name: "why".into(), value: "\"so\"".into() }];
        let group = UnitAssignment { seed: !seed, ..UnitAssignment::default() };
        let played = Episode { score: 1, ticks: 9, ..Episode::unplayed_facts(EndReason::Played) };
        let [left, failed] = [EndReason::PartnerLeft, EndReason::Technical].map(Episode::unplayed_facts);
        let mut at = Progress::new(&study, UnitAssignment { seed, ..UnitAssignment::default() });
        let mut noise = noise.into_iter().enumerate();
        for _ in 0..study::timeline::MAX_VISITS {
            if at.outcome(&study).is_some() {
                break;
            }
            for (number, (kind, position)) in noise.by_ref().take(3) {
                let event = match kind {
                    0 | 1 => ProgressEvent::StageDone { at: position, answers: &given },
                    2 => ProgressEvent::StageDone { at: at.position(), answers: &[] },
                    3 => ProgressEvent::Matched { draw: &group, seat: Some(0) },
                    4 => ProgressEvent::EpisodeEnded(&left),
                    5 if leaves == Some(number) => ProgressEvent::Cut(Outcome::TimedOut),
                    6 if leaves == Some(number) => ProgressEvent::Left,
                    _ => ProgressEvent::EpisodeEnded(&failed),
                };
                let before = at.clone();
                match at.handle(&study, event) {
                    Ok(ProgressStep::Enter(position)) => {
                        prop_assert!(position > before.position() && position == at.position());
                        prop_assert_eq!(at.visit(), before.visit() + 1);
                    }
                    Ok(ProgressStep::Stay | ProgressStep::Keep) => prop_assert_eq!(&at, &before),
                    Err(refusal) => {
                        let words: &EventRefusal = &refusal;
                        prop_assert!(words.to_string().split(' ').count() > 3);
                        prop_assert_eq!(&at, &before);
                    }
                }
            }
            let kind = &at.stage(&study).kind;
            if !matches!(kind, StageKind::End(_)) {
                let event = fitting(kind, at.position(), &given, &group, &played);
                prop_assert!(matches!(at.handle(&study, event), Ok(ProgressStep::Enter(_))));
            }
            let kept = serde_json::to_string(&at).expect("plain data");
            prop_assert_eq!(serde_json::from_str::<Progress>(&kept).expect("as written"), at.clone());
        }
        prop_assert!(at.outcome(&study).is_some(), "stuck at {}", at.stage(&study).id);
    }
}
