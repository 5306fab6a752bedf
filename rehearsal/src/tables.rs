//! Checks that the exported tables are whole: each exists, has the rows that it must have, and its keys lead to rows of
//! the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use csv::StringRecord;

/// The tables that every export has; a study may have more.
const ALWAYS: [&str; 17] = [
    "sessions",
    "screening",
    "responses",
    "annotations",
    "clips",
    "pages",
    "lobby",
    "chat",
    "model_calls",
    "groups",
    "episodes",
    "seats",
    "steps",
    "keys",
    "events",
    "presence",
    "routes",
];

/// A key, and the table that has a row for each of its values.
const KEYS: [(&str, &str); 3] = [
    ("participant_id", "sessions"),
    ("group_id", "groups"),
    ("episode_id", "episodes"),
];

/// The numbers of rows that the tables must have, from the database.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) sessions: usize,
    pub(super) episodes: usize,
    pub(super) waits: usize,
    /// Participants whose rows of episodes are left out.
    pub(super) withdrawn: BTreeSet<String>,
}

/// The contents of the tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// Rows by table.
    pub(super) rows: BTreeMap<String, u64>,
    /// Problems of the tables.
    pub(super) wrong: Vec<String>,
}

/// The facts of one table.
#[derive(Debug, Default)]
struct Table {
    rows: u64,
    /// The values of each key, without empty ones.
    keys: BTreeMap<&'static str, BTreeSet<String>>,
    /// Rows of each seat in an episode.
    seats: BTreeMap<(String, String), u64>,
    /// Ticks of each seat in an episode of somebody who has not withdrawn.
    ticks: BTreeMap<(String, String), u64>,
}

/// Reads the tables in a folder, and compares them with each other and with the database.
///
/// # Errors
/// A table is missing, or cannot be read.
pub(super) fn check(folder: &Path, wanted: &Wanted) -> anyhow::Result<Tables> {
    let mut all: BTreeMap<String, Table> = BTreeMap::new();
    for name in list(folder)? {
        let table = read(&folder.join(format!("{name}.csv")), wanted);
        let table = table.with_context(|| format!("the table {name}.csv"))?;
        all.insert(name, table);
    }
    let mut wrong = strays(&all);
    let rows = |name: &str| all.get(name).map_or(0, |table| table.rows);
    let counts = [
        ("sessions", wanted.sessions),
        ("episodes", wanted.episodes),
        ("lobby", wanted.waits),
    ];
    for (name, wanted) in counts {
        let found = rows(name);
        if found != wanted as u64 {
            wrong.push(format!(
                "{name}.csv has {found} rows, and the database {wanted}"
            ));
        }
    }
    let (seats, steps) = (&all["seats"], &all["steps"]);
    for (of, ticks) in &seats.ticks {
        let found = steps.seats.get(of).copied().unwrap_or(0);
        if found != *ticks {
            let (episode, seat) = of;
            wrong.push(format!(
                "seats.csv has {ticks} ticks of seat {seat} in {episode}, and steps.csv {found}"
            ));
        }
    }
    Ok(Tables {
        rows: all
            .iter()
            .map(|(name, table)| (name.clone(), table.rows))
            .collect(),
        wrong,
    })
}

/// The names of the tables of an export: those of every export, and what else is in the folder.
fn list(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let mut names: BTreeSet<String> = ALWAYS.map(str::to_owned).into();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path
            .file_stem()
            .filter(|_| path.extension().is_some_and(|it| it == "csv"));
        names.extend(stem.map(|stem| stem.to_string_lossy().into_owned()));
    }
    Ok(names)
}

/// Keys that lead nowhere.
fn strays(all: &BTreeMap<String, Table>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (key, home) in KEYS {
        let known = all[home].keys.get(key).cloned().unwrap_or_default();
        for (name, table) in all {
            let of = table.keys.get(key).into_iter().flatten();
            wrong.extend(of.filter(|value| !known.contains(*value)).map(|value| {
                format!("{name}.csv has the {key} {value}, and {home}.csv has no such row")
            }));
        }
    }
    wrong
}

fn read(path: &Path, wanted: &Wanted) -> anyhow::Result<Table> {
    let mut reader = csv::Reader::from_path(path)?;
    let columns = reader.headers()?.clone();
    let column = |name: &str| columns.iter().position(|column| column == name);
    let keys = KEYS.map(|(key, _)| (key, column(key)));
    let (episode, seat) = (column("episode_id"), column("seat"));
    let (ticks, who) = (column("ticks"), column("participant_id"));
    let mut table = Table::default();
    let mut row = StringRecord::new();
    while reader.read_record(&mut row)? {
        table.rows += 1;
        for (key, at) in keys {
            let value = at.and_then(|at| row.get(at)).unwrap_or_default();
            let known = table.keys.entry(key).or_default();
            if !value.is_empty() && !known.contains(value) {
                known.insert(value.to_owned());
            }
        }
        let Some((episode, seat)) = episode.zip(seat) else {
            continue;
        };
        let of = (row[episode].to_owned(), row[seat].to_owned());
        if let Some((ticks, who)) = ticks.zip(who)
            && !wanted.withdrawn.contains(&row[who])
        {
            table.ticks.insert(of.clone(), row[ticks].parse()?);
        }
        *table.seats.entry(of).or_default() += 1;
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_leads_nowhere_and_rows_that_are_missing_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(format!("{name}.csv")), text).unwrap();
        };
        for name in ALWAYS {
            write(name, "participant_id,group_id,episode_id\n");
        }
        let wanted = Wanted {
            sessions: 1,
            episodes: 1,
            ..Wanted::default()
        };
        let check = || check(folder.path(), &wanted).map(|tables| tables.wrong);
        write("sessions", "participant_id\nP-1\n");
        write("groups", "group_id,participant_id\nG-1,P-1\nG-1,\n");
        write("episodes", "episode_id,group_id\nE-1,G-1\n");
        write(
            "seats",
            "episode_id,participant_id,seat,ticks\nE-1,P-1,0,2\n",
        );
        write(
            "steps",
            "episode_id,participant_id,seat\nE-1,P-1,0\nE-1,P-1,0\n",
        );
        assert_eq!(check().unwrap(), Vec::<String>::new());
        write("steps", "episode_id,participant_id,seat\nE-1,P-1,0\n");
        assert!(check().unwrap()[0].contains("steps.csv 1"));
        write(
            "steps",
            "episode_id,participant_id,seat\nE-1,P-1,0\nE-2,P-2,0\n",
        );
        let wrong = check().unwrap();
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        write("rewards", "episode_id,seat\nE-3,0\n");
        let wrong = check().unwrap();
        assert!(
            wrong
                .iter()
                .any(|it| it.contains("rewards.csv has the episode_id E-3")),
            "{wrong:?}"
        );
        write("sessions", "participant_id\n");
        assert!(
            check()
                .unwrap()
                .iter()
                .any(|wrong| wrong.contains("and the database 1"))
        );
        std::fs::remove_file(folder.path().join("routes.csv")).unwrap();
        assert!(check().unwrap_err().to_string().contains("routes.csv"));
    }
}
