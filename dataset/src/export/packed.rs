//! Tables as one archive, for those who load them down.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Seek as _, Write as _};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::{ExportOptions, ExportReport, export};

/// Writes the tables of a data folder as a zip archive into a file, whose position is then at its beginning.
///
/// # Errors
/// As [`export`].
pub async fn export_archive(
    data: &Path,
    mut archive: File,
    options: &ExportOptions,
) -> anyhow::Result<(File, ExportReport)> {
    let home = tempfile::tempdir()?;
    let folder = home.path().join("tables");
    let report = export(data, &folder, options).await?;
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        names.push(entry?.file_name());
    }
    names.sort();
    let mut zip = ZipWriter::new(BufWriter::new(&mut archive));
    for name in names {
        options.stop.check()?;
        let path = folder.join(&name);
        let name = name.to_string_lossy();
        // Parquet is compressed already.
        let method = match name.ends_with(".parquet") {
            true => CompressionMethod::Stored,
            false => CompressionMethod::Deflated,
        };
        let entry = SimpleFileOptions::default()
            .last_modified_time(DateTime::default())
            .compression_method(method)
            .large_file(fs::metadata(&path)?.len() > u64::from(u32::MAX) / 2);
        zip.start_file(format!("tables/{name}"), entry)?;
        io::copy(&mut BufReader::new(File::open(&path)?), &mut zip)?;
    }
    zip.finish()?.flush()?;
    archive.rewind()?;
    Ok((archive, report))
}
