//! Holds what bots wrote to each other against the table of messages.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use super::record::Record;

/// What each participant wrote, from the exported table.
///
/// # Errors
/// The table cannot be read.
pub(super) fn messages(table: &Path) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut reader = csv::Reader::from_path(table)?;
    let columns = reader.headers()?.clone();
    let column = |name: &str| {
        let at = columns.iter().position(|column| column == name);
        at.with_context(|| format!("chat.csv has no column `{name}`"))
    };
    let (who, text) = (column("participant_id")?, column("text")?);
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in reader.records() {
        let row = row?;
        let written = all.entry(row[who].to_owned()).or_default();
        written.push(row[text].to_owned());
    }
    Ok(all)
}

/// What is wrong with what a session wrote: each message that was acknowledged is there once, and none that nobody wrote.
pub(super) fn lost(record: &Record, kept: &[String]) -> Vec<String> {
    let count = |text: &String| kept.iter().filter(|known| *known == text).count();
    let lost = record.said.iter().filter(|text| count(text) != 1);
    let lost = lost.map(|text| {
        let times = count(text);
        format!("the data have the message {text:?}, which was acknowledged, {times} times")
    });
    let extra = kept.iter().filter(|text| !record.wrote.contains(*text));
    let extra = extra.map(|text| format!("the data have a message that was not written: {text:?}"));
    let twice = record.wrote.difference(&record.said);
    let twice = twice.filter(|text| count(text) > 1);
    let twice = twice.map(|text| format!("the data have a message more than once: {text:?}"));
    lost.chain(extra).chain(twice).collect()
}
