//! Rows that decide payments and that somebody changed: nobody is paid on the basis of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use protocol::log::read_log;
use store::Payment;
use study::plural::count;

/// Adds the session to each sentence that names a participant of a payment.
pub(super) fn name_sessions(altered: Vec<String>, payments: &[Payment]) -> Vec<String> {
    let name = |sentence: String| {
        let is_named = |payment: &&Payment| {
            let mut words = sentence.split_whitespace();
            words.any(|word| word == payment.participant)
        };
        match payments.iter().find(is_named) {
            Some(payment) => format!("{sentence} (session {})", payment.session),
            None => sentence,
        }
    };
    altered.into_iter().map(name).collect()
}

/// Refuses to pay by rows that somebody changed.
pub(super) fn ensure_unaltered(altered: &[String]) -> anyhow::Result<()> {
    anyhow::ensure!(
        altered.is_empty(),
        "nothing is written or marked as paid, because the database is not as the program stored it:\n  {}\n\
         Take the database from a backup of before the change, or pay these people by hand; `coplay verify` says when \
         everything is as it was stored.",
        altered.join("\n  ")
    );
    Ok(())
}

/// Tells if the database is not the one of the episodes beside it, as a new one is not.
pub(super) fn name_unknown(
    data: &Path,
    known: &BTreeSet<String>,
) -> anyhow::Result<Option<String>> {
    let mut unknown = Vec::new();
    for path in archive::list_logs(data)? {
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        // The server may just begin one.
        let is_ended = || {
            let bytes = fs::read(&path).ok()?;
            read_log(&bytes).ok()?.ending
        };
        if !known.contains(&*id) && is_ended().is_some() {
            unknown.push(id.into_owned());
        }
    }
    Ok(unknown.first().map(|first| {
        let many = count(unknown.len(), "ended episode");
        format!("the database does not know {many}, such as {first}, so it is not the database of these data")
    }))
}
