//! Warnings about grid worlds that can be played, though not as their author meant.

use std::collections::BTreeMap;

use env_core::Environment as _;
use env_core::envs::grid::{GridFile, list_oddities};
use study::stage::Env;
use study::{EnvFactsByStage, Problem, StageKind, Study};

/// An oddity: the parameter, and the reason.
type Oddity = (String, String);

/// Warns about rewards that are never paid, and ends that never come or come immediately. A file that serves several
/// conditions is odd only if it is odd in all of them. `playable` are the parameters with which the stages are played.
pub(crate) fn warn_of_worlds(study: &Study, playable: &EnvFactsByStage) -> Vec<Problem> {
    let mut by_world: BTreeMap<String, (u16, Vec<Oddity>)> = BTreeMap::new();
    for (stage, params) in playable.keys() {
        let Some(env) = find_grid(study, *stage) else {
            continue;
        };
        let oddities = list_oddities(params).into_iter();
        let oddities: Vec<Oddity> = oddities.map(|odd| (odd.field, odd.reason)).collect();
        let world = match &env.world {
            Some(world) => format!("file {}", world.file),
            None => format!("stage {stage}"),
        };
        by_world
            .entry(world)
            .and_modify(|(_, common)| common.retain(|odd| oddities.contains(odd)))
            .or_insert_with(|| (*stage, oddities));
    }
    let found = by_world.into_values().flat_map(|(stage, oddities)| {
        let problem = move |(field, reason): Oddity| study.config_problem(stage, &field, &reason);
        oddities.into_iter().map(problem)
    });
    found.collect()
}

/// A stage that plays a grid world which is written as data.
fn find_grid(study: &Study, stage: u16) -> Option<&Env> {
    match &study.timeline.get(usize::from(stage))?.kind {
        StageKind::Env(env) if env.env == GridFile::ID && env.module.is_none() => Some(env),
        _ => None,
    }
}
