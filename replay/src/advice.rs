//! Advice: the choices of policies in each seat at each tick, as if they had played it from the start.
//!
//! A policy gets the seat's observations, and remembers its own past; the actions of the episode are not its own.

use std::collections::BTreeSet;

use archive::{ActionShares, ReplicaError, Stored};
use env_core::{Spec, World};
use policy::Partners;
use protocol::Controller;
use protocol::log::Log;
use serde::Serialize;

/// A policy that is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adviser {
    /// Its name; that of a model ends in the SHA-256 of its bytes.
    pub name: String,
    /// The bytes of a model.
    pub model: Option<Vec<u8>>,
}

/// The answers of one policy.
#[derive(Debug, Serialize)]
pub(crate) struct Advice {
    name: String,
    /// For each seat the probabilities in percent, `[tick, action]`, row-major.
    seats: Vec<Vec<u8>>,
    #[serde(skip)]
    minds: Vec<ActionShares>,
}

/// A name that no policy has.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no policy `{name}` that plays {env}: name the file of a model, or one of {known}"
)]
pub struct UnknownPolicy {
    /// The name.
    pub name: String,
    /// The environment.
    pub env: String,
    /// The names of the policies that play it.
    pub known: String,
}

impl UnknownPolicy {
    pub(crate) fn new(name: &str, spec: &Spec) -> Self {
        Self {
            name: name.to_owned(),
            env: spec.id.clone(),
            known: policy::list_names(spec).join(", "),
        }
    }
}

impl Adviser {
    /// A policy of this program, or a model that the data folder has under the hash in its name.
    ///
    /// # Errors
    /// [`UnknownPolicy`] if no policy of this name plays the environment.
    pub fn find_policy(name: &str, spec: &Spec) -> Result<Self, UnknownPolicy> {
        let is_stored = policy::sha256_of(name).is_some();
        if !is_stored && Partners::default().open(name, spec).is_none() {
            return Err(UnknownPolicy::new(name, spec));
        }
        Ok(Self {
            name: name.to_owned(),
            model: None,
        })
    }
}

/// Opens those who are asked: the AI partners that played in the episode, and others.
///
/// # Errors
/// [`ReplicaError`] for one that cannot play the environment.
pub(crate) fn open_advisers(
    log: &Log,
    others: &[Adviser],
    spec: &Spec,
    stored: &Stored,
) -> Result<Vec<Advice>, ReplicaError> {
    let changes = log.changes().map(|change| &change.controller);
    let controllers = log.header.controllers.iter().chain(changes);
    let own = controllers.filter_map(|controller| match controller {
        // A function of the environment itself cannot be asked for probabilities.
        Controller::Ai { policy } if policy != policy::ENVIRONMENT => Some(policy.clone()),
        Controller::Ai { .. } | Controller::Human | Controller::Vacant => None,
    });
    let shared = log.header.shared.iter();
    let own = own.chain(shared.flat_map(|shared| shared.policies.clone()));
    // In their order, each once.
    let mut known = BTreeSet::new();
    let own = own.map(|name| Adviser { name, model: None });
    let all = own.chain(others.iter().cloned());
    let all = all.filter(|adviser| known.insert(adviser.name.clone()));
    all.map(|adviser| Advice::open(adviser, log.header.seed, spec, stored))
        .collect()
}

impl Advice {
    fn open(
        adviser: Adviser,
        seed: u64,
        spec: &Spec,
        stored: &Stored,
    ) -> Result<Self, ReplicaError> {
        let Adviser { name, model } = adviser;
        let given = |sha256: &str| match &model {
            Some(bytes) => Ok(bytes.clone()),
            None => stored(sha256),
        };
        let minds = archive::open_advisers(&name, seed, spec, &given)?;
        Ok(Self {
            name: shorten_name(&name),
            seats: vec![Vec::new(); minds.len()],
            minds,
        })
    }

    /// Asks for the next step of every seat.
    pub(crate) fn ask_policy(&mut self, world: &mut dyn World, observation: &mut Vec<f32>) {
        let spec = world.spec().clone();
        let minds = self.minds.iter_mut().zip(&mut self.seats).enumerate();
        for (seat, (mind, answers)) in minds {
            world.observe(seat, observation);
            let mask = world.mask(seat);
            let mut shares = mind.next(&spec, observation, mask);
            // The marks of shared seats are no actions for a policy.
            shares.resize(spec.actions.len(), 0.0);
            answers.extend(shares.iter().map(|share| (share * 100.0 + 0.5) as u8));
        }
    }
}

/// Returns the specification of the environment of an episode, for a model that is asked about it.
///
/// # Errors
/// [`ReplicaError`] if the environment cannot be opened here.
pub fn read_spec(log: &Log, stored: &Stored) -> Result<Spec, ReplicaError> {
    let (world, _) = archive::open_past_world(&log.header, stored)?;
    Ok(world.spec().clone())
}

/// A name with only the start of its hash.
pub(crate) fn shorten_name(policy: &str) -> String {
    match policy::sha256_of(policy) {
        Some(sha256) => policy.replace(sha256, &sha256[..8]),
        None => policy.to_owned(),
    }
}
