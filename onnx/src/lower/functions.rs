//! Operators on single values and on pairs of them: functions, arithmetic, comparisons.

use policy::network::{KernelStep, Map, Pair};

use super::moves::common_shape;
use super::{Live, Lowered, Lowering, Value};
use crate::proto::Node;
use crate::tensor::{Data, Tensor};

/// Source: Klambauer et al. 2017; the numbers are those of the ONNX operator.
const SELU: [f32; 2] = [1.673_263_2, 1.050_701];

impl Lowering {
    /// Lowers a function of single values or of pairs; `None` if it is none.
    pub(super) fn lower_arithmetic(&mut self, node: &Node) -> Lowered<Option<Value>> {
        if let Some((pair, is_turned)) = pair_of(&node.op) {
            let (left, right) = (self.input(node, 0)?, self.input(node, 1)?);
            let (left, right) = if is_turned {
                (right, left)
            } else {
                (left, right)
            };
            return self.lower_pair(pair, left, right).map(Some);
        }
        if let Some(map) = self.function(node)? {
            let from = self.input(node, 0)?;
            let from = self.enlive(from)?;
            return Ok(Some(Value::Live(self.map(map, &from)?)));
        }
        let live = match node.op.as_str() {
            "Max" => return self.chained(node, Pair::Max).map(Some),
            "Min" => return self.chained(node, Pair::Min).map(Some),
            "Sum" => return self.chained(node, Pair::Add).map(Some),
            "Mean" => {
                let sum = self.chained(node, Pair::Add)?;
                let sum = self.enlive(sum)?;
                self.map(Map::Scale(1.0, node.inputs.len() as f32), &sum)?
            }
            "Clip" => self.clip(node)?,
            "Mod" => self.modulo(node)?,
            "PRelu" => self.sloped(node)?,
            "HardSwish" => self.gated(node, &[Map::HardSigmoid(1.0 / 6.0, 0.5)])?,
            "Mish" => self.gated(node, &[Map::Softplus, Map::Tanh])?,
            "Swish" => {
                let slope = node.float("alpha", 1.0);
                self.gated(node, &[Map::Scale(slope, 1.0), Map::Sigmoid])?
            }
            "Selu" => {
                let (alpha, gamma) = (node.float("alpha", SELU[0]), node.float("gamma", SELU[1]));
                self.applied(node, &[Map::Elu(alpha), Map::Scale(gamma, 1.0)])?
            }
            "Celu" => {
                let alpha = node.float("alpha", 1.0);
                let maps = [
                    Map::Scale(1.0, alpha),
                    Map::Elu(1.0),
                    Map::Scale(alpha, 1.0),
                ];
                self.applied(node, &maps)?
            }
            _ => return Ok(None),
        };
        Ok(Some(Value::Live(live)))
    }

    /// A function of each value.
    fn function(&self, node: &Node) -> Lowered<Option<Map>> {
        Ok(Some(match node.op.as_str() {
            "Relu" => Map::Relu,
            "LeakyRelu" => Map::LeakyRelu(node.float("alpha", 0.01)),
            "Elu" => Map::Elu(node.float("alpha", 1.0)),
            "Tanh" => Map::Tanh,
            "Sigmoid" => Map::Sigmoid,
            "Exp" => Map::Exp,
            "Abs" => Map::Abs,
            "Neg" => Map::Neg,
            "Sqrt" => Map::Sqrt,
            "Reciprocal" => Map::Reciprocal,
            "Log" => Map::Log,
            "Sign" => Map::Sign,
            "Floor" => Map::Floor,
            "Ceil" => Map::Ceil,
            "Round" => Map::Round,
            "Sin" => Map::Sin,
            "Cos" => Map::Cos,
            "Erf" => Map::Erf,
            "Softplus" => Map::Softplus,
            "Softsign" => Map::Softsign,
            "Not" => Map::Not,
            "HardSigmoid" => Map::HardSigmoid(node.float("alpha", 0.2), node.float("beta", 0.5)),
            "Gelu" => match node.text("approximate").as_str() {
                "tanh" => Map::GeluTanh,
                _ => Map::Gelu,
            },
            "Clip" if self.has_fixed_bounds(node)? => {
                let low = self.bound(node, "min", 1, f32::NEG_INFINITY)?;
                Map::Clip(low, self.bound(node, "max", 2, f32::INFINITY)?)
            }
            _ => return Ok(None),
        }))
    }

