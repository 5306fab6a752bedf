//! The steps of a network, and the check that makes every one of them safe to do.

use serde::{Deserialize, Serialize};

use super::{MAX_EVERY, MAX_VALUES, MAX_WORK, Network, NetworkError, kernels, too_large};

/// Fills a register from earlier ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum KernelStep {
    /// A product with a matrix and a sum, for each row.
    Dense {
        /// `[row, input]`
        from: u16,
        /// `[row, output]`
        to: u16,
        /// Number of rows.
        rows: u32,
        /// Where the matrix begins, `[input, output]`.
        weights: u32,
        /// Where the sum begins, `[output]`.
        bias: u32,
    },
    /// A two-dimensional convolution.
    Conv {
        /// `[channel, row, column]`
        from: u16,
        /// `[filter, row, column]`
        to: u16,
        /// The shapes of the convolution.
        shape: Conv,
        /// Where the kernels begin, `[filter, channel, row, column]`.
        weights: u32,
        /// Where the sum begins, `[filter]`.
        bias: u32,
    },
    /// A function of each value.
    Map {
        /// Its values.
        from: u16,
        /// As many.
        to: u16,
        /// The function.
        map: Map,
    },
    /// A function of two values.
    Pair {
        /// The left ones.
        left: u16,
        /// The right ones, as many.
        right: u16,
        /// As many.
        to: u16,
        /// The function.
        pair: Pair,
    },
    /// Values by their places in several registers, one after the other.
    Pick {
        /// The registers.
        from: Vec<u16>,
        /// As many as there are places.
        to: u16,
        /// The places.
        places: Vec<u32>,
    },
    /// Values that never change.
    Constant {
        /// As many.
        to: u16,
        /// Where they begin.
        weights: u32,
    },
}

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
}

