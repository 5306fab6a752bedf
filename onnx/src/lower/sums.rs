//! Operators that calculate.

use policy::network::{Conv, KernelStep, Map, Pair};

use super::moves::common;
use super::{Live, Lowered, Lowering, Value};
use crate::proto::Node;
use crate::tensor::{Data, Tensor, count, places, strides};

impl Lowering {
    /// Lowers an operator that calculates; false if it is none that is known.
    pub(super) fn sum(&mut self, node: &Node) -> Lowered<bool> {
        let live = match node.op.as_str() {
            "Add" | "Sub" | "Mul" | "Div" => {
                let value = self.arithmetic(node)?;
                self.give(node, 0, value);
                return Ok(true);
            }
            "Gemm" => self.gemm(node)?,
            "MatMul" => self.matmul(node)?,
            "Conv" => self.conv(node)?,
            "BatchNormalization" => self.normalise(node)?,
            _ => match self.function(node)? {
                Some(map) => {
                    let from = self.input(node, 0)?;
                    let from = self.enlive(from)?;
                    self.map(map, &from)?
                }
                None => return Ok(false),
            },
        };
        self.give(node, 0, Value::Live(live));
        Ok(true)
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
            "Clip" => {
                let low = self.bound(node, "min", 1, f32::NEG_INFINITY)?;
                Map::Clip(low, self.bound(node, "max", 2, f32::INFINITY)?)
            }
            _ => return Ok(None),
        }))
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

    fn arithmetic(&mut self, node: &Node) -> Lowered<Value> {
        let pair = match node.op.as_str() {
            "Add" => Pair::Add,
            "Sub" => Pair::Sub,
            "Mul" => Pair::Mul,
            _ => Pair::Div,
        };
        let (left, right) = (self.input(node, 0)?, self.input(node, 1)?);
        let shape = common(left.shape(), right.shape())?;
        let (left, right) = (
            self.broadcast(left, &shape)?,
            self.broadcast(right, &shape)?,
        );
        if let (Value::Fixed(left), Value::Fixed(right)) = (&left, &right) {
            return folded(pair, left, right).map(Value::Fixed);
        }
        let (left, right) = (self.enlive(left)?, self.enlive(right)?);
        self.pair(pair, &left, &right).map(Value::Live)
    }

    fn gemm(&mut self, node: &Node) -> Lowered<Live> {
        if node.int("transA", 0) != 0 {
            return Err(
                "`transA` turns the observation over; export the layer as a linear one".into(),
            );
        }
        let matrix = self.matrix(node, 1, node.int("transB", 0) != 0)?;
        let [inputs, outputs] = [matrix.0, matrix.1];
        let from = self.rows(node, inputs)?;
        let (alpha, beta) = (node.float("alpha", 1.0), node.float("beta", 1.0));
        let weights: Vec<f32> = matrix.2.iter().map(|weight| weight * alpha).collect();
        let bias = match self.fixed(node, 2)? {
            None => vec![0.0; outputs],
            Some(bias) => match bias.len() {
                1 => vec![bias.floats()[0] * beta; outputs],
                len if len == outputs => bias.floats().iter().map(|it| it * beta).collect(),
                _ => {
                    return Err(format!(
                        "its bias has the shape {:?}; one value an output is needed",
                        bias.shape
                    ));
                }
            },
        };
        let rows = count(&from.shape)? / inputs;
        self.dense(&from, rows, &weights, &bias, vec![rows, outputs])
    }

    fn matmul(&mut self, node: &Node) -> Lowered<Live> {
        let (inputs, outputs, weights) = self.matrix(node, 1, false)?;
        let from = self.rows(node, inputs)?;
        let rows = count(&from.shape)? / inputs;
        let mut shape = from.shape.clone();
        shape.pop();
        shape.push(outputs);
        self.dense(&from, rows, &weights, &vec![0.0; outputs], shape)
    }

    /// The first input of a node, whose last axis has so many values.
    fn rows(&mut self, node: &Node, inputs: usize) -> Lowered<Live> {
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        match from.shape.last() {
            Some(len) if *len == inputs => Ok(from),
            _ => Err(format!(
                "its weights take {inputs} values, and it is given {:?}",
                from.shape
            )),
        }
    }

    /// A constant matrix as `[input, output]`.
    fn matrix(&self, node: &Node, index: usize, turned: bool) -> Lowered<(usize, usize, Vec<f32>)> {
        let tensor = match self.input(node, index)? {
            Value::Fixed(tensor) => tensor,
            _ => return Err("a product of two values that depend on the observation, as in attention, cannot be played; export a policy that does without".into()),
        };
        let [rows, columns] = tensor.shape[..] else {
            return Err(format!(
                "weights of shape {:?}; a matrix is needed",
                tensor.shape
            ));
        };
        if rows == 0 || columns == 0 {
            return Err("its weights are empty".into());
        }
        match turned {
            false => Ok((rows, columns, tensor.floats())),
            true => Ok((columns, rows, transposed(&tensor.floats(), rows, columns))),
        }
    }

    fn conv(&mut self, node: &Node) -> Lowered<Live> {
        let kernels = self.fixed(node, 1)?.ok_or("it has no kernels")?;
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        // One dimension is a row of two.
        let lift = from.shape.len() == 3;
        let (filters, channels, kernel) = spread(&kernels.shape)?;
        let (batch, inputs, size) = spread(&from.shape)?;
        let groups = node.int("group", 1);
        let twice = |name: &str| -> Lowered<[u32; 2]> {
            match node.ints(name) {
                None => Ok([1, 1]),
                Some(ints) => match (lift, ints) {
                    (true, [it]) => Ok([1, small(*it)?]),
                    (false, [a, b]) => Ok([small(*a)?, small(*b)?]),
                    _ => Err(format!("`{name}` is {ints:?}")),
                },
            }
        };
        let mut shape = Conv {
            channels: inputs,
            size,
            filters,
            kernel,
            stride: twice("strides")?,
            dilation: twice("dilations")?,
            pads: [0; 4],
            groups: small(groups)?,
        };
        shape.pads = pads(node, &shape, lift)?;
        let fits =
            batch == 1 && shape.groups > 0 && channels.checked_mul(shape.groups) == Some(inputs);
        let sizes = [shape.channels, shape.filters, shape.groups].into_iter();
        let mut sizes = sizes
            .chain(size)
            .chain(kernel)
            .chain(shape.stride)
            .chain(shape.dilation);
        let is_small =
            sizes.all(|it| (1..=4096).contains(&it)) && shape.pads.iter().all(|it| *it <= 4096);
        if !fits || !is_small || !filters.is_multiple_of(shape.groups) {
            return Err(format!(
                "kernels of shape {:?} do not go with {:?}",
                kernels.shape, from.shape
            ));
        }
        let bias = match self.fixed(node, 2)? {
            Some(bias) if bias.len() == filters as usize => bias.floats(),
            Some(bias) => return Err(format!("its bias has the shape {:?}", bias.shape)),
            None => vec![0.0; filters as usize],
        };
        let out = shape.out_size().map(|len| len as usize);
        let full = match lift {
            true => vec![1, filters as usize, out[1]],
            false => vec![1, filters as usize, out[0], out[1]],
        };
        let (weights, bias) = (self.weights(&kernels.floats())?, self.weights(&bias)?);
        let to = self.register(count(&full)?)?;
        let from = from.register;
        self.network.steps.push(KernelStep::Conv {
            from,
            to,
            shape,
            weights,
            bias,
        });
        Ok(Live {
            shape: full,
            register: to,
        })
    }

    /// `(x - mean) / sqrt(variance + epsilon) * scale + bias` for each channel, as one product and one sum.
    fn normalise(&mut self, node: &Node) -> Lowered<Live> {
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        let channels = *from.shape.get(1).ok_or("it has no channels")?;
        let mut by_channel = Vec::new();
        for index in 1..5 {
            let tensor = self.fixed(node, index)?.ok_or("a part of it is missing")?;
            if tensor.len() != channels {
                return Err(format!("{} values for {channels} channels", tensor.len()));
            }
            by_channel.push(tensor.floats());
        }
        let epsilon = node.float("epsilon", 1e-5);
        let scale: Vec<f32> = by_channel[0]
            .iter()
            .zip(&by_channel[3])
            .map(|(scale, variance)| scale / (variance + epsilon).sqrt())
            .collect();
        let offset = by_channel[1].iter().zip(&by_channel[2]).zip(&scale);
        let offset: Vec<f32> = offset
            .map(|((bias, mean), scale)| bias - mean * scale)
            .collect();
        let mut steps = vec![0; from.shape.len()];
        steps[1] = 1;
        let places = places(&from.shape, &steps, 0)?;
        let spread = |values: Vec<f32>| {
            let tensor = Tensor {
                shape: vec![channels],
                data: Data::Floats(values),
            };
            Value::Fixed(tensor.pick(from.shape.clone(), &places))
        };
        let (scale, offset) = (self.enlive(spread(scale))?, self.enlive(spread(offset))?);
        let product = self.pair(Pair::Mul, &from, &scale)?;
        self.pair(Pair::Add, &product, &offset)
    }
}

