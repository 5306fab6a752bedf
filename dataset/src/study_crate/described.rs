//! Facts from which the files of metadata are made, and the names of files and folders.

use super::facts::CrateFacts;
use crate::export::WrittenTable;

/// The file that describes every other file.
pub(super) const METADATA: &str = "ro-crate-metadata.json";

/// The folder of recordings, modules and models.
pub(super) const RECORD: &str = "record";

/// The folder of tables in Parquet.
pub(super) const TABLES: &str = "tables";

/// The folder of tables in CSV, named as Psych-DS wants it.
pub(super) const DATA: &str = "data";

/// The folder of studies.
pub(super) const STUDIES: &str = "studies";

/// Facts from which the files of metadata are made.
pub(super) struct Described<'a> {
    pub(super) facts: &'a CrateFacts,
    /// The id of the study.
    pub(super) study: String,
    /// Its version.
    pub(super) version: String,
    /// Its title.
    pub(super) title: String,
    /// The number that the ethics board gave it.
    pub(super) protocol: Option<String>,
    /// The day of the first session and that of the last one, `2026-11-25`.
    pub(super) days: Option<(String, String)>,
    /// People with a session.
    pub(super) people: usize,
    pub(super) tables: Vec<WrittenTable>,
}
