//! The features of a step: columns of the data, with their values for an episode.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int64Array};
use arrow_schema::{DataType, Field};
use env_core::Spec;
use serde_json::{Value, json};

use super::moments::Moments;
use crate::recording::Recording;

/// A feature, with its values for each step of an episode.
pub(super) struct Feature {
    name: &'static str,
    /// The name of each value of a step; `None` for a single value.
    names: Option<Vec<String>>,
    /// Values of a step.
    width: usize,
    values: FeatureValues,
}

/// `[step, value]`
enum FeatureValues {
    Float(Vec<f32>),
    Whole(Vec<i64>),
    Flag(Vec<bool>),
}

/// Lists the features of a seat in an episode: its number is `episode`, and its first step is number `first` among the
/// steps of all episodes.
pub(super) fn list_features(
    recording: &Recording,
    seat: usize,
    episode: usize,
    first: usize,
) -> Vec<Feature> {
    let (ticks, width) = (recording.ticks(), recording.spec.observation_len());
    let hz = f64::from(recording.log.header.tick_hz);
    let done = (0..ticks)
        .map(|tick| recording.terminations[seat][tick] || recording.truncations[seat][tick]);
    let rewards = recording.rewards[seat].iter().map(|reward| *reward as f32);
    let whole = |value: &dyn Fn(usize) -> usize| {
        FeatureValues::Whole((0..ticks).map(|tick| value(tick) as i64).collect())
    };
    let single = |name, values| Feature {
        name,
        names: None,
        width: 1,
        values,
    };
    let mut features = vec![
        single(
            "action",
            FeatureValues::Whole(recording.actions[seat].clone()),
        ),
        single("next.reward", FeatureValues::Float(rewards.collect())),
        single("next.done", FeatureValues::Flag(done.collect())),
        single(
            "is_human",
            FeatureValues::Flag(recording.is_human[seat].clone()),
        ),
        single(
            "timestamp",
            FeatureValues::Float((0..ticks).map(|tick| (tick as f64 / hz) as f32).collect()),
        ),
        single("frame_index", whole(&|tick| tick)),
        single("episode_index", whole(&|_| episode)),
        single("index", whole(&|tick| first + tick)),
        single("task_index", whole(&|_| 0)),
    ];
    if width > 0 {
        // An action is chosen after the observation of its step; the one after the last action has no step.
        let values = recording.observations[seat][..ticks * width].to_vec();
        features.push(Feature {
            name: "observation.state",
            names: (width > 1).then(|| list_names(&recording.spec)),
            width,
            values: FeatureValues::Float(values),
        });
    }
    // The metadata lists features by name, and a schema is in the same order.
    features.sort_by_key(|feature| feature.name);
    features
}

/// The name of each value of an observation.
fn list_names(spec: &Spec) -> Vec<String> {
    let fields = spec.observation.iter();
    let names = fields.flat_map(|field| {
        let len = field.shape.iter().product::<u32>();
        (0..len).map(move |number| match len {
            1 => field.name.clone(),
            _ => format!("{}_{number}", field.name),
        })
    });
    names.collect()
}

impl Feature {
    /// Returns its name, and its entry in `meta/info.json`.
    pub(super) fn describe(&self) -> (String, Value) {
        let kind = match self.values {
            FeatureValues::Float(_) => "float32",
            FeatureValues::Whole(_) => "int64",
            FeatureValues::Flag(_) => "bool",
        };
        let described = json!({"dtype": kind, "shape": [self.width], "names": self.names});
        (self.name.to_owned(), described)
    }

    pub(super) fn field(&self) -> Field {
        let kind = match self.values {
            FeatureValues::Float(_) => DataType::Float32,
            FeatureValues::Whole(_) => DataType::Int64,
            FeatureValues::Flag(_) => DataType::Boolean,
        };
        let kind = match self.width {
            1 => kind,
            width => DataType::FixedSizeList(Arc::new(item(kind)), width as i32),
        };
        Field::new(self.name, kind, true)
    }

    /// Statistics of each value over the steps.
    pub(super) fn moments(&self) -> Vec<Moments> {
        let mut moments = vec![Moments::default(); self.width];
        let mut add = |number: usize, value: f64| moments[number % self.width].add_value(value);
        match &self.values {
            FeatureValues::Float(all) => {
                for (number, value) in all.iter().enumerate() {
                    add(number, f64::from(*value));
                }
            }
            FeatureValues::Whole(all) => {
                for (number, value) in all.iter().enumerate() {
                    add(number, *value as f64);
                }
            }
            FeatureValues::Flag(all) => {
                for (number, value) in all.iter().enumerate() {
                    add(number, f64::from(u8::from(*value)));
                }
            }
        }
        moments
    }

    pub(super) fn into_array(self) -> ArrayRef {
        let values: ArrayRef = match self.values {
            FeatureValues::Float(all) => Arc::new(Float32Array::from(all)),
            FeatureValues::Whole(all) => Arc::new(Int64Array::from(all)),
            FeatureValues::Flag(all) => Arc::new(BooleanArray::from(all)),
        };
        if self.width == 1 {
            return values;
        }
        let item = Arc::new(item(values.data_type().clone()));
        Arc::new(FixedSizeListArray::new(
            item,
            self.width as i32,
            values,
            None,
        ))
    }
}

/// The values of a list.
fn item(kind: DataType) -> Field {
    Field::new("item", kind, true)
}
