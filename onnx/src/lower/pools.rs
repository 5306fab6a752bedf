//! Pooling: one value for each place of a window.

use policy::network::{Conv, KernelStep, Pooling};

use super::sums::{as_small, read_pads, spread_shape};
use super::{Live, Lowered, Lowering};
use crate::proto::Node;
use crate::tensor::count;

impl Lowering {
    /// Lowers `MaxPool` and `AveragePool`.
    pub(super) fn pool(&mut self, node: &Node) -> Lowered<Live> {
        let from = self.input(node, 0)?;
        let from = self.enlive(from)?;
        // One dimension is a row of two.
        let lift = from.shape.len() == 3;
        let (batch, channels, size) = spread_shape(&from.shape)?;
        let twice = |name: &str| -> Lowered<Option<[u32; 2]>> {
            match (lift, node.ints(name)) {
                (_, None) => Ok(None),
                (true, Some([it])) => Ok(Some([1, as_small(*it)?])),
                (false, Some([a, b])) => Ok(Some([as_small(*a)?, as_small(*b)?])),
                (_, Some(ints)) => Err(format!("`{name}` is {ints:?}")),
            }
        };
        let mut shape = Conv {
            channels,
            size,
            filters: channels,
            kernel: twice("kernel_shape")?.ok_or("it has no `kernel_shape`")?,
            stride: twice("strides")?.unwrap_or([1, 1]),
            dilation: twice("dilations")?.unwrap_or([1, 1]),
            pads: [0; 4],
            groups: channels,
        };
        let sizes = [shape.kernel, shape.stride, shape.dilation];
        if batch != 1 || sizes.as_flattened().contains(&0) {
            return Err(format!(
                "windows of {:?} over {:?}",
                shape.kernel, from.shape
            ));
        }
        shape.pads = read_pads(node, &shape, lift)?;
        let pooling = match (node.op.as_str(), node.int("count_include_pad", 0)) {
            ("MaxPool", _) => Pooling::Max,
            (_, 0) => Pooling::Mean,
            _ if shape.pads == [0; 4] => Pooling::Mean,
            _ => Pooling::MeanPadded,
        };
        if node.int("ceil_mode", 0) != 0 {
            if pooling == Pooling::MeanPadded {
                return Err(
                    "`ceil_mode` with `count_include_pad` cannot be played; leave one out".into(),
                );
            }
            round_up(&mut shape);
        }
        let out = shape.out_size().map(|len| len as usize);
        let full = match lift {
            true => vec![1, channels as usize, out[1]],
            false => vec![1, channels as usize, out[0], out[1]],
        };
        let to = self.register(count(&full)?)?;
        let from = from.register;
        self.network.steps.push(KernelStep::Pool {
            from,
            to,
            shape,
            pooling,
        });
        Ok(Live {
            shape: full,
            register: to,
        })
    }
}

/// Adds padding at the end so that the last window is not lost, unless it would see padding alone.
fn round_up(shape: &mut Conv) {
    for axis in 0..2 {
        let room = shape.size[axis] + shape.pads[axis] + shape.pads[axis + 2];
        let reach = shape.dilation[axis] * (shape.kernel[axis] - 1) + 1;
        let Some(rest) = room.checked_sub(reach) else {
            continue;
        };
        let steps = rest.div_ceil(shape.stride[axis]);
        if steps * shape.stride[axis] < shape.size[axis] + shape.pads[axis] {
            shape.pads[axis + 2] += steps * shape.stride[axis] - rest;
        }
    }
}
