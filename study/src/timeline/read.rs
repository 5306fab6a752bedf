//! Reads the timeline: stages and blocks, nested as in the file.

use super::tree::{Block, ForEach, Node};
use crate::design;
use crate::folder::Source;
use crate::limits::{MAX_DEPTH, MAX_STAGES, MAX_VISITS};
use crate::problem::make_hint;
use crate::read::{Cursor, Fields};
use crate::stage::{self, Stage, StageKind};

/// The timeline as it was read: stages in the order of the file with all their places, for later checks.
pub(crate) struct Read<'a> {
    /// The way in which the stages are walked.
    pub tree: Vec<Node>,
    /// The stages, as far as they could be read.
    pub stages: Vec<Option<Stage>>,
    /// The place of each.
    pub places: Vec<Cursor<'a>>,
    /// The place of each block, by its number.
    pub blocks: Vec<Cursor<'a>>,
    /// The ids of stages and blocks, and where they stand.
    pub ids: Vec<(String, Cursor<'a>)>,
}

impl Read<'_> {
    /// The kind of a stage, if it could be read.
    pub(crate) fn kind(&self, stage: u16) -> Option<&StageKind> {
        let stage = self.stages.get(usize::from(stage))?.as_ref();
        stage.map(|stage| &stage.kind)
    }
}

/// The stage with which a study begins although it is not in the file's timeline, and the place where the file asks for
/// it; no stage if that could not be read.
pub(crate) type First<'a> = (Cursor<'a>, Option<Stage>);

/// Reads the timeline.
pub(crate) fn read<'a>(
    source: Source<'_>,
    place: &Cursor<'a>,
    first: Option<First<'a>>,
) -> Option<Read<'a>> {
    let mut reader = Reader {
        source,
        read: Read {
            tree: Vec::new(),
            stages: Vec::new(),
            places: Vec::new(),
            blocks: Vec::new(),
            ids: Vec::new(),
        },
    };
    if let Some((place, stage)) = first {
        reader.read.stages.push(stage);
        reader.read.places.push(place);
        reader.read.tree.push(Node::Stage(0));
    }
    let nodes = reader.nodes(place, 0)?;
    reader.read.tree.extend(nodes);
    let count = reader.read.stages.len();
    if count > MAX_STAGES {
        place.report_problem(format!("{count} stages; there must be at most {MAX_STAGES}; what is done again and again can stand once, in a block with `repeat` or `for_each`"));
        return None;
    }
    Some(reader.read)
}

struct Reader<'r, 'a> {
    source: Source<'r>,
    read: Read<'a>,
}

impl<'a> Reader<'_, 'a> {
    fn nodes(&mut self, place: &Cursor<'a>, depth: usize) -> Option<Vec<Node>> {
        let places = place.list("stages", MAX_STAGES)?;
        Some(
            places
                .iter()
                .filter_map(|place| self.node(place, depth))
                .collect(),
        )
    }

    /// Reads a node; `None` if nothing of it can be walked.
    fn node(&mut self, place: &Cursor<'a>, depth: usize) -> Option<Node> {
        place.named("node", |place| {
            let has_children = place.node.get("block").is_some();
            let stage = place.may(!has_children).then(|| self.stage(place, depth));
            let block = place.may(has_children).then(|| self.block(place, depth));
            stage.or(block).flatten()
        })
    }

    fn block(&mut self, place: &Cursor<'a>, depth: usize) -> Option<Node> {
        if depth == MAX_DEPTH {
            place.report_problem(format!(
                "a block inside {MAX_DEPTH} others; write the study with fewer blocks in each other"
            ));
            return None;
        }
        let number = self.number(place);
        let mut fields = place.fields("a block")?;
        let id = fields.key("id", "The name of the block. Unique in the study.");
        let id = id.maybe(|place| place.id()).flatten();
        self.named(id.clone(), place);
        let inner = fields.key("block", "The stages and blocks inside, in order.");
        let inner = inner.require_key("[…]", |place| self.nodes(&place, depth + 1));
        let mut block = wrapped(
            self.source,
            &mut fields,
            Block::of(inner.unwrap_or_default()),
        );
        let doc = "Whether each repetition shuffles the stages and blocks inside. Inner blocks stay whole.";
        block.shuffle = fields
            .key("shuffle", doc)
            .or(false, |place| place.read_flag())
            .unwrap_or(false);
        let count = block.block.len();
        let doc = "The number of stages or blocks inside that each repetition keeps, chosen at random. They stay in \
                   the order of the file, unless they are shuffled.";
        block.choose = fields
            .key("choose", doc)
            .maybe(|place| choose(&place, count))
            .flatten();
        fields.done();
        (block.id, block.number) = (id, number);
        (count > 0).then_some(Node::Block(block))
    }

    /// Reads a stage, in its own block if it says how it is walked.
    fn stage(&mut self, place: &Cursor<'a>, depth: usize) -> Option<Node> {
        let mut fields = place.fields("a stage")?;
        let (id, stage) = stage::read(self.source, &mut fields);
        let index = self.read.stages.len() as u16;
        self.read.stages.push(stage);
        self.read.places.push(place.clone());
        self.named(id, place);
        let mut block = wrapped(
            self.source,
            &mut fields,
            Block::of(vec![Node::Stage(index)]),
        );
        let is_env = place
            .node
            .get("type")
            .is_some_and(|kind| kind.is_text("env"));
        let after = is_env.then(|| fields.get("after_each")).flatten();
        fields.done();
        if after.is_none() && block == Block::of(vec![Node::Stage(index)]) {
            return Some(Node::Stage(index));
        }
        block.number = self.number(place);
        block
            .block
            .extend(after.and_then(|after| self.node(&after, depth + 1)));
        Some(Node::Block(block))
    }

    fn number(&mut self, place: &Cursor<'a>) -> u16 {
        self.read.blocks.push(place.clone());
        (self.read.blocks.len() - 1) as u16
    }

    fn named(&mut self, id: Option<String>, place: &Cursor<'a>) {
        self.read.ids.extend(id.map(|id| (id, place.clone())));
    }
}

