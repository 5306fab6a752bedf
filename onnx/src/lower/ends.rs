//! The end of a policy: what is made of the values of actions to choose one. The choice is made from the values.

use policy::network::Map;

use super::{Live, Lowered, Lowering, Value, axis};
use crate::proto::Node;
use crate::tensor::count;

impl Lowering {
    /// Softmax and its like, and what may follow them; false for another operator on other values.
    pub(super) fn after_choice(&mut self, node: &Node) -> Lowered<bool> {
        let is_choice = matches!(node.op.as_str(), "Softmax" | "LogSoftmax" | "ArgMax");
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

    /// Takes an output as that which decides; gives its shape.
    pub(super) fn decide(&mut self, output: &str) -> Lowered<Vec<usize>> {
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