impl Map {
    fn is_finite(self) -> bool {
        match self {
            Self::LeakyRelu(by) | Self::Elu(by) => by.is_finite(),
            Self::Clip(low, high) => !low.is_nan() && !high.is_nan(),
            Self::Relu | Self::Tanh | Self::Sigmoid | Self::Exp => true,
        }
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
    fn is_sane(&self) -> bool {
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

impl Network {
    /// Checks every step, and the whole.
    pub(super) fn check(&self) -> Result<(), NetworkError> {
        let values: u64 = self.registers.iter().map(|len| u64::from(*len)).sum();
        if values > MAX_VALUES {
            return Err(too_large("values", values, MAX_VALUES));
        }
        if self.registers.contains(&0) || self.registers.is_empty() {
            return Err(NetworkError::Whole("a register is empty"));
        }
        let fields: u64 = self.fields.iter().map(|field| u64::from(field.len)).sum();
        if !self.fields.is_empty() && fields != self.len(0) as u64 {
            return Err(NetworkError::Whole("the fields do not fit"));
        }
        if !self.weights.iter().all(|weight| weight.is_finite()) {
            return Err(NetworkError::Whole("a weight is infinite or not a number"));
        }
        let Some(mut filled) = self.entered() else {
            return Err(NetworkError::Whole("what it remembers does not fit"));
        };
        let mut work = 0_u64;
        for (step, done) in self.steps.iter().enumerate() {
            let (cost, to) =
                (self.fit(done, &filled)).map_err(|why| NetworkError::KernelStep { step, why })?;
            work = work.saturating_add(cost);
            filled[usize::from(to)] = true;
        }
        if work > MAX_WORK {
            return Err(too_large("multiplications for a decision", work, MAX_WORK));
        }
        let left = self.memory.iter().map(|memory| memory.leaves);
        if !left
            .chain([self.logits])
            .all(|register| is_set(&filled, register))
        {
            return Err(NetworkError::Whole("a result is never filled"));
        }
        if self.actions() > usize::from(u16::MAX) {
            return Err(NetworkError::Whole("there are too many actions"));
        }
        let choice = &self.choice;
        let warm = choice
            .temperature
            .is_none_or(|it| it.is_finite() && it > 0.0);
        match (1..=MAX_EVERY).contains(&choice.every) && warm {
            true => Ok(()),
            false => Err(NetworkError::Whole("the choice is out of its bounds")),
        }
    }

    /// The registers that are filled before the first step.
    fn entered(&self) -> Option<Vec<bool>> {
        let mut filled = vec![false; self.registers.len()];
        filled[0] = true;
        for memory in &self.memory {
            let enters = filled.get_mut(usize::from(memory.enters))?;
            if std::mem::replace(enters, true) || self.len(memory.enters) != self.len(memory.leaves)
            {
                return None;
            }
        }
        Some(filled)
    }

    /// Gives the cost of a step and the register that it fills, if everything that it needs is there.
    fn fit(&self, step: &KernelStep, filled: &[bool]) -> Result<(u64, u16), &'static str> {
        let len = |register: u16| match is_set(filled, register) {
            true => Ok(self.len(register) as u64),
            false => Err("it reads what is not filled"),
        };
        let fresh = |register: u16| match filled.get(usize::from(register)) {
            Some(false) => Ok(self.len(register) as u64),
            _ => Err("it fills what is filled"),
        };
        let there = |at: u32, count: u64| match u64::from(at) + count <= self.weights.len() as u64 {
            true => Ok(()),
            false => Err("it reads beyond the weights"),
        };
        let equal = |a: u64, b: u64| {
            if a == b {
                Ok(())
            } else {
                Err("the sizes differ")
            }
        };
        match step {
            KernelStep::Dense {
                from,
                to,
                rows,
                weights,
                bias,
            } => {
                let (from, out, rows) = (len(*from)?, fresh(*to)?, u64::from(*rows));
                if rows == 0 || !from.is_multiple_of(rows) || !out.is_multiple_of(rows) {
                    return Err("the rows do not fit");
                }
                let (inputs, outputs) = (from / rows, out / rows);
                there(*weights, inputs * outputs)?;
                there(*bias, outputs)?;
                Ok((from * outputs, *to))
            }
            KernelStep::Conv {
                from,
                to,
                shape,
                weights,
                bias,
            } => {
                let (from, out) = (len(*from)?, fresh(*to)?);
                if !shape.is_sane() {
                    return Err("the shape is out of its bounds");
                }
                let area = |size: [u32; 2]| u64::from(size[0]) * u64::from(size[1]);
                equal(from, u64::from(shape.channels) * area(shape.size))?;
                equal(out, u64::from(shape.filters) * area(shape.out_size()))?;
                there(*weights, u64::from(shape.filters) * shape.taps())?;
                there(*bias, u64::from(shape.filters))?;
                Ok((out.saturating_mul(shape.taps()), *to))
            }
            KernelStep::Map { from, to, map } => {
                equal(len(*from)?, fresh(*to)?)?;
                match map.is_finite() {
                    true => Ok((self.len(*to) as u64, *to)),
                    false => Err("a number of its function is not finite"),
                }
            }
            KernelStep::Pair {
                left, right, to, ..
            } => {
                equal(len(*left)?, len(*right)?)?;
                equal(len(*left)?, fresh(*to)?)?;
                Ok((self.len(*to) as u64, *to))
            }
            KernelStep::Pick { from, to, places } => {
                let all: u64 = from
                    .iter()
                    .try_fold(0, |all, from| Ok::<_, &str>(all + len(*from)?))?;
                equal(places.len() as u64, fresh(*to)?)?;
                match places.iter().all(|place| u64::from(*place) < all) {
                    true => Ok(((places.len() * from.len()) as u64, *to)),
                    false => Err("it picks what is not there"),
                }
            }
            KernelStep::Constant { to, weights } => {
                there(*weights, fresh(*to)?)?;
                Ok((0, *to))
            }
        }
    }

    /// Does every step; `values` has a part for each register, of which those that are entered are filled.
    pub(super) fn run(&self, values: &mut [Vec<f32>]) {
        for step in &self.steps {
            let to = usize::from(step.to());
            let mut out = std::mem::take(&mut values[to]);
            self.fill(step, values, &mut out);
            values[to] = out;
        }
    }

    fn fill(&self, step: &KernelStep, values: &[Vec<f32>], out: &mut [f32]) {
        let value = |register: &u16| values[usize::from(*register)].as_slice();
        let weights = |at: &u32| &self.weights[*at as usize..];
        match step {
            KernelStep::Dense {
                from,
                rows,
                weights: at,
                bias,
                ..
            } => {
                let rows = *rows as usize;
                let bias = &weights(bias)[..out.len() / rows];
                kernels::dense(value(from), weights(at), bias, rows, out);
            }
            KernelStep::Conv {
                from,
                shape,
                weights: at,
                bias,
                ..
            } => {
                let bias = &weights(bias)[..shape.filters as usize];
                kernels::conv(shape, value(from), weights(at), bias, out);
            }
            KernelStep::Map { from, map, .. } => kernels::map(*map, value(from), out),
            KernelStep::Pair {
                left, right, pair, ..
            } => {
                kernels::pair(*pair, value(left), value(right), out);
            }
            KernelStep::Pick { from, places, .. } => {
                for (out, place) in out.iter_mut().zip(places) {
                    *out = picked(from.iter().map(value), *place as usize);
                }
            }
            KernelStep::Constant { weights: at, .. } => {
                out.copy_from_slice(&weights(at)[..out.len()])
            }
        }
    }
}

/// A value by its place in several parts, one after the other.
fn picked<'a>(parts: impl Iterator<Item = &'a [f32]>, mut place: usize) -> f32 {
    for part in parts {
        match part.get(place) {
            Some(value) => return *value,
            None => place -= part.len(),
        }
    }
    0.0
}

fn is_set(filled: &[bool], register: u16) -> bool {
    filled.get(usize::from(register)) == Some(&true)
}

impl KernelStep {
    /// The register that it fills.
    pub fn to(&self) -> u16 {
        match self {
            Self::Dense { to, .. }
            | Self::Conv { to, .. }
            | Self::Map { to, .. }
            | Self::Pair { to, .. }
            | Self::Pick { to, .. }
            | Self::Constant { to, .. } => *to,
        }
    }
}
