//! Visits that are made again because a quiz sends people back: repeated visits count again.

use super::most::most_in;
use super::tree::{Block, Node};
use crate::stage::StageKind;
use crate::stage::quiz::Quiz;
use crate::study::Study;

/// The most visits of a stage that wrong answers to quizzes add, for participants with a treatment.
pub(crate) fn most_again(study: &Study, treatment: &[usize], stage: u16) -> f64 {
    let quizzes = (0_u16..).zip(&study.timeline);
    let quizzes = quizzes.filter_map(|(index, known)| match &known.kind {
        StageKind::Quiz(quiz) => Some((index, quiz)),
        _ => None,
    });
    let again = quizzes.filter_map(|(index, quiz)| again_of(study, treatment, stage, index, quiz));
    again.sum()
}

/// The visits that one quiz adds; `None` if it does not lead back to the stage.
fn again_of(
    study: &Study,
    treatment: &[usize],
    stage: u16,
    index: u16,
    quiz: &Quiz,
) -> Option<f64> {
    let from = quiz.retry_from.as_ref()?;
    let mut known = (0_u16..).zip(&study.timeline);
    let (from, _) = known.find(|(_, known)| known.id == *from)?;
    let [around_from, around_stage, around_quiz] =
        [from, stage, index].map(|stage| find_blocks(&study.tree, stage).unwrap_or_default());
    let mut around = around_from.iter().chain(&around_stage).chain(&around_quiz);
    let has_order = !around.any(|block| block.shuffle || block.count_kept() < block.block.len());
    let holds = |all: &[&Block], block: &Block| all.iter().any(|it| std::ptr::eq(*it, block));
    // In a loop that begins after the stage of the way back, the copies before this one are made again, too.
    let mut both = around_stage.iter().filter(|it| holds(&around_quiz, it));
    let is_looped = both.any(|it| it.count_copies(&study.design) > 1 && !holds(&around_from, it));
    if has_order && !is_looped && !(from..index).contains(&stage) {
        return None;
    }
    let most = |nodes: &[Node], wanted: u16| {
        let visit = |other: u16| f64::from(u8::from(other == wanted));
        most_in(nodes, &study.design, &study.timeline, treatment, &visit)
    };
    // The way back is no longer than one copy of the innermost block around all three.
    let mut common = around_from.iter().rev();
    let common = common.find(|it| holds(&around_stage, it) && holds(&around_quiz, it));
    let nodes = match common.filter(|_| has_order) {
        Some(block) => &block.block[..],
        None => &study.tree[..],
    };
    let times = most(&study.tree, index) * f64::from(quiz.attempts.saturating_sub(1));
    Some(times * most(nodes, stage))
}

/// The blocks around a stage, the outermost first; `None` if it is not among the nodes.
fn find_blocks(nodes: &[Node], stage: u16) -> Option<Vec<&Block>> {
    nodes.iter().find_map(|node| match node {
        Node::Stage(known) => (*known == stage).then(Vec::new),
        Node::Block(block) => {
            let mut around = find_blocks(&block.block, stage)?;
            around.insert(0, block);
            Some(around)
        }
    })
}
