//! Statistics of a value over steps, which are merged over episodes.

use serde_json::{Value, json};

/// Number, least, greatest, mean and spread of values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moments {
    count: u64,
    min: f64,
    max: f64,
    mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

/// A statistic, by its name in the format.
type Statistic = (&'static str, fn(&Moments) -> f64);

/// Every statistic but the number of values.
pub(super) const KINDS: [Statistic; 4] = [
    ("min", |of| of.min),
    ("max", |of| of.max),
    ("mean", |of| of.mean),
    ("std", Moments::deviation),
];

impl Moments {
    pub(super) fn add_value(&mut self, value: f64) {
        self.merge_moments(&Self {
            count: 1,
            min: value,
            max: value,
            mean: value,
            squares: 0.0,
        });
    }

    /// Adds other values.
    ///
    /// Source: Chan, Golub, LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979.
    pub(super) fn merge_moments(&mut self, other: &Self) {
        if self.count == 0 || other.count == 0 {
            if self.count == 0 {
                *self = *other;
            }
            return;
        }
        let (own, others) = (self.count as f64, other.count as f64);
        let apart = other.mean - self.mean;
        self.count += other.count;
        let all = self.count as f64;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.mean += apart * others / all;
        self.squares += other.squares + apart * apart * own * others / all;
    }

    /// The standard deviation of all values, as numpy has it.
    fn deviation(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => (self.squares / count as f64).sqrt(),
        }
    }
}

/// The statistics of a feature, as `meta/stats.json` has them.
pub(super) fn to_json(moments: &[Moments]) -> Value {
    let mut all = json!({"count": [moments.first().map_or(0, |of| of.count)]});
    for (name, value) in KINDS {
        all[name] = moments.iter().map(value).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|value| moments.add_value(*value));
        moments
    }

    #[test]
    fn merged_statistics_are_those_of_all_values() {
        let values = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0];
        let mean = values.iter().sum::<f64>() / 7.0;
        let spread = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / 7.0;
        for split in 0..=values.len() {
            let (first, second) = values.split_at(split);
            let mut merged = of(first);
            merged.merge_moments(&of(second));
            assert_eq!((merged.count, merged.min, merged.max), (7, -5.0, 9.0));
            assert!((merged.mean - mean).abs() < 1e-12, "split at {split}");
            assert!(
                (merged.deviation() - spread.sqrt()).abs() < 1e-12,
                "split at {split}"
            );
        }
    }
}
