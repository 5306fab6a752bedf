//! From a graph to a network: every value becomes a constant or a register, every node a few steps.

mod encoding;
mod ends;
mod fold;
mod functions;
mod moves;
mod pools;
mod products;
mod rearrange;
mod recurrent;
mod reductions;
mod slices;
mod sums;

use std::collections::{BTreeMap, BTreeSet};

use env_core::Spec;
use env_core::contract::FieldSpec;
use policy::Network;
use policy::network::{ActionChoice, Field, KernelStep, Map, MemoryRegister, Pair};

use crate::OnnxError;
use crate::graph::Graph;
use crate::proto::Node;
use crate::tensor::{Tensor, count};

/// The value behind a name of the graph.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Known before anything is played.
    Fixed(Tensor),
    /// In a register.
    Live(Live),
    /// An end of the graph: a result of these values that orders actions as they do.
    Chosen {
        from: Live,
        /// The operator that made it.
        by: String,
    },
}

/// A value in a register.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub shape: Vec<usize>,
    pub register: u16,
}

/// A result whose error leaves out the node.
pub(crate) type Lowered<T> = Result<T, String>;

/// A network that is being made.
pub(crate) struct Lowering {
    network: Network,
    values: BTreeMap<String, Value>,
    opset: i64,
    /// Names of values that only the end of the policy uses.
    ends: BTreeSet<String>,
}

/// Lowers the part of a graph that decides.
pub(crate) fn lower_graph(
    graph: &Graph,
    spec: &Spec,
    encoding: Option<&str>,
    choice: ActionChoice,
) -> Result<Network, OnnxError> {
    let fields = encoding::find_fields(graph, spec, encoding).map_err(OnnxError::Whole)?;
    let taken = fields.len().max(1);
    let (remembered, actions) = (graph.inputs.len() - taken, spec.actions.len());
    let Some(own) = graph
        .outputs
        .len()
        .checked_sub(remembered)
        .filter(|own| *own > 0)
    else {
        let message = format!(
            "{} inputs and {} outputs; the first input is the observation, and each further one needs an output that \
             follows those with the values of actions",
            graph.inputs.len(),
            graph.outputs.len()
        );
        return Err(OnnxError::Whole(message));
    };
    let (candidates, next) = graph.outputs.split_at(own);
    let mut found = Vec::new();
    for output in candidates {
        match one(graph, (spec, &fields), output, next, choice) {
            Ok((network, _)) if network.actions() == actions => return Ok(network),
            Ok((_, shape)) => found.push(format!("`{output}` {shape:?}")),
            // A value function beside the policy may have unknown operators.
            Err(_) if own > 1 && output != &candidates[own - 1] => {
                found.push(format!("`{output}`"))
            }
            Err(error) => return Err(error),
        }
    }
    let names: Vec<&str> = spec.actions.iter().map(|it| it.name.as_str()).collect();
    Err(OnnxError::Whole(format!(
        "no output has {actions} values, one for each action; there are {}. Choose the environment and the rules in which \
         the model was trained: the actions of `{}` are {}",
        found.join(", "),
        spec.id,
        names.join(", ")
    )))
}

/// Lowers what one output needs; also returns its shape.
fn one(
    graph: &Graph,
    (spec, fields): (&Spec, &[&FieldSpec]),
    output: &str,
    next: &[String],
    choice: ActionChoice,
) -> Result<(Network, Vec<usize>), OnnxError> {
    let taken = fields.len().max(1);
    let memory: Vec<_> = graph.inputs[taken..].iter().zip(next).collect();
    let mut wanted = vec![output];
    let nodes = loop {
        let (nodes, names) = graph.needed_nodes(&wanted);
        let more = memory.iter().find(|((enters, _), leaves)| {
            names.contains(enters) && !wanted.contains(&leaves.as_str())
        });
        match more {
            Some((_, leaves)) => wanted.push(leaves.as_str()),
            None => break nodes,
        }
    };
    let mut lowering = Lowering::new(graph, (spec, fields), choice)?;
    lowering.ends = ends::find_ends(&nodes, output);
    // What is remembered is calculated, whatever else is made of it.
    let is_kept = |name: &String| memory.iter().any(|(_, leaves)| *leaves == name);
    lowering.ends.retain(|name| !is_kept(name));
    for ((name, shape), leaves) in &memory {
        if wanted.contains(&leaves.as_str()) {
            let entered = lowering.entered(shape).map_err(OnnxError::Whole)?;
            lowering.network.memory.push(MemoryRegister {
                enters: entered.register,
                leaves: 0,
            });
            lowering.values.insert(name.clone(), Value::Live(entered));
        }
    }
    for node in nodes {
        let wrong = |why| OnnxError::Node {
            node: node.title(),
            why,
        };
        lowering.node(node).map_err(wrong)?;
    }
    let left = memory
        .iter()
        .filter(|(_, leaves)| wanted.contains(&leaves.as_str()));
    for (index, (_, leaves)) in left.enumerate() {
        let value = lowering.live(leaves).map_err(OnnxError::Whole)?;
        lowering.network.memory[index].leaves = value.register;
    }
    let shape = lowering.decide_output(output).map_err(OnnxError::Whole)?;
    Ok((lowering.network, shape))
}

