//! Documents that the readers of the study file generate: its JSON Schema in `docs/study.schema.json`, and its reference in
//! `docs/reference.md`. `UPDATE_GOLDEN=1` writes both anew.

use std::path::Path;

#[test]
fn the_schema_in_the_documents_is_what_the_readers_take() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/study.schema.json");
    let schema = serde_json::to_string_pretty(&study::schema()).expect("JSON") + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &schema).expect("a file of the documents");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == schema,
        "docs/study.schema.json is not what the readers take; look at what changed, then UPDATE_GOLDEN=1"
    );
}

#[test]
fn the_reference_in_the_documents_is_what_the_readers_take() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference.md");
    let reference = study::reference();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &reference).expect("a file of the documents");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == reference,
        "docs/reference.md is not what the readers take; look at what changed, then UPDATE_GOLDEN=1"
    );
}
