//! The description of the tables in Parquet for programs that learn.
//!
//! Source: Croissant Format Specification 1.0 and Croissant RAI Specification 1.0, MLCommons.

use std::fs;
use std::path::Path;

use protocol::hash::sha256_hex;
use serde_json::{Map, Value, json};

use super::described::{Described, TABLES};
use super::ro_crate;
use crate::export::{ColumnKind, WrittenTable};

/// `croissant.json`.
pub(super) fn make_metadata(described: &Described<'_>, tables: &Path) -> anyhow::Result<Value> {
    let facts = described.facts;
    let mut files = Vec::new();
    for table in &described.tables {
        let name = format!("{}.parquet", table.name);
        let bytes = fs::read(tables.join(&name))?;
        files.push(json!({
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "description": table.about,
            "contentUrl": format!("{TABLES}/{name}"),
            "contentSize": format!("{} B", bytes.len()),
            "encodingFormat": "application/x-parquet",
            "sha256": sha256_hex(&bytes),
        }));
    }
    let people: Vec<Value> = facts
        .authors
        .iter()
        .map(|author| json!({"@type": "sc:Person", "name": author}))
        .collect();
    let mut all = json!({
        "@context": context(),
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": described.study,
        "alternateName": described.title,
        "description": facts.description,
        "license": facts.license_url(),
        "url": facts.url,
        "creator": people,
        "datePublished": ro_crate::published_date(described),
        "version": version(&described.version),
        "keywords": ["human-AI interaction", "multi-agent", "behavioural experiment"],
        "distribution": files,
        "recordSet": described.tables.iter().map(record_set).collect::<Vec<_>>(),
    });
    if let Some(citation) = &facts.citation {
        all["citeAs"] = citation.clone().into();
    }
    if let Some(all) = all.as_object_mut() {
        all.extend(responsible_use(described));
    }
    Ok(all)
}

/// A table, with a field for each column.
fn record_set(table: &WrittenTable) -> Value {
    let file = format!("{}.parquet", table.name);
    let fields = table.columns.iter().map(|column| {
        let kind = match column.kind {
            ColumnKind::Boolean => "sc:Boolean",
            ColumnKind::Int16 | ColumnKind::Int32 | ColumnKind::Int64 => "sc:Integer",
            ColumnKind::Float32 | ColumnKind::Float64 | ColumnKind::Floats => "sc:Float",
            ColumnKind::Text | ColumnKind::Bytes => "sc:Text",
        };
        json!({
            "@type": "cr:Field",
            "@id": format!("{}/{}", table.name, column.name),
            "name": column.name,
            "description": column.description,
            "dataType": kind,
            "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
        })
    });
    json!({
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.about,
        "field": fields.collect::<Vec<_>>(),
    })
}

/// The facts that Croissant RAI asks for.
fn responsible_use(described: &Described<'_>) -> Map<String, Value> {
    let facts = described.facts;
    let collection = format!(
        "An online study in which people played in their browsers, alone, with each other or with AI partners, recorded with \
         Coplay {}. Recorded are the actions of every tick, times of key presses and frames, and answers to forms. People \
         agreed to the consent in the study file before.{}",
        env!("CARGO_PKG_VERSION"),
        described
            .protocol
            .as_ref()
            .map_or(String::new(), |protocol| format!(
                " Ethics protocol: {protocol}."
            ))
    );
    let mut all = json!({
        "rai:dataCollection": collection,
        "rai:dataCollectionType": ["Experiments"],
        "rai:personalSensitiveInformation": [
            "People have pseudonyms. Names, addresses of the network, identifiers of recruiters and user agents are not in \
             the data. Answers and messages that people typed are as they typed them."
        ],
        "rai:dataPreprocessingProtocol": [
            "None: rewards, scores, events and states are computed from the recorded actions, and `coplay verify` computes \
             them again."
        ],
        "rai:hasSyntheticData": true,
        "rai:dataReleaseMaintenancePlan": "Recordings of people who withdraw later are removed from later versions.",
    });
    if let Some((first, last)) = &described.days {
        all["rai:dataCollectionTimeframe"] = json!([first, last]);
    }
    let stated = [
        ("rai:dataUseCases", &facts.uses),
        ("rai:dataLimitations", &facts.limitations),
        ("rai:dataBiases", &facts.biases),
        ("rai:dataSocialImpact", &facts.social_impact),
    ];
    for (name, value) in stated {
        if let Some(value) = value {
            all[name] = value.clone().into();
        }
    }
    match all {
        Value::Object(all) => all,
        _ => Map::new(),
    }
}

/// A version as Croissant wants it: three numbers.
fn version(written: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = written.split('.').collect();
    match &parts[..] {
        [a, b, c] if [a, b, c].into_iter().all(|part| is_number(part)) => written.to_owned(),
        [a, b] if is_number(a) && is_number(b) => format!("{written}.0"),
        [a] if is_number(a) => format!("{written}.0.0"),
        _ => "1.0.0".to_owned(),
    }
}

/// The context that the specification gives.
fn context() -> Value {
    json!({
        "@language": "en",
        "@vocab": "https://schema.org/",
        "citeAs": "cr:citeAs",
        "column": "cr:column",
        "conformsTo": "dct:conformsTo",
        "containedIn": "cr:containedIn",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "dct": "http://purl.org/dc/terms/",
        "equivalentProperty": "cr:equivalentProperty",
        "examples": {"@id": "cr:examples", "@type": "@json"},
        "extract": "cr:extract",
        "field": "cr:field",
        "fileObject": "cr:fileObject",
        "fileProperty": "cr:fileProperty",
        "fileSet": "cr:fileSet",
        "format": "cr:format",
        "includes": "cr:includes",
        "isLiveDataset": "cr:isLiveDataset",
        "jsonPath": "cr:jsonPath",
        "key": "cr:key",
        "md5": "cr:md5",
        "parentField": "cr:parentField",
        "path": "cr:path",
        "recordSet": "cr:recordSet",
        "references": "cr:references",
        "regex": "cr:regex",
        "repeated": "cr:repeated",
        "replace": "cr:replace",
        "samplingRate": "cr:samplingRate",
        "sc": "https://schema.org/",
        "separator": "cr:separator",
        "source": "cr:source",
        "subField": "cr:subField",
        "transform": "cr:transform",
    })
}
