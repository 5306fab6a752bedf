//! A distribution, by three numbers.

use std::fmt;

use serde::Serialize;

/// A distribution, by three numbers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The ninth decile: one value in ten is above it.
    pub p90: f64,
    /// The greatest.
    pub most: f64,
}

/// The distribution of numbers; `None` without any.
pub(super) fn measure_spread(numbers: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut all: Vec<f64> = numbers.collect();
    all.sort_by(f64::total_cmp);
    let at = |share: f64| all.get(((all.len() as f64 - 1.0) * share).round() as usize);
    Some(Spread {
        median: *at(0.5)?,
        p90: *at(0.9)?,
        most: *all.last()?,
    })
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, p90, most } = self;
        write!(
            f,
            "median {median:.1}, one in ten above {p90:.1}, at most {most:.1}"
        )
    }
}
