//! Lobbies before a study runs: into how many rooms each splits its people, and how long they wait for each other.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::stage::StageKind;
use crate::stage::lobby::{Lobby, OnTimeout};
use crate::study::Study;
use crate::timeline::most::values_at;

/// A lobby, and what splits it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LobbyOutline {
    /// Its id.
    pub id: String,
    /// The rooms in which people wait apart: one for each combination of the levels that a group shares and that people
    /// here can have.
    pub cells: usize,
    /// The factors that split it: those with the same level for all of a group, of which people here can have several.
    pub same: Vec<String>,
    /// The mean time that people wait until their group is complete, minutes, if one person arrives per minute. Twice
    /// as many arrivals halve it.
    pub wait_min: f64,
    /// The time after which a person stops waiting, minutes; `None` without such a limit.
    pub timeout_min: Option<f64>,
}

impl Study {
    /// The lobbies, in the order of the file.
    pub(super) fn outline_lobbies(&self) -> Vec<LobbyOutline> {
        let stages = (0..).zip(&self.timeline);
        let lobbies = stages.filter_map(|(index, stage)| match &stage.kind {
            StageKind::Lobby(lobby) => Some(self.lobby_outline(index, &stage.id, lobby)),
            _ => None,
        });
        lobbies.collect()
    }

    fn lobby_outline(&self, index: u16, id: &str, lobby: &Lobby) -> LobbyOutline {
        let names = &lobby.matching.sharing.shared;
        let treatments = self.design.list_treatments();
        let rooms_of = |treatment: &Vec<usize>| {
            let (nodes, stages) = (&self.tree, &self.timeline);
            values_at(nodes, &self.design, stages, treatment, index, names)
        };
        let rooms: Vec<BTreeSet<Vec<String>>> = treatments.iter().map(rooms_of).collect();
        let coming = rooms.iter().filter(|rooms| !rooms.is_empty()).count();
        let rooms: BTreeSet<&Vec<String>> = rooms.iter().flatten().collect();
        let is_split = |at: usize| {
            let levels: BTreeSet<&String> = rooms.iter().filter_map(|room| room.get(at)).collect();
            levels.len() > 1
        };
        let same = (0..).zip(names).filter(|(at, _)| is_split(*at));
        // The first person waits for all others of the group, the last person for nobody. People with other treatments
        // do not come here.
        let others = f64::from(lobby.group_size.saturating_sub(1)) / 2.0;
        let minutes = treatments.len() as f64 / coming.max(1) as f64;
        LobbyOutline {
            id: id.to_owned(),
            cells: rooms.len(),
            same: same.map(|(_, name)| name.clone()).collect(),
            wait_min: others * rooms.len() as f64 * minutes,
            timeout_min: (lobby.on_timeout != OnTimeout::Wait)
                .then(|| f64::from(lobby.timeout_s) / 60.0),
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
