//! A recording of an agent in its own Python: its observations, its actions, and everything that is needed to play it
//! again.

use std::path::Path;

use anyhow::{Context as _, anyhow, bail, ensure};
use serde_json::{Map, Value};

use super::npz::{Array, Arrays};

/// The arrays that a trace can have, for messages.
const KNOWN: &str = "observations [step, ...] or [step, seat, ...], actions [step, seat], is_first [step], \
                     seats [recorded seat], chosen [step, recorded seat], logits [step, recorded seat, action], \
                     masks [step, recorded seat, action], seeds [episode], package, params (JSON)";

/// A recording. Arrays are flat; the first axis is the step, the second the recorded seat.
pub(super) struct Trace {
    pub steps: usize,
    /// The seats whose observations were recorded.
    pub seats: Vec<usize>,
    /// Values of one observation.
    pub observed: usize,
    /// The shape of one observation.
    pub shape: Vec<usize>,
    pub observations: Vec<f32>,
    /// The actions of all seats.
    pub actions: Option<Table>,
    /// The actions that the agent took without drawing.
    pub chosen: Option<Table>,
    pub logits: Option<Table>,
    pub masks: Option<Table>,
    /// The first steps of episodes.
    pub starts: Vec<usize>,
    pub seeds: Vec<u64>,
    /// Name and version of the package that played, such as `jaxmarl 0.2.0`.
    pub package: Option<String>,
    pub params: Map<String, Value>,
    /// The parameters of each episode, over those of all.
    pub episode_params: Vec<Map<String, Value>>,
}

/// Rows of numbers, one for each step.
pub(super) struct Table {
    pub width: usize,
    values: Vec<f64>,
}

impl Table {
    pub(super) fn row(&self, step: usize) -> &[f64] {
        &self.values[step * self.width..][..self.width]
    }

    fn of(name: &str, array: Array, steps: usize) -> anyhow::Result<Self> {
        ensure!(
            array.shape.first() == Some(&steps),
            "`{name}` has the shape {:?}, and there are {steps} observations; record one for each step",
            array.shape
        );
        Ok(Self {
            width: array.values.len() / steps,
            values: array.values,
        })
    }
}

impl Trace {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::read(bytes).with_context(|| path.display().to_string())
    }

    fn read(bytes: Vec<u8>) -> anyhow::Result<Self> {
        let mut arrays = Arrays::open(bytes)?;
        let observations = arrays.read_numbers("observations")?.with_context(|| {
            let names = arrays.names().join(", ");
            format!("it has no array `observations`, but {names}; a trace has {KNOWN}")
        })?;
        let steps = observations.shape.first().copied().unwrap_or(0);
        ensure!(steps > 0, "`observations` is empty; record some steps");
        let whole =
            |array: Option<Array>| array.map(|it| it.values.iter().map(|it| *it as u64).collect());
        let seats: Option<Vec<u64>> = whole(arrays.read_numbers("seats")?);
        let seats = seats.unwrap_or_else(|| vec![0]);
        let seats: Vec<usize> = seats.into_iter().map(|seat| seat as usize).collect();
        let width = observations.values.len() / steps;
        ensure!(
            !seats.is_empty() && width.is_multiple_of(seats.len()),
            "`observations` has the shape {:?}, and `seats` names {}; the second axis is the recorded seat",
            observations.shape,
            seats.len()
        );
        let mut table = |name: &str| match arrays.read_numbers(name)? {
            Some(array) => Table::of(name, array, steps).map(Some),
            None => Ok(None),
        };
        let (actions, chosen, logits) = (table("actions")?, table("chosen")?, table("logits")?);
        let (masks, first) = (table("masks")?, table("is_first")?);
        let starts = match first {
            None => vec![0],
            Some(first) => (0..steps)
                .filter(|step| first.row(*step)[0] != 0.0)
                .collect(),
        };
        ensure!(
            starts.first() == Some(&0),
            "`is_first` does not mark the first step; mark the first step of every episode"
        );
        let seeds: Option<Vec<u64>> = whole(arrays.read_numbers("seeds")?);
        let object = |name: &str, text: &str| match serde_json::from_str(text) {
            Ok(value) => Ok::<Value, anyhow::Error>(value),
            Err(error) => Err(anyhow!("`{name}` is no JSON: {error}")),
        };
        let params = match arrays.text("params")? {
            None => Map::new(),
            Some(text) => match object("params", &text)? {
                Value::Object(params) => params,
                _ => bail!("`params` is no JSON object"),
            },
        };
        let episode_params = match arrays.text("episode_params")? {
            None => Vec::new(),
            Some(text) => serde_json::from_value(object("episode_params", &text)?)
                .context("`episode_params` is no JSON list of objects")?,
        };
        let package = arrays.text("package")?.filter(|text| !text.is_empty());
        let observed = width / seats.len();
        // Without an axis for the seats, the second one is the first of the observation.
        let sides = &observations.shape[1..];
        let shape = match sides.split_first() {
            Some((first, rest))
                if *first == seats.len() && rest.iter().product::<usize>() == observed =>
            {
                rest
            }
            _ => sides,
        };
        Ok(Self {
            steps,
            observed,
            shape: shape.to_vec(),
            observations: observations.values.iter().map(|it| *it as f32).collect(),
            actions,
            chosen,
            logits,
            masks,
            seeds: seeds.unwrap_or_else(|| (0..starts.len() as u64).collect()),
            seats,
            starts,
            package,
            params,
            episode_params,
        })
    }

    /// The observation of a recorded seat.
    pub(super) fn observation(&self, step: usize, place: usize) -> &[f32] {
        &self.observations[(step * self.seats.len() + place) * self.observed..][..self.observed]
    }

    /// The episode that begins with a step.
    pub(super) fn episode_at(&self, step: usize) -> Option<usize> {
        self.starts.iter().position(|start| *start == step)
    }

    /// The part of a row of a recorded seat.
    pub(super) fn part<'a>(&self, table: &'a Table, step: usize, place: usize) -> &'a [f64] {
        let width = table.width / self.seats.len();
        &table.row(step)[place * width..][..width]
    }

    /// The action mask of a recorded seat, as bits.
    pub(super) fn mask(&self, step: usize, place: usize) -> u64 {
        let Some(masks) = &self.masks else {
            return u64::MAX;
        };
        let row = self.part(masks, step, place).iter().take(64).enumerate();
        row.fold(0, |bits, (action, it)| {
            bits | u64::from(*it != 0.0) << action
        })
    }
}
