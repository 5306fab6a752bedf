//! Worlds that pages measure when the study asks what a device can do.

use std::collections::BTreeSet;

use protocol::control::Trial;

use super::Arbiter;

/// The most worlds whose steps a page measures: it takes about a tenth of a second for each.
const TRIALS: usize = 8;

impl Arbiter {
    /// The worlds whose steps a page measures: one of each module, then those modules with other parameters.
    pub(super) fn list_trials(&self) -> Vec<Trial> {
        let stages = self.stages.iter();
        // No page steps the world of a host.
        let stepped = stages.filter(|(_, stage)| stage.facts.page_facts.is_none());
        let worlds = stepped.map(|((_, params), stage)| Trial {
            module: stage.module.clone(),
            params: params.clone(),
        });
        let mut modules = BTreeSet::new();
        let (first, more): (Vec<_>, Vec<_>) = worlds
            .filter(|world| !world.module.is_empty())
            .partition(|world| modules.insert(world.module.clone()));
        let mut trials: Vec<Trial> = Vec::new();
        for world in first.into_iter().chain(more) {
            if trials.len() < TRIALS && !trials.contains(&world) {
                trials.push(world);
            }
        }
        trials
    }
}
