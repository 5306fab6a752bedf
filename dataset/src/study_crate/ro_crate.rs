//! The description of every file.
//!
//! Source: RO-Crate Metadata Specification 1.2.

use serde_json::{Value, json};

use super::contents::CrateFile;
use super::described::{DATA, Described, METADATA, RECORD, STUDIES, TABLES};
use crate::environment_file::EnvironmentFile;

/// `ro-crate-metadata.json`.
pub(super) fn make_metadata(described: &Described<'_>, files: &[CrateFile]) -> Value {
    let facts = described.facts;
    let authors: Vec<Value> = (1..=facts.authors.len())
        .map(|number| json!({"@id": format!("#author-{number}")}))
        .collect();
    let folders = [
        (DATA, "Every table as CSV."),
        (TABLES, "Every table as Parquet."),
        (
            RECORD,
            "Recordings of all episodes, with their environments and models.",
        ),
        (STUDIES, "The study files as they were run."),
    ];
    let parts = files
        .iter()
        .map(|file| json!({"@id": file.path}))
        .chain(folders.map(|(folder, _)| json!({"@id": format!("{folder}/")})));
    let mut root = json!({
        "@id": "./",
        "@type": "Dataset",
        "name": described.title,
        "description": facts.description,
        "datePublished": published_date(described),
        "license": {"@id": facts.license_url()},
        "author": authors,
        "url": facts.url,
        "version": described.version,
        "identifier": described.study,
        "hasPart": parts.collect::<Vec<_>>(),
    });
    if let Some(citation) = &facts.citation {
        root["citation"] = citation.clone().into();
    }
    if let Some((first, last)) = &described.days {
        root["temporalCoverage"] = format!("{first}/{last}").into();
    }
    if let Some(protocol) = &described.protocol {
        root["publishingPrinciples"] = format!("Ethics protocol {protocol}").into();
    }
    let mut graph = vec![
        json!({
            "@id": METADATA,
            "@type": "CreativeWork",
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.2"},
            "about": {"@id": "./"},
        }),
        root,
        json!({
            "@id": facts.license_url(),
            "@type": "CreativeWork",
            "name": facts.license,
        }),
        json!({
            "@id": "#coplay",
            "@type": "SoftwareApplication",
            "name": "Coplay",
            "version": env!("CARGO_PKG_VERSION"),
        }),
        json!({
            "@id": "#recording",
            "@type": "CreateAction",
            "name": "Recording and export of the study",
            "instrument": {"@id": "#coplay"},
            "result": {"@id": "./"},
        }),
    ];
    for (number, author) in (1..).zip(&facts.authors) {
        graph.push(json!({"@id": format!("#author-{number}"), "@type": "Person", "name": author}));
    }
    for (folder, description) in folders {
        graph.push(json!({"@id": format!("{folder}/"), "@type": "Dataset", "name": folder, "description": description}));
    }
    graph.extend(files.iter().map(|file| {
        let media_type = file.environment.map(EnvironmentFile::media_type);
        let mut described = json!({
            "@id": file.path,
            "@type": "File",
            "name": file.path,
            "contentSize": file.bytes.to_string(),
            "sha256": file.sha256,
            "encodingFormat": media_type.unwrap_or_else(|| media_type_of(&file.path)),
        });
        if let Some(environment) = file.environment {
            described["description"] = environment.description().into();
        }
        described
    }));
    json!({"@context": "https://w3id.org/ro/crate/1.2/context", "@graph": graph})
}

/// The day of publication, or else the last day of the study.
pub(super) fn published_date(described: &Described<'_>) -> String {
    let last = described.days.as_ref().map(|(_, last)| last.clone());
    let stated = described.facts.published.clone();
    stated.or(last).unwrap_or_else(|| "1970-01-01".to_owned())
}

fn media_type_of(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("csv") => "text/csv",
        Some("json") => "application/json",
        Some("md") => "text/markdown",
        Some("parquet") => "application/vnd.apache.parquet",
        Some("tsv") => "text/tab-separated-values",
        _ => "application/octet-stream",
    }
}
