//! Download of the tables as one archive. The command that starts the server says how tables are written.

use std::convert::Infallible;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path as Part, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use http_body_util::channel::{Channel, Sender};
use store::desk_keys::DeskRole;
use tokio::runtime::Handle;

use super::error::DeskError;
use super::state::Desk;

/// The formats of tables.
const FORMATS: [&str; 3] = ["csv", "parquet", "jsonl"];

/// The bytes of one read.
const PART: usize = 64 * 1024;

/// The archive of the tables of a data folder in a format, as an open file without a name; or what went wrong.
type Archive = Pin<Box<dyn Future<Output = anyhow::Result<File>> + Send>>;

/// Writes the tables of a data folder in one of the formats `csv`, `parquet` and `jsonl`.
#[derive(Clone)]
pub struct TableWriter(Arc<dyn Fn(PathBuf, &'static str) -> Archive + Send + Sync>);

impl TableWriter {
    /// A writer that does as `write` does.
    pub fn new<F>(write: impl Fn(PathBuf, &'static str) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = anyhow::Result<File>> + Send + 'static,
    {
        Self(Arc::new(move |data, format| Box::pin(write(data, format))))
    }
}

impl fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TableWriter")
    }
}

impl Desk {
    /// Offers the tables for download, written so.
    pub fn offer_tables(&self, writer: TableWriter) {
        // The first writer stands.
        let _ = self.tables.set(writer);
    }
}

/// `GET /desk/api/tables/{format}`
pub(super) async fn download(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Part(format): Part<String>,
) -> Result<Response, DeskError> {
    let key = desk.require_role(&headers, DeskRole::Act).await?;
    let mut known = FORMATS.into_iter();
    let Some(format) = known.find(|known| *known == format) else {
        return Err(DeskError::Malformed(format!(
            "there are no tables in the format `{format}`; write csv, parquet or jsonl"
        )));
    };
    let writer = desk.tables.get().cloned().ok_or(DeskError::Away)?;
    let _permit = desk.downloads.try_acquire().map_err(|_| DeskError::Busy)?;
    desk.audit(&key, &format!("downloaded the tables ({format})"))
        .await?;
    let written = (writer.0)(desk.data.clone(), format).await;
    let file = written.map_err(|error| DeskError::Tables(format!("{error:#}")))?;
    let length = file.metadata().map(|facts| facts.len());
    let length = length.map_err(|error| DeskError::Tables(error.to_string()))?;
    let (sender, body) = Channel::<Bytes, Infallible>::new(1);
    let handle = Handle::current();
    tokio::task::spawn_blocking(move || send_file(&handle, file, sender));
    let told = [
        (header::CONTENT_TYPE, "application/zip".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (header::CONTENT_LENGTH, length.to_string()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"tables-{format}.zip\""),
        ),
    ];
    Ok((told, Body::new(body)).into_response())
}

/// Sends a file until its end. A part that cannot be read ends it early, which the reader notices by its length.
fn send_file(handle: &Handle, mut file: File, mut sender: Sender<Bytes>) {
    let mut part = vec![0; PART];
    while let Ok(length) = file.read(&mut part) {
        let bytes = Bytes::copy_from_slice(&part[..length]);
        if length == 0 || handle.block_on(sender.send_data(bytes)).is_err() {
            return;
        }
    }
}
