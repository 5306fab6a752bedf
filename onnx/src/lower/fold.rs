//! Values that follow from constants alone: the kernels calculate them once, here.

use policy::Network;
use policy::network::ActionChoice;

use super::functions::pair_of;
use super::{Lowered, Lowering, Value};
use crate::proto::Node;
use crate::tensor::{Data, Tensor};

/// Operators that make whole numbers, of whatever.
const WHOLE: [&str; 3] = ["ArgMax", "ArgMin", "Not"];

/// Operators that make whole numbers of whole numbers.
const KEEPS: [&str; 7] = [
    "Abs",
    "Mod",
    "Neg",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
];

/// Operators on pairs of values, which fold constants themselves.
const CHAINED: [&str; 3] = ["Max", "Min", "Sum"];

impl Lowering {
    /// Calculates the result of a node whose inputs are constants; false if one is none.
    pub(super) fn fold_constants(&mut self, node: &Node) -> Lowered<bool> {
        let named = || node.inputs.iter().filter(|name| !name.is_empty());
        let fixed = |name: &String| matches!(self.values.get(name), Some(Value::Fixed(_)));
        let op = node.op.as_str();
        let folds_itself = pair_of(op).is_some() || CHAINED.contains(&op);
        if folds_itself || named().next().is_none() || !named().all(fixed) {
            return Ok(false);
        }
        let mut apart = Self {
            network: Network {
                fields: Vec::new(),
                registers: vec![1],
                steps: Vec::new(),
                memory: Vec::new(),
                mask: None,
                logits: 0,
                choice: ActionChoice::default(),
                weights: Vec::new(),
            },
            values: named()
                .filter_map(|name| Some((name.clone(), self.values.get(name)?.clone())))
                .collect(),
            opset: self.opset,
            ends: Default::default(),
        };
        let first = self.fixed(node, 0)?.ok_or("it has no input 0")?;
        let is_whole = WHOLE.contains(&op) || (KEEPS.contains(&op) && first.whole().is_ok());
        let live = apart.enlive(Value::Fixed(first))?;
        apart
            .values
            .insert(node.inputs[0].clone(), Value::Live(live));
        if !apart.lower_sum(node)? {
            return Ok(false);
        }
        let found = match apart.values.remove(&node.outputs[0]) {
            Some(Value::Live(found)) => found,
            Some(fixed @ Value::Fixed(_)) => {
                self.give(node, 0, fixed);
                return Ok(true);
            }
            _ => return Err("it has no result".into()),
        };
        apart.network.logits = found.register;
        apart.network.encode().map_err(|error| error.to_string())?;
        let values = apart.network.values(&[0.0], u64::MAX, &mut []);
        let data = match is_whole {
            true => Data::Ints(values.into_iter().map(|it| it as i64).collect()),
            false => Data::Floats(values),
        };
        let shape = found.shape;
        self.give(node, 0, Value::Fixed(Tensor { shape, data }));
        Ok(true)
    }
}