    fn has_fixed_bounds(&self, node: &Node) -> Lowered<bool> {
        let is_live = |value: Option<Value>| matches!(value, Some(Value::Live(_)));
        Ok(!is_live(self.optional(node, 1)?) && !is_live(self.optional(node, 2)?))
    }

    fn bound(&self, node: &Node, attribute: &str, index: usize, none: f32) -> Lowered<f32> {
        match self.fixed(node, index)? {
            Some(tensor) => tensor
                .floats()
                .first()
                .copied()
                .ok_or_else(|| "a bound is empty".into()),
            None => Ok(node.float(attribute, none)),
        }
    }

    /// Bounds that depend on the observation.
    fn clip(&mut self, node: &Node) -> Lowered<Live> {
        let mut value = self.input(node, 0)?;
        for (index, pair) in [(1, Pair::Max), (2, Pair::Min)] {
            if let Some(bound) = self.optional(node, index)? {
                value = self.lower_pair(pair, value, bound)?;
            }
        }
        self.enlive(value)
    }

    /// Some functions, one after the other.
    fn applied(&mut self, node: &Node, maps: &[Map]) -> Lowered<Live> {
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        maps.iter()
            .try_fold(from, |from, map| self.map(*map, &from))
    }

    /// The product of a value with a function of it.
    fn gated(&mut self, node: &Node, maps: &[Map]) -> Lowered<Live> {
        let gate = self.applied(node, maps)?;
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        self.pair(Pair::Mul, &from, &gate)
    }

    /// A function of any number of values, two at a time.
    fn chained(&mut self, node: &Node, pair: Pair) -> Lowered<Value> {
        let first = self.input(node, 0)?;
        (1..node.inputs.len()).try_fold(first, |all, index| {
            let next = self.input(node, index)?;
            self.lower_pair(pair, all, next)
        })
    }

    /// The rest of a division: with the sign of the right value, or of the left one.
    fn modulo(&mut self, node: &Node) -> Lowered<Live> {
        let (left, right) = (self.input(node, 0)?, self.input(node, 1)?);
        let times = self.lower_pair(Pair::Div, left.clone(), right.clone())?;
        let times = self.enlive(times)?;
        let whole = match node.int("fmod", 0) {
            0 => self.map(Map::Floor, &times)?,
            _ => self.map(Map::Trunc, &times)?,
        };
        let all = self.lower_pair(Pair::Mul, Value::Live(whole), right)?;
        let rest = self.lower_pair(Pair::Sub, left, all)?;
        self.enlive(rest)
    }

    /// Values above 0; below, a share of them that was trained.
    fn sloped(&mut self, node: &Node) -> Lowered<Live> {
        let (from, slope) = (self.input(node, 0)?, self.input(node, 1)?);
        let less = self.lower_pair(Pair::Mul, from.clone(), slope)?;
        let (from, less) = (self.enlive(from)?, self.enlive(less)?);
        let above = self.map(Map::Relu, &from)?;
        let to = self.register(crate::tensor::count(&from.shape)?)?;
        self.network.steps.push(KernelStep::Select {
            condition: above.register,
            left: from.register,
            right: less.register,
            to,
        });
        Ok(Live {
            shape: from.shape,
            register: to,
        })
    }

