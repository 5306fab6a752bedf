//! Operators that calculate.

use policy::network::{Conv, KernelStep, Pair};

use super::{Live, Lowered, Lowering, Value};
use crate::proto::Node;
use crate::tensor::{Data, Tensor, count, places, strides};

impl Lowering {
    /// Lowers an operator that calculates; false if it is none that is known.
    pub(super) fn lower_sum(&mut self, node: &Node) -> Lowered<bool> {
        let live = match node.op.as_str() {
            "Conv" => self.conv(node)?,
            "BatchNormalization" => self.normalise(node)?,
            "MaxPool" | "AveragePool" => self.pool(node)?,
            _ => match self.lower_arithmetic(node)? {
                Some(value) => {
                    self.give(node, 0, value);
                    return Ok(true);
                }
                None => match self.product_operator(node)? {
                    Some(live) => live,
                    None => match self.row_operator(node)? {
                        Some(live) => live,
                        None => return Ok(false),
                    },
                },
            },
        };
        self.give(node, 0, Value::Live(live));
        Ok(true)
    }

    fn conv(&mut self, node: &Node) -> Lowered<Live> {
        let kernels = self.fixed(node, 1)?.ok_or("it has no kernels")?;
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        // One dimension is a row of two.
        let lift = from.shape.len() == 3;
        let (filters, channels, kernel) = spread_shape(&kernels.shape)?;
        let (batch, inputs, size) = spread_shape(&from.shape)?;
        let groups = node.int("group", 1);
        let twice = |name: &str| -> Lowered<[u32; 2]> {
            match node.ints(name) {
                None => Ok([1, 1]),
                Some(ints) => match (lift, ints) {
                    (true, [it]) => Ok([1, as_small(*it)?]),
                    (false, [a, b]) => Ok([as_small(*a)?, as_small(*b)?]),
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
            groups: as_small(groups)?,
        };
        shape.pads = read_pads(node, &shape, lift)?;
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
            Value::Fixed(tensor.pick_values(from.shape.clone(), &places))
        };
        let (scale, offset) = (self.enlive(spread(scale))?, self.enlive(spread(offset))?);
        let product = self.pair(Pair::Mul, &from, &scale)?;
        self.pair(Pair::Add, &product, &offset)
    }
}

/// Four axes, or three as a row of four: the first two, and the last.
pub(super) fn spread_shape(shape: &[usize]) -> Lowered<(u32, u32, [u32; 2])> {
    let small = |len: &usize| as_small(i64::try_from(*len).unwrap_or(i64::MAX));
    match shape {
        [a, b, height, width] => Ok((small(a)?, small(b)?, [small(height)?, small(width)?])),
        [a, b, width] => Ok((small(a)?, small(b)?, [1, small(width)?])),
        _ => Err(format!(
            "{shape:?}; convolutions have one or two dimensions"
        )),
    }
}

pub(super) fn as_small(value: i64) -> Lowered<u32> {
    let small = u32::try_from(value).ok().filter(|value| *value <= 4096);
    small.ok_or_else(|| format!("{value}, where at most 4096 can be"))
}

/// Padding around the input: above, left, below, right.
pub(super) fn read_pads(node: &Node, shape: &Conv, lift: bool) -> Lowered<[u32; 4]> {
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
        (true, Some([before, after])) => Ok([0, as_small(*before)?, 0, as_small(*after)?]),
        (false, Some([above, left, below, right])) => Ok([
            as_small(*above)?,
            as_small(*left)?,
            as_small(*below)?,
            as_small(*right)?,
        ]),
        (_, Some(pads)) => Err(format!("`pads` is {pads:?}")),
    }
}

/// A matrix turned over.
pub(super) fn transpose_values(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let at = |place: usize| values[place % rows * columns + place / rows];
    (0..values.len()).map(at).collect()
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
        Ok(transpose_values(rows, len, columns))
    }
}
