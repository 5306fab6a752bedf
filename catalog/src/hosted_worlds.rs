//! Faults and warnings about environments on a host that show only when they are played.

use std::collections::BTreeSet;

use study::stage::{Env, RunOn};
use study::{EnvFactsByStage, Problem, StageKind, Study};

use crate::python::check_host;

/// The problems of the environments on hosts of a study.
#[derive(Default)]
pub(crate) struct HostProblems {
    /// Nobody can play.
    pub(crate) faults: Vec<Problem>,
    /// Problems of worlds that can be played, though not as well as others.
    pub(crate) warnings: Vec<Problem>,
}

/// Plays every environment on a host at random. `playable` are the parameters with which the stages are played. A
/// problem of several of them is reported once, at the first stage.
pub(crate) fn check_hosts(study: &Study, playable: &EnvFactsByStage) -> HostProblems {
    let (mut found, mut checked, mut said) =
        (HostProblems::default(), BTreeSet::new(), BTreeSet::new());
    for (stage, params) in playable.keys() {
        let Some(env) = find_hosted(study, *stage) else {
            continue;
        };
        let Some(file) = env.module.as_ref() else {
            continue;
        };
        if !checked.insert((&file.sha256, params)) {
            continue;
        }
        let problem = |reason: &str| study.env_problem(*stage, reason);
        match check_host(file, params) {
            Err(reason) => found.faults.push(problem(&reason)),
            Ok(world) => {
                found
                    .faults
                    .extend(world.lack_of_picture().as_deref().map(problem));
                let late = world
                    .check_delay()
                    .filter(|_| said.insert((&file.sha256, "late")));
                let other = world.check_repetition();
                let other = other.filter(|_| said.insert((&file.sha256, "other")));
                let has_people = env.people() > 0;
                let keyless = world.tell_keyless(&env.keys).filter(|_| has_people);
                let warnings = [late, other, keyless].into_iter().flatten();
                found
                    .warnings
                    .extend(warnings.map(|reason| problem(&reason)));
            }
        }
    }
    found
}

/// A stage whose environment in Python a host steps.
fn find_hosted(study: &Study, stage: u16) -> Option<&Env> {
    match &study.timeline.get(usize::from(stage))?.kind {
        StageKind::Env(env) if env.python.is_some() && env.run == RunOn::Host => Some(env),
        _ => None,
    }
}
