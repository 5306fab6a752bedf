//! Data sets of LeRobot: for each stage one per seat, for imitation learning and offline reinforcement learning.
//!
//! Source: LeRobot 0.4.4, format v3.0: `src/lerobot/datasets/utils.py` (files and features) and `compute_stats.py`
//! (statistics). Features are vectors, so there is no video.

mod episodes;
mod features;
mod moments;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema, SchemaRef};
use serde_json::{Map, Value, json};

use crate::export::{BatchWriter, StopFlag, write_batches};
use crate::output_tree::OutputTree;
use crate::recording::{DatasetsReport, Recording, WrittenDataset, read_recordings};
use episodes::{EpisodeRow, EpisodesFile};
use features::{Feature, list_features};

/// The version of the format.
const FORMAT: &str = "v3.0";

/// The greatest size of a file of data, in MB.
const FILE_MB: usize = 100;

/// Files in a folder.
const CHUNK_FILES: usize = 1_000;

/// A data set that is being written.
struct Building {
    folder: PathBuf,
    fps: u16,
    task: String,
    schema: SchemaRef,
    /// Name, type, shape and names of values, of every feature.
    features: Map<String, Value>,
    /// The file that takes the next episode, and its number.
    writer: BatchWriter,
    file: usize,
    steps: usize,
    episodes: EpisodesFile,
}

/// Writes the data sets of a data folder into the folder `out`, which must not exist yet.
///
/// # Errors
/// There is no data folder, `out` exists, the disk fails, or the export was asked to stop.
pub async fn export_lerobot(
    data: &Path,
    out: &Path,
    stop: &StopFlag,
) -> anyhow::Result<DatasetsReport> {
    let tree = OutputTree::create(out)?;
    let mut report = DatasetsReport {
        root: tree.target().to_owned(),
        variable: "HF_LEROBOT_HOME",
        ..DatasetsReport::default()
    };
    let mut building: BTreeMap<String, Building> = BTreeMap::new();
    read_recordings(data, stop, &mut report, |recording| {
        let hz = recording.log.header.tick_hz;
        for seat in 0..recording.count_seats() {
            let id = format!("{}-{hz}hz-seat{seat}", recording.dataset_name());
            let dataset = match building.entry(id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let folder = tree.folder().join(new.key());
                    new.insert(Building::create(folder, recording, seat)?)
                }
            };
            dataset.add(recording, seat)?;
        }
        Ok(())
    })
    .await?;
    for (id, dataset) in building {
        report.datasets.push(WrittenDataset {
            id,
            episodes: dataset.episodes.count(),
            steps: dataset.steps,
        });
        dataset.finish()?;
    }
    tree.publish()?;
    Ok(report)
}

impl Building {
    fn create(folder: PathBuf, recording: &Recording, seat: usize) -> anyhow::Result<Self> {
        let header = &recording.log.header;
        let features = list_features(recording, seat, 0, 0);
        let fields: Vec<Field> = features.iter().map(Feature::field).collect();
        let schema = Arc::new(Schema::new(fields));
        let task = format!(
            "Stage {} of study {}, seat {seat} of {} {}.",
            header.stage, header.study, header.env, header.env_version
        );
        let features: Map<String, Value> = features.iter().map(Feature::describe).collect();
        let names = features.keys().cloned().collect();
        Ok(Self {
            writer: create_file(&folder, &schema, 0)?,
            episodes: EpisodesFile::create(&folder, names, task.clone())?,
            folder,
            fps: header.tick_hz,
            task,
            schema,
            features,
            file: 0,
            steps: 0,
        })
    }

    fn add(&mut self, recording: &Recording, seat: usize) -> anyhow::Result<()> {
        if self.writer.size() > FILE_MB * 1_000_000 {
            self.file += 1;
            let next = create_file(&self.folder, &self.schema, self.file)?;
            std::mem::replace(&mut self.writer, next).finish()?;
        }
        let header = &recording.log.header;
        let features = list_features(recording, seat, self.episodes.count(), self.steps);
        self.episodes.add_episode(EpisodeRow {
            id: header.episode.clone(),
            participant: header.participants[seat].clone(),
            steps: recording.ticks(),
            first: self.steps,
            file: self.file,
            moments: features.iter().map(Feature::moments).collect(),
        })?;
        self.steps += recording.ticks();
        let arrays = features.into_iter().map(Feature::into_array).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)?;
        self.writer.write(&batch)
    }

    fn finish(self) -> anyhow::Result<()> {
        self.writer.finish()?;
        let meta = self.folder.join("meta");
        let episodes = self.episodes.count();
        let all = self.episodes.finish()?;
        let batch = tasks_batch(&self.task)?;
        write_batches(&meta.join("tasks.parquet"), batch.schema(), &[batch])?;
        let of_names = self.features.keys().zip(&all);
        let stats: Map<String, Value> = of_names
            .map(|(name, moments)| (name.clone(), moments::to_json(moments)))
            .collect();
        write_json(&meta.join("stats.json"), &stats.into())?;
        let info = json!({
            "codebase_version": FORMAT,
            "robot_type": null,
            "total_episodes": episodes,
            "total_frames": self.steps,
            "total_tasks": 1,
            "chunks_size": CHUNK_FILES,
            "data_files_size_in_mb": FILE_MB,
            "video_files_size_in_mb": FILE_MB,
            "fps": self.fps,
            "splits": {"train": format!("0:{episodes}")},
            "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
            "video_path": null,
            "features": self.features,
        });
        write_json(&meta.join("info.json"), &info)
    }
}

/// Opens the file of data with this number.
fn create_file(folder: &Path, schema: &SchemaRef, file: usize) -> anyhow::Result<BatchWriter> {
    let (chunk, file) = (file / CHUNK_FILES, file % CHUNK_FILES);
    let folder = folder.join(format!("data/chunk-{chunk:03}"));
    fs::create_dir_all(&folder)?;
    BatchWriter::create(
        &folder.join(format!("file-{file:03}.parquet")),
        Arc::clone(schema),
    )
}

fn write_json(path: &Path, value: &Value) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// `meta/tasks.parquet`: a data frame of pandas whose index is the text of the task.
fn tasks_batch(task: &str) -> anyhow::Result<RecordBatch> {
    const INDEX: &str = "__index_level_0__";
    let columns: [(&str, ArrayRef); 2] = [
        ("task_index", Arc::new(Int64Array::from(vec![0]))),
        (INDEX, Arc::new(StringArray::from(vec![task]))),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    let column = |name: Option<&str>, field: &str, kind: &str, numpy: &str| {
        json!({
            "name": name, "field_name": field, "pandas_type": kind, "numpy_type": numpy, "metadata": null,
        })
    };
    let pandas = json!({
        "index_columns": [INDEX],
        "column_indexes": [],
        "columns": [
            column(Some("task_index"), "task_index", "int64", "int64"),
            column(None, INDEX, "unicode", "object"),
        ],
        "creator": {"library": "coplay", "version": env!("CARGO_PKG_VERSION")},
        "pandas_version": "2.2.0",
    });
    let metadata = HashMap::from([("pandas".to_owned(), pandas.to_string())]);
    let schema = batch.schema().as_ref().clone().with_metadata(metadata);
    Ok(batch.with_schema(Arc::new(schema))?)
}
