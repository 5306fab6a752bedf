//! Rows of the database that decide pay, changed by somebody who has the data folder.

use std::fs;
use std::path::PathBuf;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "rows-changed";
pub(crate) const TRIES: &str =
    "Somebody with the data folder changes rows of the database that decide who is paid how much.";

/// A change: its name, its statements, and whether `pay` and `export` must notice it without a noted hash.
type Change = (&'static str, &'static str, bool);

/// Changes of payments that are due, and of what they follow from.
const DUE: [Change; 4] = [
    (
        "a payment",
        "UPDATE payments SET total = total + 5000, extra = extra + 5000, bonus = bonus + 5000 WHERE rowid = ?",
        true,
    ),
    (
        "a mark that somebody was paid",
        "UPDATE payments SET state = 'paid', paid_at = '2026-01-01T00:00:00.000Z' WHERE rowid = ?",
        true,
    ),
    (
        "a recruiter's identifier",
        "UPDATE identifiers SET lookup = '5f3c9affffffffffffffffff' WHERE rowid = ?",
        true,
    ),
    (
        "the people of an episode",
        "UPDATE players SET participant = (SELECT participant FROM players AS other WHERE other.episode = \
         players.episode AND other.seat <> players.seat)",
        false,
    ),
];

/// Changes once everybody was paid.
const PAID: [Change; 4] = [
    ("an outcome", "UPDATE sessions SET outcome = 'technical' WHERE rowid = ?", true),
    (
        "marks taken away",
        "UPDATE payments SET state = 'due', paid_at = NULL WHERE state = 'paid'",
        true,
    ),
    (
        "the identifiers of two people, exchanged",
        "CREATE TEMP TABLE kept AS SELECT rowid AS place, lookup, sealed FROM identifiers; \
         UPDATE identifiers SET lookup = 'of nobody ' || rowid; \
         UPDATE identifiers SET (lookup, sealed) = \
         (SELECT kept.lookup, kept.sealed FROM kept WHERE kept.place <> identifiers.rowid)",
        true,
    ),
    (
        "marks taken away with the end of the ledger",
        "UPDATE payments SET state = 'due', paid_at = NULL WHERE state = 'paid'; \
         DELETE FROM ledger WHERE number > (SELECT max(number) - 2 FROM ledger)",
        false,
    ),
];

/// Changes of what was not yet paid, some of them with the ledger.
const ENDED: [Change; 4] = [
    (
        "the outcome of a payment",
        "UPDATE payments SET outcome = 'withdrew', total = 0 WHERE rowid = ?",
        true,
    ),
    ("the score of an episode", "UPDATE episodes SET score = score + 100", false),
    (
        "the time of a payment",
        "UPDATE payments SET time_ms = time_ms + 36000000, time = time + 9000 WHERE rowid = ?",
        true,
    ),
    (
        "the last payment removed with the end of the ledger",
        "DELETE FROM payments WHERE session = (SELECT sessions.id FROM sessions JOIN ledger USING (participant) ORDER BY \
         number DESC LIMIT 1); \
         UPDATE sessions SET outcome = NULL, ended_at = NULL WHERE participant = (SELECT participant FROM ledger ORDER BY \
         number DESC LIMIT 1); \
         DELETE FROM ledger WHERE number = (SELECT max(number) FROM ledger)",
        false,
    ),
];

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let rows = variant.choose("rows of", &["payments that are due", "people who were paid", "sessions that ended"]);
    let changes = match rows {
        "payments that are due" => DUE,
        "people who were paid" => PAID,
        _ => ENDED,
    };
    let person = variant.draw("of person", 1, 2).to_string();
    world.serve(&Study::pair(60, 10), &[]).await?;
    world.play_honestly().await?;
    world.stop().await?;
    if rows == "people who were paid" {
        pay(world).await?;
    }
    let (was_sound, before) = world.verify().await?;
    anyhow::ensure!(was_sound, "the data do not verify before the attack: {before}");
    // The researcher has noted the last hash of the ledger.
    let noted = last_hash(&before);
    let options = noted.as_deref().map(|hash| vec!["--ledger-hash", hash]);
    let options = options.unwrap_or_default();
    let kept = read_database(world)?;
    let (mut seen, mut missed) = (Vec::new(), 0);
    for (name, sql, is_plain) in changes {
        world.query(sql, &person).await?;
        let (is_sound, said) = world.verify_by(&options).await?;
        missed += usize::from(is_sound);
        let noticed = if is_sound { "NOT NOTICED" } else { &said };
        seen.push(format!("{name}: {noticed}"));
        if is_plain {
            let (is_exported, _) = world.export().await?;
            let is_paid = pay_due(world).await?;
            missed += usize::from(is_exported) + usize::from(is_paid);
            seen.push(format!("exported: {is_exported}, paid: {is_paid}"));
        }
        restore_database(&kept)?;
    }
    let (is_sound, after) = world.verify_by(&options).await?;
    anyhow::ensure!(is_sound, "the rows are not as before: {after}");
    let hash = noted.as_ref().map_or("no hash to note", |_| "a hash to note");
    let seen = format!("{missed} times not noticed in {} changes, {hash}; {}", changes.len(), seen.join("; "));
    Ok(Observed::broken_if(missed > 0, seen))
}