impl Lowering {
    fn new(
        graph: &Graph,
        (spec, fields): (&Spec, &[&FieldSpec]),
        choice: ActionChoice,
    ) -> Result<Self, OnnxError> {
        let constants = graph.constants.iter();
        let constants = constants.map(|(name, it)| (name.clone(), Value::Fixed(it.clone())));
        let mut lowering = Self {
            network: Network {
                fields: Vec::new(),
                registers: Vec::new(),
                steps: Vec::new(),
                memory: Vec::new(),
                mask: None,
                logits: 0,
                choice,
                weights: Vec::new(),
            },
            values: constants.collect(),
            opset: graph.opset,
            ends: BTreeSet::new(),
        };
        lowering.network.choice.is_masked |= graph.metadata.is_masked;
        lowering.take(graph, fields).map_err(OnnxError::Whole)?;
        if let Some((name, shape)) = &graph.mask {
            let mask = lowering.entered(shape).map_err(OnnxError::Whole)?;
            if count(shape) != Ok(spec.actions.len()) {
                return Err(OnnxError::Whole(format!(
                    "input `{name}` takes a mask of {shape:?}, and `{}` has {} actions",
                    spec.id,
                    spec.actions.len()
                )));
            }
            lowering.network.mask = Some(mask.register);
            lowering.values.insert(name.clone(), Value::Live(mask));
        }
        Ok(lowering)
    }

    /// Returns the observation as the model takes it: multiplied by the factor in the metadata.
    fn observed(&mut self, graph: &Graph, shape: &[usize]) -> Lowered<Live> {
        let observed = self.entered(shape)?;
        match graph.metadata.scale {
            Some([by, divisor]) => self.map(Map::Scale(by, divisor), &observed),
            None => Ok(observed),
        }
    }

    /// Gives the first inputs their parts of the observation. An input may be larger than its field: missing values are
    /// 0, so one model plays kitchens with few pots and with many.
    fn take(&mut self, graph: &Graph, named: &[&FieldSpec]) -> Lowered<()> {
        if named.is_empty() {
            let (name, shape) = &graph.inputs[0];
            let observation = Value::Live(self.observed(graph, shape)?);
            self.values.insert(name.clone(), observation);
            return Ok(());
        }
        let inputs = graph.inputs.iter().zip(named);
        let lens = inputs.clone().map(|((name, shape), field)| {
            let (found, wanted) = (count(shape)?, field.shape.iter().product::<u32>() as usize);
            match found >= wanted {
                true => Ok(found),
                false => Err(format!(
                    "input `{name}` takes {found} values, and the field `{}` has {wanted}; give the input the size of \
                     the largest field that the model is to take",
                    field.name
                )),
            }
        });
        let lens: Vec<usize> = lens.collect::<Lowered<_>>()?;
        let all = self.observed(graph, &[1, lens.iter().sum()])?;
        let mut start = 0;
        for (((name, shape), field), len) in inputs.zip(lens) {
            let part = match len == all.shape[1] {
                true => all.clone(),
                false => self.take_part(&all, start, len)?,
            };
            let part = Live {
                shape: shape.clone(),
                ..part
            };
            self.values.insert(name.clone(), Value::Live(part));
            self.network.fields.push(Field {
                name: field.name.clone(),
                len: u32::try_from(len).map_err(|_| "an input is too large".to_owned())?,
            });
            start += len;
        }
        Ok(())
    }

    fn entered(&mut self, shape: &[usize]) -> Lowered<Live> {
        let register = self.register(count(shape)?)?;
        Ok(Live {
            shape: shape.to_vec(),
            register,
        })
    }

    fn node(&mut self, node: &Node) -> Lowered<()> {
        if !node.domain.is_empty() && node.domain != "ai.onnx" {
            return Err(format!(
                "an operator of `{}`; export with the standard operators alone",
                node.domain
            ));
        }
        if self.after_choice(node)?
            || self.lower_movement(node)?
            || self.fold_constants(node)?
            || self.lower_sum(node)?
        {
            return Ok(());
        }
        match node.op.as_str() {
            "LSTM" => self.lower_lstm(node),
            "GRU" => self.lower_gru(node),
            "RNN" => self.lower_rnn(node),
            op @ ("If" | "Loop" | "Scan") => Err(format!(
                "`{op}` repeats or skips a part of the model; export a single step of the policy, without loops"
            )),
            op => Err(format!(
                "`{op}` is not among the operators that can be played, which docs/agents.md lists; export a policy that \
                 does without"
            )),
        }
    }