    /// A function of two values, each repeated to the shape of both.
    pub(super) fn lower_pair(&mut self, pair: Pair, left: Value, right: Value) -> Lowered<Value> {
        let shape = common_shape(left.shape(), right.shape())?;
        let (left, right) = (
            self.broadcast_value(left, &shape)?,
            self.broadcast_value(right, &shape)?,
        );
        if let (Value::Fixed(left), Value::Fixed(right)) = (&left, &right) {
            return folded(pair, left, right).map(Value::Fixed);
        }
        let (left, right) = (self.enlive(left)?, self.enlive(right)?);
        self.pair(pair, &left, &right).map(Value::Live)
    }
}

/// The function of two values behind an operator, and whether the right one comes first.
pub(super) fn pair_of(op: &str) -> Option<(Pair, bool)> {
    Some(match op {
        "Add" => (Pair::Add, false),
        "Sub" => (Pair::Sub, false),
        "Mul" => (Pair::Mul, false),
        "Div" => (Pair::Div, false),
        "Pow" => (Pair::Pow, false),
        "Equal" => (Pair::Equal, false),
        "Less" => (Pair::Less, false),
        "LessOrEqual" => (Pair::LessOrEqual, false),
        "Greater" => (Pair::Less, true),
        "GreaterOrEqual" => (Pair::LessOrEqual, true),
        "And" => (Pair::And, false),
        "Or" => (Pair::Or, false),
        "Xor" => (Pair::Xor, false),
        _ => return None,
    })
}

/// A function of two constants of one shape.
fn folded(pair: Pair, left: &Tensor, right: &Tensor) -> Lowered<Tensor> {
    let data = match (&left.data, &right.data) {
        (Data::Ints(left), Data::Ints(right)) => {
            let each = left.iter().zip(right);
            let all: Option<Vec<i64>> = each.map(|(a, b)| whole(pair, *a, *b)).collect();
            Data::Ints(all.ok_or("numbers out of range")?)
        }
        _ => {
            let (left, right) = (left.floats(), right.floats());
            let each = left.into_iter().zip(right);
            let all: Vec<f32> = each.map(|(a, b)| fractional(pair, a, b)).collect();
            match pair {
                Pair::Add | Pair::Sub | Pair::Mul | Pair::Div => Data::Floats(all),
                Pair::Pow | Pair::Max | Pair::Min => Data::Floats(all),
                _ => Data::Ints(all.into_iter().map(|it| it as i64).collect()),
            }
        }
    };
    Ok(Tensor {
        shape: left.shape.clone(),
        data,
    })
}

fn whole(pair: Pair, left: i64, right: i64) -> Option<i64> {
    match pair {
        Pair::Add => left.checked_add(right),
        Pair::Sub => left.checked_sub(right),
        Pair::Mul => left.checked_mul(right),
        Pair::Div => left.checked_div(right),
        Pair::Pow => left.checked_pow(u32::try_from(right).ok()?),
        Pair::Max => Some(left.max(right)),
        Pair::Min => Some(left.min(right)),
        Pair::Equal => Some(i64::from(left == right)),
        Pair::Less => Some(i64::from(left < right)),
        Pair::LessOrEqual => Some(i64::from(left <= right)),
        Pair::And => Some(i64::from(left != 0 && right != 0)),
        Pair::Or => Some(i64::from(left != 0 || right != 0)),
        Pair::Xor => Some(i64::from((left != 0) != (right != 0))),
    }
}

/// The result is a constant of the network, the same on every machine, so that a model has one hash.
fn fractional(pair: Pair, left: f32, right: f32) -> f32 {
    match pair {
        Pair::Add => left + right,
        Pair::Sub => left - right,
        Pair::Mul => left * right,
        Pair::Div => left / right,
        Pair::Pow => libm::powf(left, right),
        Pair::Max if left < right => right,
        Pair::Min if right < left => right,
        Pair::Max | Pair::Min => left,
        Pair::Equal => f32::from(left == right),
        Pair::Less => f32::from(left < right),
        Pair::LessOrEqual => f32::from(left <= right),
        Pair::And => f32::from(left != 0.0 && right != 0.0),
        Pair::Or => f32::from(left != 0.0 || right != 0.0),
        Pair::Xor => f32::from((left != 0.0) != (right != 0.0)),
    }
}
