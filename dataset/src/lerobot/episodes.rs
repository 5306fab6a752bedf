//! The file `meta/episodes` of a data set: a row for each episode, with statistics over its steps. Rows are written as the
//! episodes come, because an observation of some hundred values has more statistics than many episodes may stay in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::moments::{self, Moments};
use crate::export::BatchWriter;

/// Rows that are encoded together.
const BATCH_ROWS: usize = 32;

/// An episode in `meta/episodes`.
pub(super) struct EpisodeRow {
    pub(super) id: String,
    pub(super) participant: String,
    pub(super) steps: usize,
    pub(super) first: usize,
    pub(super) file: usize,
    /// For each feature and each of its values.
    pub(super) moments: Vec<Vec<Moments>>,
}

/// The file, while it is written.
pub(super) struct EpisodesFile {
    path: PathBuf,
    /// The names of the features.
    names: Vec<String>,
    task: String,
    /// The number of rows on the disk, and the rows that are not written yet.
    written: usize,
    rows: Vec<EpisodeRow>,
    /// Set once a row is written, whose columns are those of the file.
    writer: Option<BatchWriter>,
    /// The statistics of all episodes.
    all: Vec<Vec<Moments>>,
}

impl EpisodesFile {
    /// Makes the folder of the file in a data set's folder.
    pub(super) fn create(folder: &Path, names: Vec<String>, task: String) -> anyhow::Result<Self> {
        let folder = folder.join("meta/episodes/chunk-000");
        fs::create_dir_all(&folder)?;
        Ok(Self {
            path: folder.join("file-000.parquet"),
            names,
            task,
            written: 0,
            rows: Vec::new(),
            writer: None,
            all: Vec::new(),
        })
    }

    /// The number of episodes.
    pub(super) fn count(&self) -> usize {
        self.written + self.rows.len()
    }

    pub(super) fn add_episode(&mut self, row: EpisodeRow) -> anyhow::Result<()> {
        match self.all.is_empty() {
            true => self.all.clone_from(&row.moments),
            false => merge(&mut self.all, &row.moments),
        }
        self.rows.push(row);
        match self.rows.len() < BATCH_ROWS {
            true => Ok(()),
            false => self.write(),
        }
    }

    /// Writes the rows that are not on the disk.
    fn write(&mut self) -> anyhow::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let batch = episodes_batch(&self.names, &self.task, self.written, &self.rows)?;
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(BatchWriter::create(&self.path, batch.schema())?),
        };
        writer.write(&batch)?;
        self.written += self.rows.len();
        self.rows.clear();
        Ok(())
    }

    /// Writes the rest; returns the statistics of all episodes, for each feature and each of its values.
    pub(super) fn finish(mut self) -> anyhow::Result<Vec<Vec<Moments>>> {
        self.write()?;
        if let Some(writer) = self.writer {
            writer.finish()?;
        }
        Ok(self.all)
    }
}

fn merge(all: &mut [Vec<Moments>], episode: &[Vec<Moments>]) {
    let pairs = all.iter_mut().flatten().zip(episode.iter().flatten());
    pairs.for_each(|(all, episode)| all.merge_moments(episode));
}

/// `meta/episodes`: where the steps of each episode are, and their statistics.
fn episodes_batch(
    names: &[String],
    task: &str,
    first: usize,
    rows: &[EpisodeRow],
) -> anyhow::Result<RecordBatch> {
    let numbers = |value: &dyn Fn(usize, &EpisodeRow) -> usize| -> ArrayRef {
        let all = (first..).zip(rows);
        let values = all.map(|(number, row)| value(number, row) as i64);
        Arc::new(Int64Array::from_iter_values(values))
    };
    let texts = |value: &dyn Fn(&EpisodeRow) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(value)))
    };
    let mut tasks = ListBuilder::new(StringBuilder::new());
    for _ in rows {
        tasks.values().append_value(task);
        tasks.append(true);
    }
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("episode_index".into(), numbers(&|number, _| number)),
        ("tasks".into(), Arc::new(tasks.finish())),
        ("length".into(), numbers(&|_, row| row.steps)),
        (
            "data/chunk_index".into(),
            numbers(&|_, row| row.file / super::CHUNK_FILES),
        ),
        (
            "data/file_index".into(),
            numbers(&|_, row| row.file % super::CHUNK_FILES),
        ),
        ("dataset_from_index".into(), numbers(&|_, row| row.first)),
        (
            "dataset_to_index".into(),
            numbers(&|_, row| row.first + row.steps),
        ),
        ("episode_id".into(), texts(&|row| row.id.clone())),
        (
            "participant_id".into(),
            texts(&|row| row.participant.clone()),
        ),
    ];
    for (feature, name) in names.iter().enumerate() {
        for (kind, value) in moments::KINDS {
            let mut values = ListBuilder::new(Float64Builder::new());
            for row in rows {
                let of_row = row.moments[feature].iter().map(|of| Some(value(of)));
                values.append_value(of_row);
            }
            columns.push((format!("stats/{name}/{kind}"), Arc::new(values.finish())));
        }
        let mut counts = ListBuilder::new(Int64Builder::new());
        for row in rows {
            counts.append_value([Some(row.steps as i64)]);
        }
        columns.push((format!("stats/{name}/count"), Arc::new(counts.finish())));
    }
    columns.push(("meta/episodes/chunk_index".into(), numbers(&|_, _| 0)));
    columns.push(("meta/episodes/file_index".into(), numbers(&|_, _| 0)));
    Ok(RecordBatch::try_from_iter(columns)?)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::Int64Type;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    #[test]
    fn rows_are_on_the_disk_before_the_last_one_comes_and_none_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let names = vec!["action".to_owned()];
        let mut file = EpisodesFile::create(dir.path(), names, "cook".to_owned()).unwrap();
        let count = 2 * BATCH_ROWS + 3;
        let mut all = Moments::default();
        for number in 0..count {
            let mut moments = Moments::default();
            moments.add_value(number as f64);
            all.merge_moments(&moments);
            let row = EpisodeRow {
                id: format!("e-{number}"),
                participant: "P-A".to_owned(),
                steps: 1,
                first: number,
                file: 0,
                moments: vec![vec![moments]],
            };
            file.add_episode(row).unwrap();
            assert!(file.rows.len() < BATCH_ROWS);
        }
        assert_eq!(file.count(), count);
        let path = file.path.clone();
        assert_eq!(file.finish().unwrap(), [[all]]);
        let file = fs::File::open(path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let numbers = reader.build().unwrap().flat_map(|batch| {
            let numbers = batch.unwrap().column(0).as_primitive::<Int64Type>().clone();
            numbers.values().to_vec()
        });
        assert!(numbers.eq(0..count as i64));
    }
}
