//! Policies whose choices in an episode are computed, but not played.

use std::sync::Arc;

use env_core::Spec;
use env_core::shared::without_marks;
use policy::{ActionShares, Network, Partners};

use super::ReplicaError;

/// Opens a policy once for each seat of an episode with this seed, in its state before the first tick. The name of a
/// model ends with the SHA-256 of its bytes, which `stored` returns.
///
/// # Errors
/// [`ReplicaError::Policy`] if there is no such policy, or if it cannot play the environment.
pub fn open_advisers(
    name: &str,
    seed: u64,
    spec: &Spec,
    stored: &dyn Fn(&str) -> std::io::Result<Vec<u8>>,
) -> Result<Vec<ActionShares>, ReplicaError> {
    let seats = usize::from(spec.seats);
    let opened = match policy::sha256_of(name) {
        None => {
            let open = |seat| {
                let mut policy = Partners::default().open(name, spec)?;
                policy.reset(seat, seed);
                Some(ActionShares::of_policy(policy))
            };
            (0..seats).map(open).collect::<Option<Vec<ActionShares>>>()
        }
        Some(sha256) => {
            let network = stored(sha256).ok();
            let network = network.and_then(|bytes| Network::decode(&bytes).ok());
            let network = network.map(Arc::new);
            let own = without_marks(spec);
            let open =
                |network: &Arc<Network>| ActionShares::of_network(Arc::clone(network), &own).ok();
            network.and_then(|network| (0..seats).map(|_| open(&network)).collect())
        }
    };
    opened.ok_or_else(|| ReplicaError::Policy {
        name: name.to_owned(),
        env: spec.id.clone(),
    })
}