/// True if a file of those who are due is written.
async fn pay_due(world: &World) -> anyhow::Result<bool> {
    let (data, out) = (world.data(), world.path("due.csv"));
    let (folder, file) = (data.to_string_lossy(), out.to_string_lossy());
    let arguments = ["pay", "--data", &folder, "--csv", "plain", "--out", &file];
    let (is_fine, _) = world.tell(&arguments).await?;
    let is_written = out.exists();
    if is_written {
        fs::remove_file(&out)?;
    }
    Ok(is_fine || is_written)
}

/// Pays everybody, as a researcher does.
async fn pay(world: &World) -> anyhow::Result<()> {
    let (data, out) = (world.data(), world.path("bonuses.csv"));
    let (data, out) = (data.to_string_lossy(), out.to_string_lossy());
    let arguments = ["pay", "--data", &data, "--csv", "plain", "--out", &out, "--mark-paid"];
    let (is_paid, said) = world.tell(&arguments).await?;
    anyhow::ensure!(is_paid, "nobody is paid: {said}");
    let marked = world.query("SELECT 1 FROM payments WHERE state = 'paid'", "").await?;
    anyhow::ensure!(marked.len() == 2, "{} of two people are marked as paid", marked.len());
    Ok(())
}

/// The last hash of the ledger, as `verify` says it.
fn last_hash(said: &str) -> Option<String> {
    let (_, after) = said.split_once("ledger")?;
    let mut words = after.split(|letter: char| !letter.is_ascii_hexdigit());
    words.find(|word| word.len() >= 16).map(str::to_owned)
}

/// The files of the database, whichever there are.
fn read_database(world: &World) -> anyhow::Result<Vec<(PathBuf, Option<Vec<u8>>)>> {
    let names = ["coplay.sqlite", "coplay.sqlite-wal", "coplay.sqlite-shm"];
    let mut files = Vec::new();
    for path in names.map(|name| world.data().join(name)) {
        let bytes = path.exists().then(|| fs::read(&path)).transpose()?;
        files.push((path, bytes));
    }
    Ok(files)
}

/// Brings the files back as they were.
fn restore_database(files: &[(PathBuf, Option<Vec<u8>>)]) -> anyhow::Result<()> {
    for (path, bytes) in files {
        match bytes {
            Some(bytes) => fs::write(path, bytes)?,
            None if path.exists() => fs::remove_file(path)?,
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hash_stands_behind_its_ledger() {
        let hash = "0a".repeat(32);
        let said = format!("2 episodes, 0123456789abcdef01 | ledger of payments: entry 4, hash {hash}");
        assert_eq!(last_hash(&said), Some(hash));
        assert_eq!(last_hash("everything is equal"), None);
        assert_eq!(last_hash("the ledger is empty"), None);
    }
}