    /// The value of an input of a node that must be there.
    fn input(&self, node: &Node, index: usize) -> Lowered<Value> {
        let missing = || format!("it has no input {index}");
        self.optional(node, index)?.ok_or_else(missing)
    }

    /// The value of an input of a node, if it has it.
    fn optional(&self, node: &Node, index: usize) -> Lowered<Option<Value>> {
        match node.inputs.get(index).filter(|name| !name.is_empty()) {
            None => Ok(None),
            Some(name) => match self.values.get(name) {
                Some(value) => Ok(Some(value.clone())),
                None => Err(format!("nothing makes its input `{name}`")),
            },
        }
    }

    /// An input that is known before anything is played.
    fn fixed(&self, node: &Node, index: usize) -> Lowered<Option<Tensor>> {
        match self.optional(node, index)? {
            None => Ok(None),
            Some(Value::Fixed(tensor)) => Ok(Some(tensor)),
            Some(_) => Err(format!(
                "its input {index} depends on the observation; only constants can be there"
            )),
        }
    }

    /// A value by its name, in a register.
    fn live(&mut self, name: &str) -> Lowered<Live> {
        let value = self.values.get(name).cloned();
        let value = value.ok_or_else(|| format!("nothing makes `{name}`"))?;
        self.enlive(value)
    }

    /// A value in a register; a constant gets one.
    fn enlive(&mut self, value: Value) -> Lowered<Live> {
        match value {
            Value::Live(live) => Ok(live),
            Value::Chosen { by, .. } => Err(format!(
                "it goes on after {by}, which can only be at the end of a policy"
            )),
            Value::Fixed(tensor) => {
                // A mask of infinities is as good with the greatest numbers.
                let finite = |value: f32| match value.is_infinite() {
                    true => f32::MAX.copysign(value),
                    false => value,
                };
                let values: Vec<f32> = tensor.floats().into_iter().map(finite).collect();
                let weights = self.weights(&values)?;
                let to = self.register(count(&tensor.shape)?)?;
                self.network
                    .steps
                    .push(KernelStep::Constant { to, weights });
                Ok(Live {
                    shape: tensor.shape,
                    register: to,
                })
            }
        }
    }

    fn give(&mut self, node: &Node, index: usize, value: Value) {
        if let Some(name) = node.outputs.get(index).filter(|name| !name.is_empty()) {
            self.values.insert(name.clone(), value);
        }
    }

    fn register(&mut self, len: usize) -> Lowered<u16> {
        let too_many = |_| "there are too many values".to_owned();
        let register = u16::try_from(self.network.registers.len()).map_err(too_many)?;
        let len = u32::try_from(len).map_err(|_| "a value is too large".to_owned())?;
        self.network.registers.push(len);
        Ok(register)
    }

    fn weights(&mut self, values: &[f32]) -> Lowered<u32> {
        if values.iter().any(|value| !value.is_finite()) {
            return Err(
                "a weight is infinite or not a number; look at how the training went".into(),
            );
        }
        let at = u32::try_from(self.network.weights.len());
        self.network.weights.extend_from_slice(values);
        at.map_err(|_| "there are too many weights".into())
    }

    fn map(&mut self, map: Map, from: &Live) -> Lowered<Live> {
        let to = self.register(count(&from.shape)?)?;
        let from_register = from.register;
        self.network.steps.push(KernelStep::Map {
            from: from_register,
            to,
            map,
        });
        Ok(Live {
            shape: from.shape.clone(),
            register: to,
        })
    }

    /// Two values of one shape.
    fn pair(&mut self, pair: Pair, left: &Live, right: &Live) -> Lowered<Live> {
        let to = self.register(count(&left.shape)?)?;
        let (left_register, right_register) = (left.register, right.register);
        self.network.steps.push(KernelStep::Pair {
            left: left_register,
            right: right_register,
            to,
            pair,
        });
        Ok(Live {
            shape: left.shape.clone(),
            register: to,
        })
    }

    /// A product with a matrix `[input, output]`, and a sum.
    fn dense(
        &mut self,
        from: &Live,
        rows: usize,
        weights: &[f32],
        bias: &[f32],
        shape: Vec<usize>,
    ) -> Lowered<Live> {
        let (weights, bias) = (self.weights(weights)?, self.weights(bias)?);
        let to = self.register(count(&shape)?)?;
        let rows = u32::try_from(rows).map_err(|_| "there are too many rows".to_owned())?;
        self.network.steps.push(KernelStep::Dense {
            from: from.register,
            to,
            rows,
            weights,
            bias,
        });
        Ok(Live {
            shape,
            register: to,
        })
    }
}

/// The index of an axis that may be counted from the end.
fn axis(axis: i64, rank: usize) -> Lowered<usize> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    match usize::try_from(from_start) {
        Ok(axis) if axis < rank => Ok(axis),
        _ => Err(format!("axis {axis} of a value with {rank} axes")),
    }
}
