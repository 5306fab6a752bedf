//! The description of the data set for Psych-DS and for BIDS, which share one file.
//!
//! Source: Psych-DS specification 1.0 (names of files, `variableMeasured`), and BIDS 1.10 (`dataset_description.json`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::described::Described;

/// The name of a table in `data/`: `study-dyad_description-stepEvents_data.csv`.
pub(super) fn table_path(data: &Path, study: &str, table: &str) -> PathBuf {
    let mut words = table.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    data.join(format!(
        "study-{}_description-{name}_data.csv",
        letters_of(study)
    ))
}

/// The letters and digits of a name.
pub(super) fn letters_of(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// Gives every table in CSV its name.
pub(super) fn name_tables(data: &Path, described: &Described<'_>) -> anyhow::Result<()> {
    for table in &described.tables {
        let from = data.join(format!("{}.csv", table.name));
        fs::rename(from, table_path(data, &described.study, table.name))?;
    }
    Ok(())
}

/// `dataset_description.json`: the keys of Psych-DS, and those of BIDS, which begin with a capital letter.
pub(super) fn make_description(described: &Described<'_>) -> Value {
    let facts = described.facts;
    // A column means the same in every table that has it.
    let columns = described.tables.iter().flat_map(|table| &table.columns);
    let variables: BTreeMap<&str, &str> = columns
        .map(|column| (column.name.as_str(), column.description.as_str()))
        .collect();
    let variables = variables.into_iter().map(|(name, description)| {
        json!({"@type": "PropertyValue", "name": name, "description": description})
    });
    json!({
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": described.title,
        "description": facts.description,
        "author": facts.authors,
        "license": facts.license_url(),
        "url": facts.url,
        "identifier": described.study,
        "version": described.version,
        "variableMeasured": variables.collect::<Vec<_>>(),
        "Name": described.title,
        "BIDSVersion": "1.10.0",
        "DatasetType": "raw",
        "License": facts.license,
        "Authors": facts.authors,
        "EthicsApprovals": described.protocol.iter().collect::<Vec<_>>(),
        "GeneratedBy": [{"Name": "Coplay", "Version": env!("CARGO_PKG_VERSION")}],
    })
}
