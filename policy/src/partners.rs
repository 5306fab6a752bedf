//! The AI partners that an episode can call: the scripted ones, and its networks.

use std::collections::BTreeMap;
use std::sync::Arc;

use env_core::shared::{SharedWorld, count_own_actions, without_marks};
use env_core::{Policy, Spec, World};

use crate::imperfect::{Imperfect, Imperfection};
use crate::network::{Network, NetworkError, Player};

/// The name under which a network plays: that of its file, `@`, and the SHA-256 of its bytes in lower-case hex.
pub fn policy_name(file: &str, sha256: &str) -> String {
    format!("{file}@{sha256}")
}

/// The SHA-256 in the name of a network; `None` if the name is that of a script.
pub fn sha256_of(name: &str) -> Option<&str> {
    let (_, sha256) = name.rsplit_once('@')?;
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (sha256.len() == 64 && sha256.bytes().all(is_hex)).then_some(sha256)
}

/// The AI partners that an episode can call, by name.
#[derive(Clone, Debug, Default)]
pub struct Partners(BTreeMap<String, Arc<Network>>);

impl Partners {
    /// Adds a network; the caller says which SHA-256 its bytes have.
    ///
    /// # Errors
    /// [`NetworkError`]
    pub fn add_model(&mut self, sha256: &str, bytes: &[u8]) -> Result<(), NetworkError> {
        let network = Arc::new(Network::decode(bytes)?);
        self.0.insert(sha256.to_owned(), network);
        Ok(())
    }

    /// Checks whether it has everything that a name needs.
    pub fn has_model(&self, name: &str) -> bool {
        sha256_of(name).is_none_or(|sha256| self.0.contains_key(sha256))
    }

    /// Returns the policy of this name for an environment, with the imperfections in the name; `None` if it is unknown,
    /// or cannot play it.
    /// The marks of shared seats are no actions for it.
    pub fn open(&self, name: &str, spec: &Spec) -> Option<Box<dyn Policy>> {
        if count_own_actions(spec) < spec.actions.len() {
            return self.open(name, &without_marks(spec));
        }
        let (base, how) = Imperfection::split(name);
        let policy = self.open_perfect(&base, spec)?;
        Some(match how == Imperfection::default() {
            true => policy,
            false => Box::new(Imperfect::new(policy, how, spec)),
        })
    }

    /// Returns the world in which people share these seats with the policies of these names, each with the key of its
    /// mark; `None` if one is unknown, or cannot play it.
    pub fn share<W: World>(
        &self,
        world: W,
        seats: &[usize],
        (names, keys): (&[String], &[String]),
    ) -> Option<SharedWorld<W>> {
        let open = |name: &String| self.open(name, world.spec());
        let seat = |seat: &usize| {
            let policies: Option<Vec<_>> = names.iter().map(open).collect();
            Some((*seat, policies?))
        };
        let seats: Option<Vec<_>> = seats.iter().map(seat).collect();
        let seats = seats.filter(|_| keys.len() == names.len())?;
        Some(SharedWorld::new(world, keys, seats))
    }

    fn open_perfect(&self, name: &str, spec: &Spec) -> Option<Box<dyn Policy>> {
        let Some(sha256) = sha256_of(name) else {
            return crate::by_name(name, spec);
        };
        let network = Arc::clone(self.0.get(sha256)?);
        Some(Box::new(Player::new(network, spec).ok()?))
    }
}
