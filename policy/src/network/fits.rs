//! The check that makes every step of a network safe to do.

use super::program::is_set;
use super::{KernelStep, Network};

/// A network, and the registers that are filled before a step.
pub(super) struct Room<'a> {
    pub network: &'a Network,
    pub filled: &'a [bool],
}

/// The cost of a step and the register that it fills, or what does not fit.
type Fit = Result<(u64, u16), &'static str>;

fn equal(a: u64, b: u64) -> Result<(), &'static str> {
    if a == b {
        Ok(())
    } else {
        Err("the sizes differ")
    }
}

fn area(size: [u32; 2]) -> u64 {
    u64::from(size[0]) * u64::from(size[1])
}

impl Room<'_> {
    /// Values of a register that is filled.
    fn len(&self, register: u16) -> Result<u64, &'static str> {
        match is_set(self.filled, register) {
            true => Ok(self.network.len(register) as u64),
            false => Err("it reads what is not filled"),
        }
    }

    /// Values of a register that is not filled yet.
    fn fresh(&self, register: u16) -> Result<u64, &'static str> {
        match self.filled.get(usize::from(register)) {
            Some(false) => Ok(self.network.len(register) as u64),
            _ => Err("it fills what is filled"),
        }
    }

    fn there(&self, at: u32, count: u64) -> Result<(), &'static str> {
        match u64::from(at) + count <= self.network.weights.len() as u64 {
            true => Ok(()),
            false => Err("it reads beyond the weights"),
        }
    }

    /// Gives the cost of a step and the register that it fills, if everything that it needs is there.
    pub(super) fn fit(&self, step: &KernelStep) -> Fit {
        match step {
            KernelStep::Dense {
                from,
                to,
                rows,
                weights,
                bias,
            } => {
                let (from, out, rows) = (self.len(*from)?, self.fresh(*to)?, u64::from(*rows));
                if rows == 0 || !from.is_multiple_of(rows) || !out.is_multiple_of(rows) {
                    return Err("the rows do not fit");
                }
                let (inputs, outputs) = (from / rows, out / rows);
                self.there(*weights, inputs * outputs)?;
                self.there(*bias, outputs)?;
                Ok((from * outputs, *to))
            }
            KernelStep::Conv {
                from,
                to,
                shape,
                weights,
                bias,
            } => {
                let (from, out) = (self.len(*from)?, self.fresh(*to)?);
                if !shape.is_sane() {
                    return Err("the shape is out of its bounds");
                }
                equal(from, u64::from(shape.channels) * area(shape.size))?;
                equal(out, u64::from(shape.filters) * area(shape.out_size()))?;
                self.there(*weights, u64::from(shape.filters) * shape.taps())?;
                self.there(*bias, u64::from(shape.filters))?;
                Ok((out.saturating_mul(shape.taps()), *to))
            }
            KernelStep::Map { from, to, map } => {
                equal(self.len(*from)?, self.fresh(*to)?)?;
                match map.is_sane() {
                    true => Ok((self.network.len(*to) as u64, *to)),
                    false => Err("a number of its function is not finite"),
                }
            }
            KernelStep::Pair {
                left, right, to, ..
            } => {
                equal(self.len(*left)?, self.len(*right)?)?;
                equal(self.len(*left)?, self.fresh(*to)?)?;
                Ok((self.network.len(*to) as u64, *to))
            }
            KernelStep::Pick { from, to, places } => {
                let all: u64 = from
                    .iter()
                    .try_fold(0, |all, from| Ok::<_, &str>(all + self.len(*from)?))?;
                equal(places.len() as u64, self.fresh(*to)?)?;
                match places.iter().all(|place| u64::from(*place) < all) {
                    true => Ok(((places.len() * from.len()) as u64, *to)),
                    false => Err("it picks what is not there"),
                }
            }
            KernelStep::Constant { to, weights } => {
                self.there(*weights, self.fresh(*to)?)?;
                Ok((0, *to))
            }
            other => self.fit_more(other),
        }
    }

    /// The same for the steps that came later.
    fn fit_more(&self, step: &KernelStep) -> Fit {
        match step {
            KernelStep::Select {
                condition,
                left,
                right,
                to,
            } => {
                equal(self.len(*condition)?, self.len(*left)?)?;
                equal(self.len(*left)?, self.len(*right)?)?;
                equal(self.len(*left)?, self.fresh(*to)?)?;
                Ok((self.network.len(*to) as u64, *to))
            }
            KernelStep::Reduce { from, to, .. } => {
                let (from, rows) = (self.len(*from)?, self.fresh(*to)?);
                match from.is_multiple_of(rows) {
                    true => Ok((from, *to)),
                    false => Err("the rows do not fit"),
                }
            }
            KernelStep::Product {
                left,
                right,
                to,
                shape,
            } => {
                let [count, rows, inner, columns] =
                    [shape.count, shape.rows, shape.inner, shape.columns].map(u64::from);
                let size = |a: u64, b: u64| count.checked_mul(a)?.checked_mul(b);
                let all = |found: Option<u64>| found.ok_or("the sizes differ");
                equal(self.len(*left)?, all(size(rows, inner))?)?;
                equal(self.len(*right)?, all(size(inner, columns))?)?;
                equal(self.fresh(*to)?, all(size(rows, columns))?)?;
                Ok((self.network.len(*left) as u64 * columns, *to))
            }
            KernelStep::Pool {
                from, to, shape, ..
            } => {
                let (from, out) = (self.len(*from)?, self.fresh(*to)?);
                let is_own = shape.filters == shape.channels && shape.groups == shape.channels;
                if !shape.is_sane() || !is_own {
                    return Err("the shape is out of its bounds");
                }
                equal(from, u64::from(shape.channels) * area(shape.size))?;
                equal(out, u64::from(shape.filters) * area(shape.out_size()))?;
                Ok((out.saturating_mul(shape.taps()), *to))
            }
            _ => Err("it is no step that is known"),
        }
    }
}
