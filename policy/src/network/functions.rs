//! The functions and shapes that the steps of a network name.

use serde::{Deserialize, Serialize};

/// A function of one value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Map {
    /// Values above 0.
    Relu,
    /// Values above 0; below, this share of them.
    LeakyRelu(f32),
    /// Values above 0; below, this share of their exponential less 1.
    Elu(f32),
    /// Hyperbolic tangent.
    Tanh,
    /// `1 / (1 + exp(-x))`
    Sigmoid,
    /// Exponential.
    Exp,
    /// Not below the first, not above the second.
    Clip(f32, f32),
    /// The product with the first, divided by the second.
    Scale(f32, f32),
    /// Without its sign.
    Abs,
    /// With the other sign.
    Neg,
    /// Square root.
    Sqrt,
    /// `1 / x`
    Reciprocal,
    /// Natural logarithm.
    Log,
    /// -1, 0 or 1.
    Sign,
    /// The next whole number below.
    Floor,
    /// The next whole number above.
    Ceil,
    /// The nearest whole number; halves go to the even one.
    Round,
    /// The whole number towards 0.
    Trunc,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Error function.
    Erf,
    /// `x · Φ(x)`, with the normal distribution.
    Gelu,
    /// The same, approximated by a hyperbolic tangent.
    GeluTanh,
    /// `ln(1 + exp(x))`
    Softplus,
    /// `x / (1 + |x|)`
    Softsign,
    /// The first times the value, plus the second, within 0 and 1.
    HardSigmoid(f32, f32),
    /// 1 for 0, and 0 for everything else.
    Not,
}

impl Map {
    /// Checks whether its numbers are such that it can be computed.
    pub(super) fn is_sane(self) -> bool {
        match self {
            Self::LeakyRelu(by) | Self::Elu(by) => by.is_finite(),
            Self::Clip(low, high) => !low.is_nan() && !high.is_nan(),
            Self::Scale(by, divisor) => by.is_finite() && divisor.is_normal(),
            Self::HardSigmoid(by, more) => by.is_finite() && more.is_finite(),
            _ => true,
        }
    }

    /// Checks whether the first version of the kernels has it.
    pub(super) fn is_first(self) -> bool {
        matches!(
            self,
            Self::Relu
                | Self::LeakyRelu(_)
                | Self::Elu(_)
                | Self::Tanh
                | Self::Sigmoid
                | Self::Exp
                | Self::Clip(..)
        )
    }
}

/// A function of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pair {
    /// Their sum.
    Add,
    /// The left less the right.
    Sub,
    /// Their product.
    Mul,
    /// The left by the right.
    Div,
    /// The left to the power of the right.
    Pow,
    /// The greater.
    Max,
    /// The smaller.
    Min,
    /// 1 if the left is equal to the right, otherwise 0.
    Equal,
    /// 1 if the left is less than the right, otherwise 0.
    Less,
    /// 1 if the left is at most the right, otherwise 0.
    LessOrEqual,
    /// 1 if neither is 0, otherwise 0.
    And,
    /// 0 if both are 0, otherwise 1.
    Or,
    /// 1 if exactly one is 0, otherwise 0.
    Xor,
}

impl Pair {
    /// Checks whether the first version of the kernels has it.
    pub(super) fn is_first(self) -> bool {
        matches!(self, Self::Add | Self::Sub | Self::Mul | Self::Div)
    }
}

/// The function of a row of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their sum divided by their number.
    Mean,
    /// The greatest.
    Max,
    /// The least.
    Min,
    /// Their product.
    Product,
    /// The index of the greatest, of equal ones the first.
    ArgMax,
}

/// The function of the values in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pooling {
    /// The greatest.
    Max,
    /// Their mean; places outside do not count.
    Mean,
    /// Their mean; places outside count as 0.
    MeanPadded,
}

/// The sizes of products of matrices `[row, inner] · [inner, column]`, several of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrices {
    /// Number of products.
    pub count: u32,
    /// Rows of the left one.
    pub rows: u32,
    /// Columns of the left one, and rows of the right one.
    pub inner: u32,
    /// Columns of the right one.
    pub columns: u32,
}

/// The shape of a convolution; of two numbers the first is for rows, the second for columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conv {
    /// Channels of the input.
    pub channels: u32,
    /// Size of the input.
    pub size: [u32; 2],
    /// Channels of the output.
    pub filters: u32,
    /// Size of a kernel.
    pub kernel: [u32; 2],
    /// Steps between two outputs.
    pub stride: [u32; 2],
    /// Steps between two taps of a kernel.
    pub dilation: [u32; 2],
    /// Padding around the input: above, left, below, right.
    pub pads: [u32; 4],
    /// Groups into which channels and filters are split.
    pub groups: u32,
}

impl Conv {
    /// Size of the output; 0 where the kernel does not fit.
    pub fn out_size(&self) -> [u32; 2] {
        [0, 1].map(|axis| {
            let room = self.size[axis] + self.pads[axis] + self.pads[axis + 2];
            let reach = self.dilation[axis] * (self.kernel[axis] - 1) + 1;
            room.checked_sub(reach)
                .map_or(0, |room| room / self.stride[axis] + 1)
        })
    }

    /// Channels that a filter sees.
    pub(super) fn group_channels(&self) -> usize {
        (self.channels / self.groups) as usize
    }

    /// Filters of a group.
    pub(super) fn group_filters(&self) -> usize {
        (self.filters / self.groups) as usize
    }

    /// Values of one filter.
    pub(super) fn taps(&self) -> u64 {
        let [height, width] = self.kernel.map(u64::from);
        self.group_channels() as u64 * height * width
    }

    /// The place in the input that a tap of the kernel meets along an axis.
    pub(super) fn reach(&self, axis: usize, out: usize, tap: usize) -> Option<usize> {
        let at = out * self.stride[axis] as usize + tap * self.dilation[axis] as usize;
        let at = at.checked_sub(self.pads[axis] as usize)?;
        (at < self.size[axis] as usize).then_some(at)
    }

    /// Checks whether every number is in its bounds, so that no product of them overflows.
    pub(super) fn is_sane(&self) -> bool {
        let sizes = self.size.iter().chain(&self.kernel);
        let steps = self.stride.iter().chain(&self.dilation);
        let all = [self.channels, self.filters, self.groups];
        all.iter()
            .chain(sizes)
            .chain(steps)
            .all(|it| (1..=4096).contains(it))
            && self.pads.iter().all(|pad| *pad <= 4096)
            && self.channels.is_multiple_of(self.groups)
            && self.filters.is_multiple_of(self.groups)
    }
}
