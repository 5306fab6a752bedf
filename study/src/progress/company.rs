//! The company of a participant in a lobby: what people must share to become a group, and other levels for somebody who
//! waits.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Progress;
use crate::design::{Between, Unit};
use crate::study::Study;
use crate::timeline::route::{Visit, make_route};

/// The key that people who wait in a lobby share to become a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Company {
    /// The canonical JSON of the visits that they will make together, the values of `for_each` there, and the levels of
    /// other factors than those of `levels`.
    pub way: String,
    /// Their levels of the factors of [`Study::company_factors`], in that order.
    pub levels: Vec<String>,
}

impl Company {
    /// Its name: the levels with slashes between.
    pub fn name(&self) -> String {
        self.levels.join("/")
    }
}

impl Study {
    /// The factors of which each participant has one level, and whose level the people of a lobby share, in the order of
    /// the file.
    pub fn company_factors(&self, lobby: u16) -> impl Iterator<Item = &Between> {
        let shared = self
            .lobby(lobby)
            .map(|lobby| &lobby.matching.sharing.shared);
        let is_shared = move |name: &str| shared.is_some_and(|shared| shared.contains(name));
        let factors = self.design.between.iter();
        factors.filter(move |factor| {
            self.design.unit_of(&factor.name) == Unit::Participant && is_shared(&factor.name)
        })
    }
}

impl Progress {
    /// Returns the company of a participant who waits in a lobby.
    pub fn describe_company(&self, study: &Study) -> Company {
        let route = make_route(study, &self.assignment);
        let is_lobby = |visit: &Visit<'_>| study.lobby(visit.stage).is_some();
        let is_together = |visit: &Visit<'_>| study.is_together(visit.stage);
        let here = route.iter().skip(usize::from(self.at));
        let ahead = here
            .clone()
            .skip(1)
            .take_while(|visit| !is_lobby(visit))
            .filter(|visit| is_together(visit));
        let free = study
            .lobby(self.stage)
            .map(|lobby| &lobby.matching.sharing.free);
        let factors = study.company_factors(self.stage);
        let factors: Vec<&String> = factors.map(|factor| &factor.name).collect();
        // Members of a pool differ between people, and the first of a group brings the one that plays.
        let is_apart = |name: &String| {
            study.design.pool(name).is_some()
                || free.is_some_and(|free| free.contains(name))
                || factors.contains(&name)
        };
        let names = |visit: &Visit<'_>| {
            let names = visit
                .bindings
                .iter()
                .filter(|(name, _)| !is_apart(name))
                .map(|(name, level)| (name.clone(), json!(level.name)));
            json!([visit.stage, names.collect::<serde_json::Map<_, _>>()])
        };
        let all: Vec<Value> = here.take(1).chain(ahead).map(names).collect();
        let own = &self.assignment.own.levels;
        let level = |name: &String| own.get(name).cloned().unwrap_or_default();
        Company {
            way: crate::canonical::write_canonical(&json!(all)),
            levels: factors.into_iter().map(level).collect(),
        }
    }

    /// The factors of [`Study::company_factors`] whose level the participant can still change, by their numbers there:
    /// nothing on the way to this lobby has used it.
    pub fn open_factors(&self, study: &Study) -> Vec<usize> {
        let factors: Vec<&Between> = study.company_factors(self.stage).collect();
        if factors.is_empty() {
            return Vec::new();
        }
        let passed = make_route(study, &self.assignment);
        let passed = passed.iter().take(usize::from(self.at));
        let mut passed: BTreeSet<u16> = passed.map(|visit| visit.stage).collect();
        // A participant who came back to the lobby has seen what follows it.
        passed.extend(self.entered.iter().filter(|stage| **stage != self.stage));
        let is_open = |name: &String| {
            let here = study.uses.get(usize::from(self.stage));
            let mut before = passed
                .iter()
                .filter_map(|it| study.uses.get(usize::from(*it)));
            let is_used = before.any(|it| it.before.contains(name) || it.within.contains(name));
            !is_used && here.is_some_and(|here| !here.before.contains(name))
        };
        let numbers = (0..).zip(&factors);
        numbers
            .filter(|(_, factor)| is_open(&factor.name))
            .map(|(number, _)| number)
            .collect()
    }

    /// Gives the participant other levels of the factors of [`Study::company_factors`]. Those of factors that are not open
    /// have to stay.
    pub fn change_levels(&mut self, study: &Study, levels: &[String]) {
        let factors = study.company_factors(self.stage).zip(levels);
        let changed = factors.map(|(factor, level)| (factor.name.clone(), level.clone()));
        self.assignment.own.levels.extend(changed);
    }
}
