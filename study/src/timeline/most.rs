//! The longest way through a timeline. Of arms that exclude each other, by the levels of factors or by the answers to a
//! form, only one counts.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use formula::Value;

use super::cases::AnswerCases;
use super::tree::{Block, ForEach, Guard, Node};
use crate::design::{Design, Level};
use crate::stage::Stage;

/// The most cases of answers that are walked through together; further answers count as unknown.
const MAX_CASES: usize = 256;

/// The values of names in a copy, as far as they are known before any participant comes.
type Known = BTreeMap<String, Value>;

/// A walk through all ways.
struct Walk<'a> {
    design: &'a Design,
    stages: &'a [Stage],
    cases: &'a AnswerCases,
    /// The weight of a stage where names have these values.
    weight: &'a dyn Fn(u16, &Known) -> f64,
}

/// Returns the greatest sum of a walk of some nodes, where each stage counts as much as `weight` says.
pub(crate) fn greatest_weight(
    nodes: &[Node],
    design: &Design,
    stages: &[Stage],
    weight: &dyn Fn(u16) -> f64,
) -> f64 {
    let treatments = design.list_treatments().into_iter();
    let walks = treatments.map(|treatment| most_in(nodes, design, stages, &treatment, weight));
    walks.fold(0.0, f64::max)
}

/// The same, of a walk with a treatment.
pub(crate) fn most_in(
    nodes: &[Node],
    design: &Design,
    stages: &[Stage],
    treatment: &[usize],
    weight: &dyn Fn(u16) -> f64,
) -> f64 {
    walk(nodes, design, stages, treatment, &|stage, _| weight(stage))
}

/// Returns the combinations of values that names have where participants with a treatment may reach a stage; none if
/// they surely do not reach it.
pub(crate) fn values_at(
    nodes: &[Node],
    design: &Design,
    stages: &[Stage],
    treatment: &[usize],
    stage: u16,
    names: &BTreeSet<String>,
) -> BTreeSet<Vec<String>> {
    let found = RefCell::new(BTreeSet::new());
    walk(nodes, design, stages, treatment, &|other, known| {
        if other == stage {
            let value = |name: &String| {
                known
                    .get(name)
                    .map_or(String::new(), |value| format!("{value:?}"))
            };
            found.borrow_mut().insert(names.iter().map(value).collect());
        }
        0.0
    });
    found.into_inner()
}

fn walk(
    nodes: &[Node],
    design: &Design,
    stages: &[Stage],
    treatment: &[usize],
    weight: &dyn Fn(u16, &Known) -> f64,
) -> f64 {
    let cases = AnswerCases::of(nodes, stages);
    let walk = Walk {
        design,
        stages,
        cases: &cases,
        weight,
    };
    let levels = design.between.iter().zip(treatment);
    let known = levels.map(|(factor, level)| (factor.name.clone(), &factor.levels[*level]));
    let known = known.filter_map(|(name, level)| Some((name, value_of(level)?)));
    walk.most_by_answers(nodes, &known.collect(), &|known| walk.most_of(nodes, known))
}

fn value_of(level: &Level) -> Option<Value> {
    serde_json::from_value(level.value.clone()).ok()
}

/// The values of names once a form was answered like this.
fn with_answer(known: &Known, stage: &str, item: &str, value: &Value) -> Known {
    let mut known = known.clone();
    let empty = || Value::Record(BTreeMap::new());
    if let Value::Record(answers) = known.entry("answers".to_owned()).or_insert_with(empty)
        && let Value::Record(items) = answers.entry(stage.to_owned()).or_insert_with(empty)
    {
        items.insert(item.to_owned(), value.clone());
    }
    known
}

impl Walk<'_> {
    /// Returns the greatest sum of the nodes over the answers to the forms among them, which are answered once.
    fn most_by_answers(&self, nodes: &[Node], known: &Known, of: &dyn Fn(&Known) -> f64) -> f64 {
        let mut forms = Vec::new();
        self.find_forms(nodes, &mut forms);
        let mut all = vec![known.clone()];
        for form in forms {
            let Some(stage) = self.stages.get(usize::from(form)) else {
                continue;
            };
            for (item, values) in self.cases.items(form) {
                if all.len() * values.len() > MAX_CASES {
                    continue;
                }
                let with = |known: &Known| {
                    let each = values.iter();
                    let each = each.map(|value| with_answer(known, &stage.id, item, value));
                    each.collect::<Vec<_>>()
                };
                all = all.iter().flat_map(with).collect();
            }
        }
        all.iter().map(of).fold(0.0, f64::max)
    }

    /// Finds the stages of some nodes, except those of blocks that are walked several times.
    fn find_forms(&self, nodes: &[Node], forms: &mut Vec<u16>) {
        for node in nodes {
            match node {
                Node::Stage(stage) => forms.push(*stage),
                Node::Block(block) if block.count_copies(self.design) > 1 => {}
                Node::Block(block) => self.find_forms(&block.block, forms),
            }
        }
    }

    fn most_of(&self, nodes: &[Node], known: &Known) -> f64 {
        let of = |node: &Node| match node {
            Node::Stage(stage) => (self.weight)(*stage, known),
            Node::Block(block) => self.most_of_block(block, known),
        };
        nodes.iter().map(of).sum()
    }

    fn most_of_block(&self, block: &Block, known: &Known) -> f64 {
        let copies = match &block.for_each {
            None => vec![known.clone()],
            Some(each) => {
                let copy = |level: &Level| {
                    let mut inner = known.clone();
                    inner.extend(
                        value_of(level).map(|value| (ForEach::name(each).to_owned(), value)),
                    );
                    inner
                };
                each.levels_of(self.design).iter().map(copy).collect()
            }
        };
        let is_again = block.count_copies(self.design) > 1;
        let copies = copies.iter().map(|known| match is_again {
            true => self.most_by_answers(&block.block, known, &|known| {
                self.most_of_copy(block, known)
            }),
            false => self.most_of_copy(block, known),
        });
        copies.sum::<f64>() * f64::from(block.repeat)
    }

    /// Returns the greatest sum of a copy: nothing if its guard surely does not hold.
    fn most_of_copy(&self, block: &Block, known: &Known) -> f64 {
        if block
            .when
            .as_ref()
            .is_some_and(|guard| !may_hold(guard, known))
        {
            return 0.0;
        }
        let children = block.block.iter();
        let children = children.map(|node| self.most_of(std::slice::from_ref(node), known));
        let mut children: Vec<f64> = children.collect();
        children.sort_unstable_by(|a, b| b.total_cmp(a));
        children.into_iter().take(block.count_kept()).sum()
    }
}

/// Returns whether a guard may hold, as far as is known. What is not known yet may be there when it is asked.
fn may_hold(Guard(guard): &Guard, known: &Known) -> bool {
    let asks_what_is_there = guard
        .expr()
        .ops()
        .any(|op| matches!(op, formula::Op::Has(_)));
    asks_what_is_there || guard.eval(known) != Ok(Value::Bool(false))
}
