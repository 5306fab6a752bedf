//! The parts of the data set that only BIDS has: the participants, and a file of behaviour for each of them.
//!
//! Source: BIDS 1.10 (`participants.tsv`, `sub-<label>/beh/sub-<label>_task-<label>_beh.tsv`, `.bidsignore`).

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use csv::StringRecord;
use serde_json::{Map, Value, json};

use super::described::{DATA, Described, METADATA, RECORD, STUDIES, TABLES};
use super::psych_ds::{letters_of, table_path};
use super::write_json;
use crate::cells::unquote_cell;

/// The table whose rows are a person's behaviour: one for each episode.
const BEHAVIOUR: &str = "seats";

/// Its columns that say nothing about the behaviour, or are in the name of the file.
const LEFT_OUT: [&str; 3] = ["study_id", "version", "participant_id"];

/// Writes the files into the folder of the data set, whose tables are there.
pub(super) fn write_files(root: &Path, described: &Described<'_>) -> anyhow::Result<()> {
    let people = write_participants(root, described)?;
    write_behaviour(root, described, &people)?;
    // BIDS does not describe these; it asks for the names of folders without a slash.
    let others = [DATA, TABLES, RECORD, STUDIES, "croissant.json", METADATA];
    fs::write(root.join(".bidsignore"), others.join("\n") + "\n")?;
    Ok(())
}

/// A table in CSV, and the names of its columns; its rows are read one after the other.
fn open_table(
    root: &Path,
    described: &Described<'_>,
    table: &str,
) -> anyhow::Result<(StringRecord, csv::Reader<File>)> {
    let path = table_path(&root.join(DATA), &described.study, table);
    let mut reader =
        csv::Reader::from_path(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let head = reader.headers()?.clone();
    Ok((head, reader))
}

/// A cell as BIDS writes it.
fn cell(head: &StringRecord, row: &StringRecord, name: &str) -> String {
    let at = head.iter().position(|column| column == name);
    let cell = at.and_then(|at| row.get(at)).unwrap_or_default();
    let plain = unquote_cell(cell).replace(['\t', '\n', '\r'], " ");
    match plain.is_empty() {
        true => "n/a".to_owned(),
        false => plain,
    }
}

/// Writes `participants.tsv`, with one row per session, and its dictionary; returns the pseudonyms.
fn write_participants(root: &Path, described: &Described<'_>) -> anyhow::Result<BTreeSet<String>> {
    let (head, mut reader) = open_table(root, described, "sessions")?;
    let mut file = BufWriter::new(File::create(root.join("participants.tsv"))?);
    writeln!(file, "participant_id\tpseudonym\toutcome\ttreatment")?;
    let (mut people, mut row) = (BTreeSet::new(), StringRecord::new());
    while reader.read_record(&mut row)? {
        let [pseudonym, outcome, treatment] =
            ["participant_id", "outcome", "treatment"].map(|name| cell(&head, &row, name));
        let label = letters_of(&pseudonym);
        writeln!(file, "sub-{label}\t{pseudonym}\t{outcome}\t{treatment}")?;
        people.insert(pseudonym);
    }
    file.flush()?;
    let dictionary = json!({
        "participant_id": {"Description": "The pseudonym as BIDS writes it: letters and digits."},
        "pseudonym": {"Description": "The pseudonym in all other tables."},
        "outcome": {"Description": "The outcome of the session."},
        "treatment": {"Description": "The levels of all factors between participants, joined by slashes."},
    });
    write_json(&root.join("participants.json"), &dictionary)?;
    Ok(people)
}

/// The file of behaviour of a person.
fn behaviour_file(root: &Path, task: &str, pseudonym: &str) -> PathBuf {
    let subject = format!("sub-{}", letters_of(pseudonym));
    let folder = root.join(&subject).join("beh");
    folder.join(format!("{subject}_task-{task}_beh.tsv"))
}

/// Writes a file with the episodes of each person, also of those who played none, and one that describes the columns. The
/// table is read once, row by row: the memory does not grow with the number of episodes.
fn write_behaviour(
    root: &Path,
    described: &Described<'_>,
    people: &BTreeSet<String>,
) -> anyhow::Result<()> {
    let (head, mut reader) = open_table(root, described, BEHAVIOUR)?;
    let columns: Vec<&str> = head
        .iter()
        .filter(|name| !LEFT_OUT.contains(name))
        .collect();
    let task = letters_of(&described.study);
    for pseudonym in people {
        let path = behaviour_file(root, &task, pseudonym);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, columns.join("\t") + "\n")?;
    }
    let mut row = StringRecord::new();
    while reader.read_record(&mut row)? {
        let pseudonym = cell(&head, &row, "participant_id");
        if people.contains(&pseudonym) {
            let cells: Vec<String> = columns.iter().map(|name| cell(&head, &row, name)).collect();
            // A study can have more people than a process may have open files.
            let path = behaviour_file(root, &task, &pseudonym);
            let mut file = OpenOptions::new().append(true).open(path)?;
            writeln!(file, "{}", cells.join("\t"))?;
        }
    }
    let described_columns = described
        .tables
        .iter()
        .find(|table| table.name == BEHAVIOUR);
    let described_columns = described_columns
        .iter()
        .flat_map(|table| &table.columns)
        .filter(|column| columns.contains(&column.name.as_str()));
    let mut sidecar = Map::new();
    sidecar.insert("TaskName".to_owned(), json!(described.title));
    sidecar.insert(
        "TaskDescription".to_owned(),
        json!(described.facts.description),
    );
    for column in described_columns {
        let about = json!({"Description": column.description});
        sidecar.insert(column.name.clone(), about);
    }
    let name = format!("task-{task}_beh.json");
    write_json(&root.join(name), &Value::Object(sidecar))
}
