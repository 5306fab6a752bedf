//! The steps of a network, and the check that makes every one of them safe to do.

use serde::{Deserialize, Serialize};

use super::fits::Room;
use super::functions::{Conv, Map, Matrices, Pair, Pooling, Reduction};
use super::kernels::Filters;
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
    /// For each value, that of the left where the condition is not 0, otherwise that of the right.
    Select {
        /// The condition.
        condition: u16,
        /// As many.
        left: u16,
        /// As many.
        right: u16,
        /// As many.
        to: u16,
    },
    /// One value for each row.
    Reduce {
        /// `[row, value]`
        from: u16,
        /// `[row]`
        to: u16,
        /// The function of a row.
        reduction: Reduction,
    },
    /// Products of matrices.
    Product {
        /// `[product, row, inner]`
        left: u16,
        /// `[product, inner, column]`
        right: u16,
        /// `[product, row, column]`
        to: u16,
        /// Their sizes.
        shape: Matrices,
    },
    /// One value for each place of a window; each channel by itself.
    Pool {
        /// `[channel, row, column]`
        from: u16,
        /// `[channel, row, column]`
        to: u16,
        /// The shapes: as those of a convolution with a filter and a group for each channel.
        shape: Conv,
        /// The function of a window.
        pooling: Pooling,
    },
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
        let work = self.fill_all(&mut filled)?;
        if work > MAX_WORK {
            return Err(too_large("multiplications for a decision", work, MAX_WORK));
        }
        if self
            .mask
            .is_some_and(|mask| self.len(mask) != self.actions())
        {
            return Err(NetworkError::Whole("the action mask does not fit"));
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

    /// Checks the steps in their order, and returns the multiplications of all.
    fn fill_all(&self, filled: &mut [bool]) -> Result<u64, NetworkError> {
        let mut work = 0_u64;
        for (step, done) in self.steps.iter().enumerate() {
            let (cost, to) = Room {
                network: self,
                filled,
            }
            .fit(done)
            .map_err(|why| NetworkError::KernelStep { step, why })?;
            work = work.saturating_add(cost);
            filled[usize::from(to)] = true;
        }
        Ok(work)
    }

    /// Multiplications of a decision; 0 for a network that cannot be played.
    pub fn work(&self) -> u64 {
        let filled = self.entered();
        let work = filled.and_then(|mut filled| self.fill_all(&mut filled).ok());
        work.unwrap_or(0)
    }

    /// The registers that are filled before the first step.
    fn entered(&self) -> Option<Vec<bool>> {
        let mut filled = vec![false; self.registers.len()];
        filled[0] = true;
        if let Some(mask) = self.mask
            && std::mem::replace(filled.get_mut(usize::from(mask))?, true)
        {
            return None;
        }
        for memory in &self.memory {
            let enters = filled.get_mut(usize::from(memory.enters))?;
            if std::mem::replace(enters, true) || self.len(memory.enters) != self.len(memory.leaves)
            {
                return None;
            }
        }
        Some(filled)
    }

    /// The filters of its convolutions, in the order of the steps, as [`Network::run`] takes them.
    pub(super) fn filters(&self) -> Vec<Filters> {
        let filters = self.steps.iter().filter_map(|step| match step {
            KernelStep::Conv { shape, weights, .. } => {
                Some(Filters::new(shape, &self.weights[*weights as usize..]))
            }
            _ => None,
        });
        filters.collect()
    }

    /// Does every step; `values` has a part for each register, of which those that are entered are filled.
    pub(super) fn run(&self, filters: &[Filters], values: &mut [Vec<f32>]) {
        let mut filters = filters.iter();
        for step in &self.steps {
            let to = usize::from(step.to());
            let mut out = std::mem::take(&mut values[to]);
            match step {
                KernelStep::Conv {
                    from, shape, bias, ..
                } => {
                    let bias = &self.weights[*bias as usize..][..shape.filters as usize];
                    let from = &values[usize::from(*from)];
                    let filters = filters.next().expect("each convolution has its filters");
                    kernels::conv(shape, from, filters, bias, &mut out);
                }
                step => self.fill(step, values, &mut out),
            }
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
            // Its weights are in another order: see `run`.
            KernelStep::Conv { .. } => {}
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
            KernelStep::Select {
                condition,
                left,
                right,
                ..
            } => kernels::select(value(condition), value(left), value(right), out),
            KernelStep::Reduce {
                from, reduction, ..
            } => kernels::reduce(*reduction, value(from), out),
            KernelStep::Product {
                left, right, shape, ..
            } => kernels::product(shape, value(left), value(right), out),
            KernelStep::Pool {
                from,
                shape,
                pooling,
                ..
            } => kernels::pool(*pooling, shape, value(from), out),
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

pub(super) fn is_set(filled: &[bool], register: u16) -> bool {
    filled.get(usize::from(register)) == Some(&true)
}

impl KernelStep {
    /// Checks whether the first version of the kernels has it.
    pub(super) fn is_first(&self) -> bool {
        match self {
            Self::Dense { .. } | Self::Conv { .. } => true,
            Self::Pick { .. } | Self::Constant { .. } => true,
            Self::Map { map, .. } => map.is_first(),
            Self::Pair { pair, .. } => pair.is_first(),
            Self::Select { .. }
            | Self::Reduce { .. }
            | Self::Product { .. }
            | Self::Pool { .. } => false,
        }
    }

    /// The register that it fills.
    pub fn to(&self) -> u16 {
        match self {
            Self::Dense { to, .. }
            | Self::Conv { to, .. }
            | Self::Map { to, .. }
            | Self::Pair { to, .. }
            | Self::Pick { to, .. }
            | Self::Constant { to, .. }
            | Self::Select { to, .. }
            | Self::Reduce { to, .. }
            | Self::Product { to, .. }
            | Self::Pool { to, .. } => *to,
        }
    }
}
