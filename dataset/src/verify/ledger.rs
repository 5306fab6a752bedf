//! Holds the logs of episodes against the ledger of the database.

use std::fs;
use std::path::Path;

use store::LogState;

use super::record::UNLIKE_LEDGER;
use super::{EpisodeVerdict, Verified};

/// How often a log that differs from the ledger is read again: a server may rewrite one while somebody withdraws.
const TRIES: usize = 3;

/// Names the logs that are not as the ledger has them, also once both are read again.
pub(super) async fn name_altered(data: &Path, episodes: &mut [Verified]) -> anyhow::Result<()> {
    let is_altered = |found: &Verified| found.log_state == LogState::Altered;
    for _ in 0..TRIES {
        if !episodes.iter().any(is_altered) {
            return Ok(());
        }
        let known = store::read_ledger(data).await?.logs;
        for found in episodes.iter_mut().filter(|found| is_altered(found)) {
            let bytes = fs::read(&found.path).unwrap_or_default();
            found.log_state = known.compare(&found.episode, &bytes);
            found.in_ledger = found.log_state == LogState::Same;
        }
    }
    for found in episodes.iter_mut().filter(|found| is_altered(found)) {
        if !matches!(found.verdict, EpisodeVerdict::Differs(_)) {
            found.verdict = EpisodeVerdict::Differs(UNLIKE_LEDGER.to_owned());
        }
    }
    Ok(())
}
