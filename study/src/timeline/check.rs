//! Checks of the tree itself: ids that are there twice, stages that nobody reaches, and the length of the walk.

use std::collections::BTreeMap;

use super::names;
use super::read::Read;
use super::tree::{Block, Node};
use crate::design::Design;
use crate::limits::MAX_VISITS;
use crate::read::Cursor;
use crate::stage::StageKind;
use crate::yaml::Data;

/// Reports duplicate ids, and ids that formulas know as something else.
pub(crate) fn check_ids(read: &Read<'_>) {
    let mut seen: BTreeMap<&str, (&str, u32)> = BTreeMap::new();
    for (id, place) in &read.ids {
        let at = place.node.locate("id");
        if let Some((what, line)) = seen.get(id.as_str()) {
            let message = format!(
                "`{id}` is already the id of the {what} on line {line}; ids name stages in the data, so give each its own"
            );
            place.wrong_at("id", message);
        } else {
            let is_block = place.node.get("block").is_some();
            seen.insert(id, (if is_block { "block" } else { "stage" }, at.line));
        }
    }
    // Formulas name env stages alone by their bare id.
    for (place, stage) in read.places.iter().zip(&read.stages) {
        let stage = stage.as_ref();
        let stage = stage.filter(|stage| matches!(stage.kind, StageKind::Env(_)));
        if let Some((name, means)) = stage.and_then(|stage| names::find_fact(&stage.id)) {
            let message = format!(
                "formulas call {means} `{name}`, and the episodes of this stage would hide that; give the stage another id, such as `{name}_play`"
            );
            place.wrong_at("id", message);
        }
    }
}

/// Reports end stages behind which something stands that is never reached. Gives whether the timeline surely ends in one.
pub(crate) fn check_end(read: &Read<'_>) -> bool {
    ends_in(&read.tree, read)
}

fn ends_in(nodes: &[Node], read: &Read<'_>) -> bool {
    let last = nodes.len().saturating_sub(1);
    let mut surely = false;
    for (at, node) in nodes.iter().enumerate() {
        let ends = match node {
            Node::Stage(stage) => matches!(read.kind(*stage), Some(StageKind::End(_))),
            Node::Block(block) => block_ends(block, read),
        };
        if ends && at < last {
            never_reached(node, read);
        }
        surely |= ends;
    }
    surely
}

fn block_ends(block: &Block, read: &Read<'_>) -> bool {
    let is_sequence = block.count_kept() == block.block.len() && !block.shuffle;
    let surely = match is_sequence {
        true => ends_in(&block.block, read),
        false => {
            block
                .block
                .iter()
                .filter(|node| ends_in(std::slice::from_ref(*node), read))
                .count()
                > 0
        }
    };
    if surely && !block.guarded && (!is_sequence || block.repeat > 1 || block.for_each.is_some()) {
        block
            .block
            .iter()
            .filter(|node| ends_in(std::slice::from_ref(*node), read))
            .for_each(|node| never_reached(node, read));
    }
    surely && !block.guarded
}

fn never_reached(node: &Node, read: &Read<'_>) {
    let place = match node {
        Node::Stage(stage) => &read.places[usize::from(*stage)],
        Node::Block(block) => &read.blocks[usize::from(block.number)],
    };
    place.report_problem("an end stage before the last stage; what follows is never reached, so move it to the end of the timeline");
}

/// Reports guards that ask for answers that are given only later: they would have no value, and not hold.
pub(crate) fn check_guards(read: &Read<'_>) {
    guards_in(&read.tree, read, None);
}

/// `again` is the outermost block around the nodes whose stages may come in any order, or more than once.
fn guards_in<'a>(nodes: &'a [Node], read: &Read<'_>, again: Option<&'a Block>) {
    for node in nodes {
        let Node::Block(block) = node else { continue };
        let is_sequence = block.count_kept() == block.block.len() && !block.shuffle;
        let is_again = !is_sequence || block.repeat > 1 || block.for_each.is_some();
        let again = again.or(is_again.then_some(block));
        guard(block, read, again);
        guards_in(&block.block, read, again);
    }
}

fn guard(block: &Block, read: &Read<'_>, again: Option<&Block>) {
    let place = &read.blocks[usize::from(block.number)];
    let Some(place) = place.child_at("when") else {
        return;
    };
    let (Data::Plain(formula) | Data::Quoted(formula)) = &place.node.data else {
        return;
    };
    let within = |nodes: &[Node]| {
        let mut stages = Vec::new();
        all(nodes, &mut stages);
        stages
    };
    let first = within(&block.block).into_iter().min();
    let again = again.map_or_else(Vec::new, |block| within(&block.block));
    for (number, stage) in (0..).zip(&read.stages) {
        let form = stage.as_ref();
        let Some(form) = form.filter(|stage| matches!(stage.kind, StageKind::Survey(_))) else {
            continue;
        };
        let id = &form.id;
        if first.is_some_and(|first| number >= first)
            && !again.contains(&number)
            && mentions(formula, &format!("answers.{id}."))
        {
            place.report_problem(format!("`{id}` does not come before what this guards, so that there are no answers yet and nobody gets there; ask for an earlier stage, or move `{id}` before it"));
        }
    }
}

/// Returns whether a formula has some words, and not as the end of longer ones.
fn mentions(formula: &str, words: &str) -> bool {
    let begins = |at: usize| {
        let before = formula[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "_.".contains(before))
    };
    formula.match_indices(words).any(|(at, _)| begins(at))
}

/// The numbers of the stages of some nodes.
fn all(nodes: &[Node], stages: &mut Vec<u16>) {
    for node in nodes {
        match node {
            Node::Stage(stage) => stages.push(*stage),
            Node::Block(block) => all(&block.block, stages),
        }
    }
}

/// Reports a walk that is longer than a route may be, at the smallest block that is too long.
pub(crate) fn check_length(read: &Read<'_>, design: &Design, timeline: &Cursor<'_>) {
    let visits = read.tree.iter().map(|node| visits(node, read, design));
    let Some(all) = visits.sum::<Option<usize>>() else {
        return;
    };
    if all > MAX_VISITS {
        timeline.report_problem(format!("the way has up to {all} visits of stages; the limit is {MAX_VISITS}, so lower `repeat` or remove stages"));
    }
}

/// Returns the most visits that a node makes; `None` if that is too many, which is then reported.
fn visits(node: &Node, read: &Read<'_>, design: &Design) -> Option<usize> {
    let Node::Block(block) = node else {
        return Some(1);
    };
    let inner: Option<Vec<usize>> = block
        .block
        .iter()
        .map(|node| visits(node, read, design))
        .collect();
    let mut inner = inner?;
    inner.sort_unstable_by(|a, b| b.cmp(a));
    let all = inner.iter().take(block.count_kept()).sum::<usize>() * block.count_copies(design);
    if all > MAX_VISITS {
        let place = &read.blocks[usize::from(block.number)];
        let key = if block.repeat > 1 {
            "repeat"
        } else {
            "for_each"
        };
        place.wrong_at(key, format!("the copies of this make up to {all} visits of stages; the limit of a way is {MAX_VISITS}, so make fewer"));
        return None;
    }
    Some(all)
}
