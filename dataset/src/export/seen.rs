//! The table of frames that pages showed, one row for each.

use std::collections::BTreeSet;

use protocol::log::Log;
use protocol::{Seat, Tick};
use serde::Serialize;

use super::{Keys, Table};
use archive::Shown;

#[derive(Serialize)]
struct SeenRow<'a> {
    keys: Keys<'a>,
    life: u8,
    at_ms: u32,
    tick: u32,
    changes: u16,
    have: &'a str,
    ahead: u8,
    wish: &'a str,
    hidden: bool,
    digest: &'a str,
}

pub(super) const SEEN_COLUMNS: [&str; 9] = [
    "life", "at_ms", "tick", "changes", "have", "ahead", "wish", "hidden", "digest",
];

/// Adds the frames of an episode. Those of a page end where it noted what cannot be, and why is given.
pub(super) fn add(
    table: &mut Table,
    log: &Log,
    shown: Vec<Shown<'_>>,
    actions: &[String],
    left_out: &BTreeSet<Seat>,
) -> anyhow::Result<Vec<String>> {
    let mut wrong = Vec::new();
    let is_there = |page: &Shown<'_>| !left_out.contains(&page.seat);
    for page in shown.into_iter().filter(is_there) {
        for rebuilt in page.frames {
            let rebuilt = match rebuilt {
                Ok(rebuilt) => rebuilt,
                Err(error) => {
                    let (seat, life) = (page.seat.0, page.life.0);
                    wrong.push(format!("what seat {seat} showed in life {life}: {error}"));
                    break;
                }
            };
            let (frame, digest) = (&rebuilt.frame, rebuilt.shown);
            let have: Vec<_> = frame
                .have
                .iter()
                .map(|Tick(tick)| tick.to_string())
                .collect();
            let wish = actions.get(usize::from(frame.wish));
            table.add(&SeenRow {
                keys: Keys::new(&log.header, page.seat),
                life: page.life.0,
                at_ms: frame.at_ms,
                tick: frame.tick.0,
                changes: frame.changes,
                have: &have.join(" "),
                ahead: frame.ahead,
                wish: wish.filter(|_| frame.ahead > 0).map_or("", String::as_str),
                hidden: frame.hidden,
                digest: &format!("{digest:016x}"),
            })?;
        }
    }
    Ok(wrong)
}
