//! Documents that the readers of the study file generate: its JSON Schema in `docs/study.schema.json`, and its reference in
//! `docs/reference.md`. `UPDATE_GOLDEN=1` writes both again.

use std::path::Path;

use crate::folder::{Folder, STUDY};

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
    let reference = study::write_reference();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &reference).expect("a file of the documents");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == reference,
        "docs/reference.md is not what the readers take; look at what changed, then UPDATE_GOLDEN=1"
    );
}

#[test]
fn the_levels_that_the_reference_promises_are_those_that_a_study_may_have() {
    let reference = include_str!("../../docs/reference.md");
    let lengths: Vec<&str> = reference
        .split("list of ")
        .filter_map(|rest| Some(rest.split_once(" levels")?.0))
        .filter(|length| length.len() < 12)
        .collect();
    assert_eq!(lengths, ["2 to 64", "2 to 64"]);
    let load = |count: usize| {
        let levels: Vec<String> = (0..count).map(|level| format!("l{level}")).collect();
        let folder = Folder::new("levels");
        let design = format!(
            "design: {{within: {{speed: {{levels: [{}]}}}}}}\n",
            levels.join(", ")
        );
        let text = STUDY.replace("  - id: how\n", "  - id: how\n    for_each: speed\n");
        folder.write("study.yaml", format!("{text}{design}"));
        study::load(&folder.path)
            .map(drop)
            .map_err(|problems| problems[0].message.clone())
    };
    for count in [2, 64] {
        assert_eq!(load(count), Ok(()), "{count} levels");
    }
    assert!(load(1).unwrap_err().starts_with("one level only"));
    assert_eq!(load(65).unwrap_err(), "65 levels; there must be 2 to 64");
}

#[test]
fn the_minimum_wage_in_the_documents_is_the_one_that_counts() {
    let usual = |currency| study::recruitment::usual_floor_per_hour(true, currency).unwrap();
    let told = format!("By default GBP {} or USD {}", usual("GBP"), usual("USD"));
    assert!(study::write_reference().contains(&told), "{told}");
    let others = [(true, "EUR"), (false, "GBP"), (false, "USD")];
    for (is_prolific, currency) in others {
        let none = study::recruitment::usual_floor_per_hour(is_prolific, currency);
        assert_eq!(none, None, "{currency}");
    }
}
