//! The answers that guards distinguish: for every item in a guard, a few values, each of which represents all values
//! that guards treat alike.

use std::collections::BTreeMap;

use ::survey::{FormItem, ItemKind};
use formula::{Expr, Op, Value};

use super::tree::{Guard, Node};
use crate::stage::{Stage, StageKind};

/// The most choices of an item that are distinguished.
const MAX_CHOICES: usize = 24;

/// The path of an answer: stage and item.
type Path = (String, String);

/// The use that guards make of an answer.
#[derive(Debug, Default)]
struct Uses {
    literals: Vec<Value>,
    /// True if more is done with it than to compare it.
    is_more: bool,
}

/// For every form that guards ask about, the values of its items, by the number of its stage.
#[derive(Debug, Default)]
pub(super) struct AnswerCases {
    forms: BTreeMap<u16, BTreeMap<String, Vec<Value>>>,
}

impl AnswerCases {
    /// Finds the cases that the guards of a timeline distinguish.
    pub(super) fn of(nodes: &[Node], stages: &[Stage]) -> Self {
        let mut uses = BTreeMap::new();
        let mut too_early = Vec::new();
        let of_guard = |guard: &Guard, first: u16| {
            let mut own = BTreeMap::new();
            find_uses(guard.0.expr(), &mut own);
            for ((stage, item), found) in own {
                let is_it = |known: &Stage| known.id == stage;
                let asked = stages.iter().position(is_it);
                // What is asked behind a guard, it knows of the round before alone.
                if asked.is_some_and(|asked| asked >= usize::from(first)) {
                    too_early.push(stage.clone());
                }
                let all: &mut Uses = uses.entry((stage, item)).or_default();
                all.literals.extend(found.literals);
                all.is_more |= found.is_more;
            }
        };
        let mut of_guard = of_guard;
        visit_guards(nodes, &mut of_guard);
        let mut cases = Self::default();
        for ((stage, item), uses) in uses {
            let found = (0..).zip(stages).find(|(_, known)| known.id == stage);
            let Some((number, StageKind::Survey(form))) =
                found.map(|(number, stage)| (number, &stage.kind))
            else {
                continue;
            };
            let values = form.form.item(&item).and_then(|item| values_of(item, uses));
            if let Some(values) = values.filter(|_| !too_early.contains(&stage)) {
                cases.forms.entry(number).or_default().insert(item, values);
            }
        }
        cases
    }

    /// Returns the items of a form that guards use, and the values that they distinguish.
    pub(super) fn items(&self, form: u16) -> impl Iterator<Item = (&str, &[Value])> {
        let items = self.forms.get(&form).into_iter().flatten();
        items.map(|(item, values)| (item.as_str(), values.as_slice()))
    }
}

/// Visits every guard, with the first stage of what it guards.
fn visit_guards(nodes: &[Node], visit: &mut dyn FnMut(&Guard, u16)) {
    for node in nodes {
        let Node::Block(block) = node else { continue };
        if let (Some(guard), Some(first)) = (&block.when, first_stage(&block.block)) {
            visit(guard, first);
        }
        visit_guards(&block.block, visit);
    }
}

fn first_stage(nodes: &[Node]) -> Option<u16> {
    let first = |node: &Node| match node {
        Node::Stage(stage) => Some(*stage),
        Node::Block(block) => first_stage(&block.block),
    };
    nodes.iter().filter_map(first).min()
}

/// The path of an answer, if a formula is one.
fn path_of(expr: &Expr) -> Option<Path> {
    let (Op::Field(item), [form]) = (expr.op(), expr.args()) else {
        return None;
    };
    let (Op::Field(stage), [answers]) = (form.op(), form.args()) else {
        return None;
    };
    let is_answers = *answers.op() == Op::Variable("answers".to_owned());
    is_answers.then(|| (stage.clone(), item.clone()))
}

/// The value of a formula that is one.
fn literal_of(expr: &Expr) -> Option<Value> {
    match (expr.op(), expr.args()) {
        (Op::Bool(flag), _) => Some(Value::Bool(*flag)),
        (Op::Number(number), _) => Some(Value::Number(*number)),
        (Op::Text(text), _) => Some(Value::Text(text.clone())),
        (Op::Negate, [inner]) => match literal_of(inner)? {
            Value::Number(number) => Some(Value::Number(-number)),
            _ => None,
        },
        _ => None,
    }
}

/// Finds what a formula does with answers.
fn find_uses(expr: &Expr, uses: &mut BTreeMap<Path, Uses>) {
    if let Some(path) = path_of(expr) {
        uses.entry(path).or_default().is_more = true;
        return;
    }
    let found = match (expr.op(), expr.args()) {
        (Op::Equal | Op::NotEqual, [a, b]) => compared(a, b),
        (Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual, [a, b]) => {
            // No list of texts shows which ones come before or after another.
            let is_number =
                |(_, values): &(Path, Vec<Value>)| matches!(values[..], [Value::Number(_)]);
            compared(a, b).filter(is_number)
        }
        (Op::In, [value, list]) if *list.op() == Op::List(list.args().len() as u16) => {
            let literals = list.args().iter().map(literal_of);
            path_of(value).zip(literals.collect())
        }
        _ => None,
    };
    match found {
        Some((path, literals)) => uses.entry(path).or_default().literals.extend(literals),
        None => expr.args().iter().for_each(|arg| find_uses(arg, uses)),
    }
}

/// An answer and the value that it is compared with, in either order.
fn compared(a: &Expr, b: &Expr) -> Option<(Path, Vec<Value>)> {
    let one = |path: &Expr, literal: &Expr| Some((path_of(path)?, vec![literal_of(literal)?]));
    one(a, b).or_else(|| one(b, a))
}

/// Returns the values of an item that guards distinguish; `None` if that is not known.
fn values_of(item: &FormItem, uses: Uses) -> Option<Vec<Value>> {
    let choices = match &item.kind {
        ItemKind::One(choices) | ItemKind::List(choices) => Some(choices),
        ItemKind::Rating { points, .. } => Some(points),
        ItemKind::Boolean { .. } => return Some(vec![Value::Bool(true), Value::Bool(false)]),
        _ => None,
    };
    if let Some(choices) = choices.filter(|choices| choices.len() <= MAX_CHOICES) {
        let value =
            |choice: &::survey::ItemChoice| serde_json::from_value(choice.value.clone()).ok();
        return choices.iter().map(value).collect();
    }
    if uses.is_more {
        return None;
    }
    let mut numbers = Vec::new();
    let mut texts = Vec::new();
    for literal in uses.literals {
        match literal {
            Value::Number(number) => numbers.push(number),
            Value::Text(text) => texts.push(text),
            _ => return None,
        }
    }
    match (numbers.is_empty(), texts.is_empty()) {
        (false, true) => Some(around(numbers)),
        (true, false) => {
            // Somebody may have written something else.
            texts.push(texts.concat() + "?");
            texts.sort_unstable();
            texts.dedup();
            Some(texts.into_iter().map(Value::Text).collect())
        }
        _ => None,
    }
}

/// Returns some numbers, one between each two of them, and one on either side.
fn around(mut numbers: Vec<f64>) -> Vec<Value> {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.dedup();
    let mut all = Vec::new();
    let ends = [
        numbers.first().map(|first| first - 1.0),
        numbers.last().map(|last| last + 1.0),
    ];
    let between = numbers.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
    all.extend(between);
    all.extend(ends.into_iter().flatten());
    all.extend(numbers);
    all.into_iter().map(Value::Number).collect()
}