/// Four axes, or three as a row of four: the first two, and the last.
fn spread(shape: &[usize]) -> Lowered<(u32, u32, [u32; 2])> {
    let small = |len: &usize| small(i64::try_from(*len).unwrap_or(i64::MAX));
    match shape {
        [a, b, height, width] => Ok((small(a)?, small(b)?, [small(height)?, small(width)?])),
        [a, b, width] => Ok((small(a)?, small(b)?, [1, small(width)?])),
        _ => Err(format!(
            "{shape:?}; convolutions have one or two dimensions"
        )),
    }
}

fn small(value: i64) -> Lowered<u32> {
    let small = u32::try_from(value).ok().filter(|value| *value <= 4096);
    small.ok_or_else(|| format!("{value}, where at most 4096 can be"))
}

/// Padding around the input: above, left, below, right.
fn pads(node: &Node, shape: &Conv, lift: bool) -> Lowered<[u32; 4]> {
    let auto = node.text("auto_pad");
    if let "SAME_UPPER" | "SAME_LOWER" = auto.as_str() {
        let mut pads = [0; 4];
        for axis in 0..2 {
            let stride = shape.stride[axis].max(1);
            let out = shape.size[axis].div_ceil(stride);
            let reach = out.saturating_sub(1) * stride
                + shape.dilation[axis] * shape.kernel[axis].saturating_sub(1)
                + 1;
            let all = reach.saturating_sub(shape.size[axis]);
            let less = all / 2;
            let (before, after) = if auto == "SAME_UPPER" {
                (less, all - less)
            } else {
                (all - less, less)
            };
            (pads[axis], pads[axis + 2]) = (before, after);
        }
        return Ok(pads);
    }
    match (lift, node.ints("pads")) {
        (_, None) => Ok([0; 4]),
        (true, Some([before, after])) => Ok([0, small(*before)?, 0, small(*after)?]),
        (false, Some([above, left, below, right])) => Ok([
            small(*above)?,
            small(*left)?,
            small(*below)?,
            small(*right)?,
        ]),
        (_, Some(pads)) => Err(format!("`pads` is {pads:?}")),
    }
}

