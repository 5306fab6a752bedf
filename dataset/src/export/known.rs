//! The sessions and episodes of the database that several tables need: the rounds of groups, and what `--since` includes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use protocol::control::EndReason;
use store::{Episode, KnownLogs, Session, StudyStore};

use super::options::ExportOptions;
use crate::time::parse_unix_us;

/// The sessions and episodes of a data folder.
#[derive(Default)]
pub(super) struct KnownData {
    /// Those that are exported, oldest first.
    pub(super) sessions: Vec<Session>,
    /// Those that are exported, oldest first.
    pub(super) episodes: Vec<Episode>,
    /// Facts of every episode.
    facts: BTreeMap<String, KnownFacts>,
    /// Episodes that are not exported.
    left_out: BTreeSet<String>,
    /// The groups that are exported; `None` for all.
    groups: Option<BTreeSet<String>>,
    /// The logs of episodes, as far as the database knows them.
    logs: KnownLogs,
    /// The rows that decide payments and were changed after they were stored: a sentence for each.
    pub(super) altered: Vec<String>,
}

/// The facts of an episode that only the database has.
struct KnownFacts {
    /// Its number among the episodes of its group, from 0.
    round: u32,
    /// The reason of its end.
    reason: Option<EndReason>,
    /// When it ended, microseconds since the Unix epoch.
    ended_us: Option<u64>,
}

impl KnownData {
    pub(super) async fn read(data: &Path, options: &ExportOptions) -> anyhow::Result<Self> {
        let mut known = Self::default();
        let Some(store) = StudyStore::find(data).await? else {
            return Ok(known);
        };
        let (sessions, episodes) = (store.sessions().await?, store.episodes().await?);
        let members = store.groups_of_participants().await?;
        let ledger = store.read_ledger().await?;
        (known.logs, known.altered) = (ledger.logs, ledger.altered);
        store.close().await;
        let mut rounds: BTreeMap<&str, u32> = BTreeMap::new();
        for episode in &episodes {
            let round = rounds.entry(&episode.group).or_default();
            let facts = KnownFacts {
                round: *round,
                reason: episode.reason,
                ended_us: episode.ended_at.as_deref().and_then(parse_unix_us),
            };
            known.facts.insert(episode.id.clone(), facts);
            *round += 1;
        }
        let is_included = |episode: &Episode| {
            let ended_us = episode.ended_at.as_deref().and_then(parse_unix_us);
            ended_us.is_none_or(|ended_us| options.is_within(ended_us))
        };
        let left_out = episodes.iter().filter(|episode| !is_included(episode));
        known.left_out = left_out.map(|episode| episode.id.clone()).collect();
        known.episodes = episodes.into_iter().filter(is_included).collect();
        let is_included = |session: &Session| options.is_within(session.seen_us);
        known.sessions = sessions.into_iter().filter(is_included).collect();
        known.groups = options.since_us.map(|_| {
            let of_episodes = known.episodes.iter().map(|episode| episode.group.clone());
            let sessions = known.sessions.iter();
            let of_sessions = sessions.filter_map(|session| members.get(&session.participant));
            of_episodes.chain(of_sessions.flatten().cloned()).collect()
        });
        Ok(known)
    }

    /// The logs of episodes, as far as the database knows them.
    pub(super) fn logs(&self) -> &KnownLogs {
        &self.logs
    }

    /// Returns the number of an episode among those of its group, from 0.
    pub(super) fn round_of(&self, episode: &str) -> Option<u32> {
        self.facts.get(episode).map(|facts| facts.round)
    }

    /// The reason of the end of an episode, if the database has it.
    pub(super) fn reason(&self, episode: &str) -> Option<EndReason> {
        self.facts.get(episode).and_then(|facts| facts.reason)
    }

    /// Returns when an episode ended, microseconds since the Unix epoch, if the database has it.
    pub(super) fn ended_us(&self, episode: &str) -> Option<u64> {
        self.facts.get(episode).and_then(|facts| facts.ended_us)
    }

    /// Tells whether the database has an episode.
    pub(super) fn has_episode(&self, episode: &str) -> bool {
        self.facts.contains_key(episode)
    }

    /// Tells whether an episode is exported.
    pub(super) fn includes_episode(&self, episode: &str) -> bool {
        !self.left_out.contains(episode)
    }

    /// Tells whether a group is exported.
    pub(super) fn has_group(&self, group: &str) -> bool {
        self.groups
            .as_ref()
            .is_none_or(|groups| groups.contains(group))
    }
}
