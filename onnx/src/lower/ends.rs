//! The end of a policy: the operations that choose an action from the values. Here, the choice is made from the values.

use std::collections::BTreeSet;

use policy::network::Map;

use super::{Live, Lowered, Lowering, Value, axis};
use crate::proto::Node;
use crate::tensor::count;

/// Operators that keep the order of actions.
const CHOICES: [&str; 3] = ["Softmax", "LogSoftmax", "ArgMax"];

/// Operators that may follow them at the end.
const AFTER: [&str; 7] = [
    "Cast",
    "Flatten",
    "Identity",
    "Log",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
];

/// Finds the values that only the end of a policy uses: choices among them need not be calculated.
pub(super) fn find_ends(nodes: &[&Node], output: &str) -> BTreeSet<String> {
    let mut ends = BTreeSet::from([output.to_owned()]);
    for node in nodes.iter().rev() {
        let is_end = |name: &String| ends.contains(name);
        let op = node.op.as_str();
        if node.outputs.iter().any(is_end) && (CHOICES.contains(&op) || AFTER.contains(&op)) {
            ends.extend(node.inputs.first().cloned());
        }
    }
    // What anything else reads, too, must be calculated.
    loop {
        let before = ends.len();
        for node in nodes {
            let op = node.op.as_str();
            let goes_on = node.outputs.first().is_some_and(|it| ends.contains(it));
            if !goes_on || !(CHOICES.contains(&op) || AFTER.contains(&op)) {
                ends.retain(|name| !node.inputs.contains(name));
            }
        }
        if ends.len() == before {
            return ends;
        }
    }
}

impl Lowering {
    /// Softmax and its like, and what may follow them; false for another operator on other values.
    pub(super) fn after_choice(&mut self, node: &Node) -> Lowered<bool> {
        let is_end = node
            .outputs
            .first()
            .is_some_and(|it| self.ends.contains(it));
        let is_choice = is_end && CHOICES.contains(&node.op.as_str()) && self.is_single(node);
        let first = if node.inputs.is_empty() {
            None
        } else {
            self.optional(node, 0)?
        };
        let (from, by) = match first {
            Some(Value::Chosen { from, by }) => (from, by),
            Some(Value::Live(from)) if is_choice => (from, node.op.clone()),
            _ => return Ok(false),
        };
        let value = match node.op.as_str() {
            "ArgMax" => Value::Chosen {
                from,
                by: "ArgMax".into(),
            },
            "Softmax" | "LogSoftmax" => {
                // Before version 13 the default was the first axis after the batch, and all after it.
                let default = if self.opset < 13 { 1 } else { -1 };
                along(&from, axis(node.int("axis", default), from.shape.len())?)?;
                Value::Chosen { from, by }
            }
            "Log" if by == "Softmax" => Value::Chosen { from, by },
            "Identity" | "Cast" | "Squeeze" | "Unsqueeze" | "Reshape" | "Flatten" => {
                Value::Chosen { from, by }
            }
            _ => {
                return Err(format!(
                    "it goes on after {by}, which can only be at the end of a policy"
                ));
            }
        };
        self.give(node, 0, value);
        Ok(true)
    }

    /// Checks whether a node chooses along one axis that has all the values.
    fn is_single(&self, node: &Node) -> bool {
        let Some(Value::Live(from)) = node.inputs.first().and_then(|it| self.values.get(it)) else {
            return false;
        };
        let default = match node.op.as_str() {
            "ArgMax" => 0,
            _ if self.opset < 13 => 1,
            _ => -1,
        };
        // A row of its own chooses for everybody; several are calculated as they are.
        axis(node.int("axis", default), from.shape.len())
            .is_ok_and(|at| along(from, at).is_ok() || node.op == "ArgMax")
    }

    /// Takes an output as the deciding one; returns its shape.
    pub(super) fn decide_output(&mut self, output: &str) -> Lowered<Vec<usize>> {
        let value = self.values.get(output).cloned();
        let live = match value {
            Some(Value::Chosen { by, .. })
                if by == "ArgMax" && self.network.choice.temperature.is_some() =>
            {
                return Err(format!(
                    "`{output}` is the best action (ArgMax), so none can be drawn; export the values before it, or leave `sample` out"
                ));
            }
            Some(Value::Chosen { from, .. } | Value::Live(from)) => from,
            Some(Value::Fixed(_)) => {
                return Err(format!("`{output}` does not depend on the observation"));
            }
            None => return Err(format!("nothing makes the output `{output}`")),
        };
        self.network.logits = live.register;
        if live.register == 0 {
            // The observation itself decides.
            self.network.logits = self
                .map(Map::Clip(f32::NEG_INFINITY, f32::INFINITY), &live)?
                .register;
        }
        Ok(live.shape)
    }
}

/// Checks whether one axis has all the values.
fn along(value: &Live, axis: usize) -> Lowered<()> {
    let all = count(&value.shape)?;
    match value.shape[axis..].iter().product::<usize>() == all {
        true => Ok(()),
        false => Err(format!(
            "a choice in each of several rows ({:?}); a policy makes one",
            value.shape
        )),
    }
}