/// A matrix turned over.
pub(super) fn transposed(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let at = |place: usize| values[place % rows * columns + place / rows];
    (0..values.len()).map(at).collect()
}

/// Arithmetic of constants of one shape.
fn folded(pair: Pair, left: &Tensor, right: &Tensor) -> Lowered<Tensor> {
    let data = match (&left.data, &right.data) {
        (Data::Ints(left), Data::Ints(right)) => {
            let one = |(left, right): (&i64, &i64)| match pair {
                Pair::Add => left.checked_add(*right),
                Pair::Sub => left.checked_sub(*right),
                Pair::Mul => left.checked_mul(*right),
                Pair::Div => left.checked_div(*right),
            };
            let all: Option<Vec<i64>> = left.iter().zip(right).map(one).collect();
            Data::Ints(all.ok_or("numbers out of range")?)
        }
        _ => {
            let one = |(left, right): (f32, f32)| match pair {
                Pair::Add => left + right,
                Pair::Sub => left - right,
                Pair::Mul => left * right,
                Pair::Div => left / right,
            };
            let (left, right) = (left.floats(), right.floats());
            Data::Floats(left.into_iter().zip(right).map(one).collect())
        }
    };
    Ok(Tensor {
        shape: left.shape.clone(),
        data,
    })
}

impl Tensor {
    /// A part of a tensor with three axes `[direction, row, column]` and one direction: some rows, turned over.
    pub(super) fn turned_rows(&self, start: usize, len: usize) -> Lowered<Vec<f32>> {
        let columns = *self.shape.last().ok_or("its weights have no axes")?;
        let step = strides(&self.shape).get(1).copied().unwrap_or(1);
        let values = self.floats();
        let rows = values
            .get(start * step..(start + len) * step)
            .ok_or("its weights are too few")?;
        Ok(transposed(rows, len, columns))
    }
}