/// Reads how a block, or a stage by itself, is walked.
fn wrapped(source: Source<'_>, fields: &mut Fields<'_>, mut block: Block) -> Block {
    let doc = "Repeats the stage or block once per value: a factor of `design.within`, or `{name: [values]}`. In \
               the `config` of an env stage, `{{ name }}` stands for the current value.";
    block.for_each = fields
        .key("for_each", doc)
        .maybe(|place| for_each(source, &place))
        .flatten();
    let most = MAX_VISITS as u16;
    let doc = "The number of repetitions. With `for_each`, per value.";
    block.repeat = fields
        .key("repeat", doc)
        .or(1, |place| place.read_whole(1..=most, "times"))
        .unwrap_or(1);
    let doc = "A formula: whether this repetition is shown. It is evaluated on arrival, over factors and loop \
               values, earlier answers, and earlier episodes.";
    block.guarded = fields
        .key("when", doc)
        .maybe(|place| place.text(1_000))
        .is_none_or(|text| text.is_some());
    block
}

/// The name of a factor, or `{name: [values]}`.
fn for_each(source: Source<'_>, place: &Cursor<'_>) -> Option<ForEach> {
    let factor = place
        .may(!place.is_block())
        .then(|| place.text(40).map(ForEach::Factor));
    let values = place
        .may(place.is_block())
        .then(|| values_of_its_own(source, place));
    factor.or(values).flatten()
}

/// A name and its values.
fn values_of_its_own(source: Source<'_>, place: &Cursor<'_>) -> Option<ForEach> {
    let entries = place.read_entries("a name and its values")?;
    let [(name, values)] = entries.as_slice() else {
        place.report_problem(format!("{} names; write one name and its values, such as `{{speed: [slow, fast]}}`, and put blocks into each other for more", entries.len()));
        return None;
    };
    let named = design::is_name(name, values);
    let places = values.list("values", 200)?;
    let read: Vec<_> = places
        .iter()
        .map(|place| design::read_level(place, source.partners))
        .collect();
    let values = read.into_iter().collect::<Option<Vec<_>>>()?;
    named.then(|| ForEach::Values {
        name: (*name).to_owned(),
        values,
    })
}

fn choose(place: &Cursor<'_>, count: usize) -> Option<u16> {
    let chosen: u16 = place.read_whole(1..=200, "children of the block")?;
    if usize::from(chosen) > count && count > 0 {
        place.report_problem(format!("{chosen} of {count} cannot be chosen; write a number from 1 to {count}, or add stages to the block"));
        return None;
    }
    Some(chosen)
}

/// A sentence about a name that is not known.
pub(super) fn unknown_message(what: &str, name: &str, known: &[&str]) -> String {
    match known.is_empty() {
        true => format!("unknown {what} `{name}`; none is known here"),
        false => format!("unknown {what} `{name}`; {}", make_hint(name, known)),
    }
}
