use serde::de::DeserializeOwned;
use std::fmt::Debug;

use super::{ClientMessage, ServerMessage, StageView};
use crate::wire::{VERSION, decode};

const PROTOCOL: &str = include_str!("../../../../../protocol/PROTOCOL.md");

/// Names and fields of the messages in the table under a heading, in the order of their variants on the wire.
fn read_table(heading: &str) -> Vec<(&str, Vec<&str>)> {
    let (_, section) = PROTOCOL.split_once(heading).expect("the heading");
    let rows = section
        .lines()
        .skip_while(|line| !line.starts_with("| ---"));
    rows.skip(1)
        .take_while(|line| line.starts_with("| `"))
        .map(|line| read_variant(line.split('`').nth(1).expect("a name in backticks")))
        .collect()
}

/// Reads `Name { field, field }` or `Name(field)`.
fn read_variant(text: &str) -> (&str, Vec<&str>) {
    let name = text.split([' ', '(']).next().unwrap_or(text);
    let fields = text.split_once('{').map_or("", |(_, fields)| fields);
    let fields = fields.trim_end_matches('}').split(',').map(str::trim);
    (name, fields.filter(|field| !field.is_empty()).collect())
}

/// Decodes each variant with zeros for its values, which are empty texts, lists and options.
fn check<M: DeserializeOwned + Debug>(variants: &[(&str, Vec<&str>)]) {
    assert!(!variants.is_empty(), "the table has rows");
    for (index, (name, fields)) in variants.iter().enumerate() {
        let mut bytes = vec![VERSION, u8::try_from(index).expect("few messages")];
        bytes.resize(512, 0);
        let message: M = decode(&bytes)
            .unwrap_or_else(|error| panic!("`{name}`, number {index}, is not known: {error:#}"));
        let told = format!("{message:?}");
        assert_eq!(told.split([' ', '(']).next(), Some(*name), "number {index}");
        let mut at = 0;
        for field in fields {
            let found = told[at..].find(&format!("{field}:"));
            at += found.unwrap_or_else(|| panic!("`{name}` has no `{field}` here: {told}"));
        }
    }
}

#[test]
fn every_message_of_a_page_in_the_document_is_known() {
    check::<ClientMessage>(&read_table("### From the page: `ClientMessage`"));
}

#[test]
fn every_message_of_the_server_in_the_document_is_known() {
    check::<ServerMessage>(&read_table("### From the server: `ServerMessage`"));
}

#[test]
fn every_view_of_a_stage_in_the_document_is_known() {
    let (_, section) = PROTOCOL
        .split_once("`StageView`: what a page shows.")
        .expect("the list");
    let end = section.find("\n`").expect("another value follows");
    let items = section[..end]
        .lines()
        .filter(|line| line.starts_with("- `"));
    let variants: Vec<_> = items
        .map(|line| read_variant(line.split('`').nth(1).expect("a name in backticks")))
        .collect();
    check::<StageView>(&variants);
}
