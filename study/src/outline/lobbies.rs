//! Lobbies before a study runs: into how many rooms each splits its people, and how long they wait for each other.

use serde::Serialize;

use crate::stage::StageKind;
use crate::stage::lobby::Lobby;
use crate::study::Study;

/// A lobby, and what splits it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LobbyOutline {
    /// Its id.
    pub id: String,
    /// The rooms in which people wait apart: one for each combination of the levels that a group shares.
    pub cells: usize,
    /// The factors whose level is the same for all of a group.
    pub same: Vec<String>,
    /// The mean time that people wait until their group is complete, minutes, if one person arrives per minute. Twice
    /// as many arrivals halve it.
    pub wait_min: f64,
}

impl Study {
    /// The lobbies, in the order of the file.
    pub(super) fn lobbies(&self) -> Vec<LobbyOutline> {
        let stages = self.timeline.iter();
        let lobbies = stages.filter_map(|stage| match &stage.kind {
            StageKind::Lobby(lobby) => Some(self.lobby_outline(&stage.id, lobby)),
            _ => None,
        });
        lobbies.collect()
    }

    fn lobby_outline(&self, id: &str, lobby: &Lobby) -> LobbyOutline {
        let levels = |name: &String| {
            let between = self.design.between(name);
            let within = self.design.within(name);
            let levels = between.map(|factor| factor.levels.len());
            levels.or(within.map(|factor| factor.levels.len()))
        };
        let same = &lobby.matching.sharing.shared;
        let cells = same.iter().filter_map(levels);
        let cells = cells.fold(1_usize, usize::saturating_mul);
        // The first person waits for all others of the group, the last person for nobody.
        let others = f64::from(lobby.group_size.saturating_sub(1)) / 2.0;
        LobbyOutline {
            id: id.to_owned(),
            cells,
            same: same.iter().cloned().collect(),
            wait_min: others * cells as f64,
        }
    }

    /// Warns of factors of participants about which a lobby says nothing: people with different levels are put
    /// together.
    pub(super) fn warn_of_free_factors(&self, warn: &impl Fn(&str, String)) {
        for (stage, path) in self.timeline.iter().zip(&self.paths) {
            let StageKind::Lobby(lobby) = &stage.kind else {
                continue;
            };
            let matching = &lobby.matching;
            let sharing = &matching.sharing;
            let free = sharing
                .free
                .iter()
                .filter(|name| !sharing.asked.contains(name));
            let free: Vec<&str> = free.map(String::as_str).collect();
            if matching.same.is_some() || free.is_empty() {
                continue;
            }
            let (names, all) = (free.join("`, `"), free.join(", "));
            let message = format!(
                "people with different levels of `{names}` are put into one group; write `match: {{same: [{all}]}}` to \
                 match only people with the same level, which splits the waiting room, or `match: {{same: []}}` to \
                 say that this is meant"
            );
            warn(path, message);
        }
    }
}
