//! Data sets of Minari: for each stage one per seat, and one of all seats together, for offline reinforcement learning.
//!
//! Source: Minari 0.5.4, `minari/dataset/_storages/arrow_storage.py` (its Parquet storage) and `minari/serialization.py`. Each
//! episode is a file with one row group: its reader takes one batch for one episode. The last row has the last observation;
//! its action, reward and flags are padding.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int64Array,
    RecordBatch, StructArray,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use env_core::Spec;
use serde_json::{Value, json};

use crate::export::{Skipped, StopFlag, write_batches};
use crate::output_tree::OutputTree;
use crate::recording::{DatasetsReport, Recording, WrittenDataset, read_recordings};

/// The most rows of an episode: its reader would see two episodes in more.
const MAX_ROWS: usize = 131_072;

/// The version of Minari whose format this is.
const MINARI: &str = "0.5.4";

/// A data set that is being written.
struct Building {
    folder: PathBuf,
    metadata: Value,
    episodes: usize,
    steps: usize,
}

/// Writes the data sets of a data folder into the folder `out`, which must not exist yet.
///
/// # Errors
/// There is no data folder, `out` exists, the disk fails, or the export was asked to stop.
pub async fn export_minari(
    data: &Path,
    out: &Path,
    stop: &StopFlag,
) -> anyhow::Result<DatasetsReport> {
    let tree = OutputTree::create(out)?;
    let mut report = DatasetsReport {
        root: tree.target().to_owned(),
        variable: "MINARI_DATASETS_PATH",
        ..DatasetsReport::default()
    };
    let mut building: BTreeMap<String, Building> = BTreeMap::new();
    let mut too_long = Vec::new();
    read_recordings(data, stop, &mut report, |recording| {
        let ticks = recording.ticks();
        if ticks < MAX_ROWS {
            return add_recording(tree.folder(), recording, &mut building);
        }
        too_long.push(Skipped {
            path: archive::path(&data.join(archive::FOLDER), &recording.log.header.episode)?,
            reason: format!(
                "it has {ticks} ticks, and Minari reads at most {} as one episode",
                MAX_ROWS - 1
            ),
        });
        Ok(())
    })
    .await?;
    report.skipped.extend(too_long);
    for (id, dataset) in building {
        dataset.finish()?;
        let Building {
            episodes, steps, ..
        } = dataset;
        report.datasets.push(WrittenDataset {
            id,
            episodes,
            steps,
        });
    }
    tree.publish()?;
    Ok(report)
}

impl Recording {
    /// Observation, action and infos of a seat, as columns.
    fn columns(&self, seat: usize) -> [ArrayRef; 3] {
        let len = self.spec.observation_len() as i32;
        let values = Float32Array::from(self.observations[seat].clone());
        let item = Arc::new(Field::new("item", DataType::Float32, true));
        let observations = FixedSizeListArray::new(item, len, Arc::new(values), None);
        let actions = self.actions[seat]
            .iter()
            .copied()
            .chain([i64::from(self.spec.noop)]);
        let is_human = self.is_human[seat].iter().copied().chain([false]);
        let is_human: BooleanArray = is_human.map(Some).collect();
        [
            Arc::new(observations),
            Arc::new(Int64Array::from_iter_values(actions)),
            Arc::new(is_human),
        ]
    }
}

/// Adds an episode to the data sets of its stage.
fn add_recording(
    root: &Path,
    recording: &Recording,
    building: &mut BTreeMap<String, Building>,
) -> anyhow::Result<()> {
    let base = recording.dataset_name();
    let all: Vec<[ArrayRef; 3]> = (0..recording.count_seats())
        .map(|seat| recording.columns(seat))
        .collect();
    for (seat, [observations, actions, is_human]) in all.iter().enumerate() {
        let infos = structure([("is_human".to_owned(), Arc::clone(is_human))]);
        let columns = [Arc::clone(observations), Arc::clone(actions)];
        let rewards = recording.rewards[seat].clone();
        let (ends, cuts) = (
            recording.terminations[seat].clone(),
            recording.truncations[seat].clone(),
        );
        let id = format!("{base}-seat{seat}-v0");
        let spaces = [box_space(&recording.spec), discrete_space(&recording.spec)];
        let dataset = open_dataset(root, &id, spaces, recording, building)?;
        dataset.add(recording, columns, (rewards, ends, cuts), infos)?;
    }
    if recording.count_seats() < 2 {
        return Ok(());
    }
    let names = || (0..recording.count_seats()).map(|seat| format!("seat{seat}"));
    let together = |part: usize| structure(names().zip(all.iter().map(|of| Arc::clone(&of[part]))));
    let sum = |tick: usize| -> f64 { recording.rewards.iter().map(|of| of[tick]).sum() };
    let ticks = recording.ticks();
    let flags = |all: &[Vec<bool>]| -> Vec<bool> {
        (0..ticks)
            .map(|tick| all.iter().all(|of| of[tick]))
            .collect()
    };
    let own = recording.rewards.iter().enumerate().map(|(seat, rewards)| {
        let padded = rewards.iter().copied().chain([0.0]);
        let array: ArrayRef = Arc::new(Float64Array::from_iter_values(padded));
        (format!("reward_seat{seat}"), array)
    });
    let human = all
        .iter()
        .enumerate()
        .map(|(seat, of)| (format!("is_human_seat{seat}"), Arc::clone(&of[2])));
    let infos = structure(own.chain(human));
    let spaces = [box_space(&recording.spec), discrete_space(&recording.spec)]
        .map(|space| dict_space(names(), &space));
    let id = format!("{base}-joint-v0");
    let values = (
        (0..ticks).map(sum).collect(),
        flags(&recording.terminations),
        flags(&recording.truncations),
    );
    let dataset = open_dataset(root, &id, spaces, recording, building)?;
    dataset.add(recording, [together(0), together(1)], values, infos)
}

