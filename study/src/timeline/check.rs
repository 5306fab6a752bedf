//! Checks of the tree itself: ids that are there twice, stages that nobody reaches, and the length of the walk.

use std::collections::BTreeMap;

use crate::design::Design;
use crate::read::Place;
use crate::stage::Kind;

use super::read::Read;
use super::{Block, MAX_VISITS, Node, names};

/// Reports ids that are there twice, and those that formulas know as something else.
pub(crate) fn ids(read: &Read<'_>) {
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
        let stage = stage.filter(|stage| matches!(stage.kind, Kind::Env(_)));
        if let Some((name, means)) = stage.and_then(|stage| names::fact(&stage.id)) {
            let message = format!(
                "formulas call {means} `{name}`, and the episodes of this stage would hide that; give the stage another id, such as `{name}_play`"
            );
            place.wrong_at("id", message);
        }
    }
}

/// Reports end stages behind which something stands that is never reached. Gives whether the timeline surely ends in one.
pub(crate) fn ends(read: &Read<'_>) -> bool {
    ends_in(&read.tree, read)
}

fn ends_in(nodes: &[Node], read: &Read<'_>) -> bool {
    let last = nodes.len().saturating_sub(1);
    let mut surely = false;
    for (at, node) in nodes.iter().enumerate() {
        let ends = match node {
            Node::Stage(stage) => matches!(read.kind(*stage), Some(Kind::End(_))),
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
    let is_sequence = block.kept() == block.block.len() && !block.shuffle;
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
    place.wrong("an end stage before the last stage; what follows is never reached, so move it to the end of the timeline");
}

/// Reports a walk that is longer than a route may be, at the smallest block that is too long.
pub(crate) fn length(read: &Read<'_>, design: &Design, timeline: &Place<'_>) {
    let visits = read.tree.iter().map(|node| visits(node, read, design));
    let Some(all) = visits.sum::<Option<usize>>() else {
        return;
    };
    if all > MAX_VISITS {
        timeline.wrong(format!("the way has up to {all} visits of stages; the limit is {MAX_VISITS}, so lower `repeat` or remove stages"));
    }
}

/// The most visits that a node makes; none if that is too many, which is then reported.
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
    let all = inner.iter().take(block.kept()).sum::<usize>() * block.copies(design);
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
