//! Episodes that are over. A credential itself proves its latest expiry; this module knows that it ended before.

use std::collections::{BTreeMap, BTreeSet};

use super::CREDENTIAL_S;
use super::credentials::group;

/// The episodes that are over, as long as credentials of theirs could still be good.
#[derive(Debug, Default)]
pub(super) struct KnownEpisodes {
    /// Those that ended, and until when a credential could be good, seconds since the Unix epoch.
    ended: BTreeMap<String, u64>,
    /// The start of the server, seconds since the Unix epoch, and the episodes that ran then.
    pub(super) start_s: u64,
    pub(super) running: BTreeSet<String>,
}

impl KnownEpisodes {
    /// An episode is over.
    pub(super) fn end(&mut self, now_s: u64, ended: &str) {
        self.ended.retain(|_, until_s| *until_s > now_s);
        self.ended.insert(ended.to_owned(), now_s + CREDENTIAL_S);
        self.running.remove(ended);
    }

    /// True if the episode of a user name is over.
    pub(super) fn is_over(&self, username: &str) -> bool {
        let until_s = username
            .split_once(':')
            .and_then(|(until_s, _)| until_s.parse().ok());
        let issued_s = until_s.unwrap_or(0_u64).saturating_sub(CREDENTIAL_S);
        let name = group(username);
        let is_old = issued_s < self.start_s;
        self.ended.contains_key(name) || (is_old && !self.running.contains(name))
    }
}