fn open_dataset<'b>(
    root: &Path,
    id: &str,
    [observations, actions]: [Value; 2],
    recording: &Recording,
    building: &'b mut BTreeMap<String, Building>,
) -> anyhow::Result<&'b mut Building> {
    if !building.contains_key(id) {
        let folder = root.join(id).join("data");
        fs::create_dir_all(&folder)?;
        let header = &recording.log.header;
        let fields = recording
            .spec
            .observation
            .iter()
            .map(|field| json!({"name": field.name, "shape": field.shape}));
        let actions_by_name = recording.spec.actions.iter().map(|action| &action.name);
        let description = format!(
            "People and AI partners in stage {} of study {}, recorded with Coplay. The environment is {} {}. Actions: {}. \
             Fields of an observation, one after the other: {}.",
            header.stage,
            header.study,
            header.env,
            header.env_version,
            actions_by_name.cloned().collect::<Vec<_>>().join(", "),
            Value::from_iter(fields)
        );
        let metadata = json!({
            "dataset_id": id,
            "minari_version": MINARI,
            "data_format": "parquet",
            "jpeg_encoding": false,
            "observation_space": observations.to_string(),
            "action_space": actions.to_string(),
            "description": description,
            "algorithm_name": "people",
            "author": [],
            "author_email": [],
            "code_permalink": "",
        });
        let new = Building {
            folder,
            metadata,
            episodes: 0,
            steps: 0,
        };
        building.insert(id.to_owned(), new);
    }
    Ok(building
        .get_mut(id)
        .expect("it was added if it was missing"))
}

/// Rewards, terminations and truncations.
type StepValues = (Vec<f64>, Vec<bool>, Vec<bool>);

impl Building {
    fn add(
        &mut self,
        recording: &Recording,
        [observations, actions]: [ArrayRef; 2],
        (mut rewards, mut terminations, mut truncations): StepValues,
        infos: ArrayRef,
    ) -> anyhow::Result<()> {
        let steps = rewards.len();
        rewards.push(0.0);
        terminations.push(false);
        truncations.push(false);
        let columns: [(&str, ArrayRef); 6] = [
            ("observations", observations),
            ("actions", actions),
            ("rewards", Arc::new(Float64Array::from(rewards))),
            ("terminations", Arc::new(BooleanArray::from(terminations))),
            ("truncations", Arc::new(BooleanArray::from(truncations))),
            ("infos", infos),
        ];
        let fields = columns
            .iter()
            .map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
        let folder = self.folder.join(self.episodes.to_string());
        fs::create_dir(&folder)?;
        write_batches(&folder.join("part-0.parquet"), schema, &[batch])?;
        let header = &recording.log.header;
        let metadata = json!({
            "id": self.episodes,
            "total_steps": steps,
            "seed": header.seed,
            "options": {
                "episode_id": header.episode,
                "group_id": header.group,
                "participant_ids": header.participants,
                "env": header.env,
                "env_version": header.env_version,
                "params": header.params,
            },
        });
        fs::write(folder.join("metadata.json"), metadata.to_string())?;
        self.episodes += 1;
        self.steps += steps;
        Ok(())
    }

    fn finish(&self) -> anyhow::Result<()> {
        let mut metadata = self.metadata.clone();
        metadata["total_episodes"] = self.episodes.into();
        metadata["total_steps"] = self.steps.into();
        let megabytes = folder_len(&self.folder)? as f64 / 1e6;
        metadata["dataset_size"] = ((megabytes * 10.0).round() / 10.0).into();
        let path = self.folder.join("metadata.json");
        fs::write(&path, metadata.to_string())
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

fn folder_len(folder: &Path) -> std::io::Result<u64> {
    let mut len = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        len += match entry.file_type()?.is_dir() {
            true => folder_len(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(len)
}

fn structure(columns: impl IntoIterator<Item = (String, ArrayRef)>) -> ArrayRef {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .into_iter()
        .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
        .unzip();
    Arc::new(StructArray::new(Fields::from(fields), arrays, None))
}

/// The space of observations: the ranges that the environment states, and otherwise any number.
fn box_space(spec: &Spec) -> Value {
    let bound = |at: usize, any: f64| -> Vec<f64> {
        let fields = spec.observation.iter();
        let values = fields.flat_map(|field| {
            let len = field.shape.iter().product::<u32>() as usize;
            std::iter::repeat_n(field.range.map_or(any, |range| f64::from(range[at])), len)
        });
        values.collect()
    };
    json!({
        "type": "Box",
        "dtype": "float32",
        "shape": [spec.observation_len()],
        "low": bound(0, f64::from(f32::MIN)),
        "high": bound(1, f64::from(f32::MAX)),
    })
}

fn discrete_space(spec: &Spec) -> Value {
    json!({"type": "Discrete", "dtype": "int64", "start": 0, "n": spec.actions.len()})
}

fn dict_space(names: impl Iterator<Item = String>, space: &Value) -> Value {
    let spaces: serde_json::Map<String, Value> = names.map(|name| (name, space.clone())).collect();
    json!({"type": "Dict", "subspaces": spaces})
}
