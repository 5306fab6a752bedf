//! The tables that researchers download at the dashboard.

use std::fs::File;
use std::path::PathBuf;

use dataset::export::{ExportOptions, StopFlag, TableFormat, export_archive};
use signaling_server::desk::TableWriter;
use tokio::runtime::Handle;

/// Writes tables as `coplay export` does, beside everything else that the server does.
pub fn make_table_writer() -> TableWriter {
    TableWriter::new(|data: PathBuf, format| async move {
        let handle = Handle::current();
        // Episodes are simulated again, which keeps a processor busy.
        let written =
            tokio::task::spawn_blocking(move || handle.block_on(write_tables(data, format)));
        written.await?
    })
}

async fn write_tables(data: PathBuf, format: &'static str) -> anyhow::Result<File> {
    page_python::add_folder(data.clone());
    let options = ExportOptions {
        format: match format {
            "parquet" => TableFormat::Parquet,
            "jsonl" => TableFormat::Jsonl,
            _ => TableFormat::Csv,
        },
        seen: false,
        states: false,
        decisions: false,
        observations: std::collections::BTreeSet::new(),
        since_us: None,
        identifiers: false,
        demographics: None,
        exclusions: None,
        adherence: None,
        stop: StopFlag::default(),
    };
    let (archive, _) = export_archive(&data, tempfile::tempfile()?, &options).await?;
    Ok(archive)
}
