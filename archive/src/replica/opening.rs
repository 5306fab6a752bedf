//! Opens the world of an episode: the environment that this program brings, or the module that is stored under its hash,
//! with the networks of AI partners.

use std::cell::RefCell;
use std::collections::VecDeque;

use env_core::World;
use env_core::contract::ParamError;
use env_core::envs::{self, Opener};
use env_core::guest::Sprite;
use env_core::view::ViewFacts;
use policy::Partners;
use protocol::EnvWay;
use protocol::hash::sha256_hex;
use protocol::log::Header;
use protocol::rules::SharedSeats;

use super::error::ReplicaError;
use super::module_file::open_file;
use crate::stored::Stored;

/// True if this program brings the environment of an episode.
fn is_native(header: &Header) -> bool {
    header.module.is_empty() || envs::IDS.contains(&header.env.as_str())
}

/// Opens the world of an episode.
///
/// # Errors
/// [`ReplicaError`]
pub(crate) fn world(
    header: &Header,
    stored: &Stored,
) -> Result<Box<dyn World + Send>, ReplicaError> {
    open_world(header, stored).map(|(world, _)| world)
}

/// A world, with the pictures of its file; `None` for one that this program brings.
pub(crate) type Opened = (Box<dyn World + Send>, Option<Vec<Sprite>>);

/// Opens it, with the pictures that its file brings; where people share their seats with AI partners, with these.
pub(crate) fn open_world(header: &Header, stored: &Stored) -> Result<Opened, ReplicaError> {
    let (world, sprites) = open_own_world(header, stored)?;
    let Some(shared) = &header.shared else {
        return Ok((world, sprites));
    };
    let mut partners = Partners::default();
    for name in &shared.policies {
        add_network(&mut partners, name, stored)?;
    }
    let unknown = || ReplicaError::Policy {
        name: shared.policies.join(", "),
        env: header.env.clone(),
    };
    let seats = SharedSeats::list_seats(&header.controllers);
    let world = partners.share(world, &seats, (&shared.policies, &shared.keys));
    Ok((Box::new(world.ok_or_else(unknown)?), sprites))
}

thread_local! {
    /// The environments that were opened last, by id and parameters: the episodes of a study have few of them.
    static LAST_OPENED: RefCell<VecDeque<(String, String, Opener)>> = const { RefCell::new(VecDeque::new()) };
}

/// The greatest number of environments that stay built.
const MAX_LAST_OPENED: usize = 16;

/// Opens an environment of this program, without building it again if it was opened before.
fn open_native(id: &str, params: &str) -> Result<Box<dyn World + Send>, ParamError> {
    LAST_OPENED.with_borrow_mut(|last| {
        let known = |it: &(String, String, Opener)| (&*it.0, &*it.1) == (id, params);
        if let Some(known) = last.iter().position(known).and_then(|at| last.remove(at)) {
            let world = (known.2)();
            last.push_front(known);
            return Ok(world);
        }
        let open = envs::find_opener(id, params)?;
        let world = open();
        last.truncate(MAX_LAST_OPENED - 1);
        last.push_front((id.to_owned(), params.to_owned(), open));
        Ok(world)
    })
}

fn open_own_world(header: &Header, stored: &Stored) -> Result<Opened, ReplicaError> {
    if !is_native(header) {
        return stored_world(header, stored);
    }
    let ours = open_native(&header.env, &header.params);
    if header.module.is_empty() {
        return Ok((ours?, None));
    }
    let here = match ours {
        Ok(ours) if ours.spec().version == header.env_version => return Ok((ours, None)),
        // Of another version: the module that was stored then has the rules that were played.
        Ok(ours) => ours.spec().version.clone(),
        Err(error) => format!("one that refuses these parameters ({error})"),
    };
    stored_world(header, stored).map_err(|error| match error {
        ReplicaError::Module { reason, .. } => ReplicaError::Version {
            env: header.env.clone(),
            recorded: header.env_version.clone(),
            here,
            reason: format!("; its stored module cannot be played: {reason}"),
        },
        other => other,
    })
}

/// The environment in the module that is stored under its hash.
fn stored_world(header: &Header, stored: &Stored) -> Result<Opened, ReplicaError> {
    let refused = |reason: String| ReplicaError::Module {
        env: header.env.clone(),
        hash: header.module.clone(),
        reason,
    };
    let bytes = stored(&header.module).map_err(|error| refused(error.to_string()))?;
    if sha256_hex(&bytes) != header.module {
        return Err(refused("the stored file has another hash".into()));
    }
    let opened = open_file(&bytes, &header.params);
    let (world, sprites) = opened.map_err(|error| refused(error.to_string()))?;
    Ok((world, Some(sprites)))
}

/// Returns the facts by which pages show a hosted world; `None` for a world that they step.
pub(super) fn page_facts(
    header: &Header,
    world: &dyn World,
    sprites: Option<Vec<Sprite>>,
) -> Result<Option<ViewFacts>, ReplicaError> {
    if header.way == EnvWay::Module {
        return Ok(None);
    }
    Ok(Some(match sprites {
        Some(sprites) => ViewFacts::new(world.spec(), sprites),
        None => ViewFacts::of_native(&header.env, &header.params)?,
    }))
}

/// Adds the network that a policy plays with, if it does and it is not there yet.
///
/// # Errors
/// [`ReplicaError::Network`]
pub(crate) fn add_network(
    partners: &mut Partners,
    name: &str,
    stored: &Stored,
) -> Result<(), ReplicaError> {
    let Some(hash) = policy::sha256_of(name).filter(|_| !partners.has_model(name)) else {
        return Ok(());
    };
    let refused = |reason: String| ReplicaError::Network {
        name: name.into(),
        hash: hash.into(),
        reason,
    };
    let bytes = stored(hash).map_err(|error| refused(error.to_string()))?;
    if sha256_hex(&bytes) != hash {
        return Err(refused("the stored file has another hash".into()));
    }
    let added = partners.add_model(hash, &bytes);
    added.map_err(|error| refused(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_that_was_opened_before_has_its_own_parameters() {
        let horizon = |params: &str| {
            let world = open_native("overcooked", params).unwrap();
            world.spec().horizon
        };
        let params = |horizon: usize| format!(r#"{{"horizon":{horizon}}}"#);
        // More than stay built, and each again.
        for round in 0..2 {
            for number in 1..=MAX_LAST_OPENED + 4 {
                assert_eq!(horizon(&params(number)), number as u32, "round {round}");
            }
            assert_eq!(horizon(&params(MAX_LAST_OPENED)), MAX_LAST_OPENED as u32);
        }
        LAST_OPENED.with_borrow(|last| {
            let names: std::collections::BTreeSet<_> = last.iter().map(|it| &it.1).collect();
            assert_eq!(last.len(), MAX_LAST_OPENED);
            assert_eq!(names.len(), MAX_LAST_OPENED, "each is there once");
            assert_eq!(last[0].1, params(MAX_LAST_OPENED));
        });
        for _ in 0..2 {
            assert!(open_native("overcooked", r#"{"horizon":-1}"#).is_err());
        }
    }
}
