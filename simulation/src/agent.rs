//! The model that some kitchens call as an AI partner, and its compiled form.

use std::io;
use std::sync::LazyLock;

use env_core::World;
use policy::Partners;
use policy::network::ActionChoice;
use protocol::Controller;
use protocol::hash::sha256_hex;
use protocol::rules::SharedSeats;

/// The file of the model in the folder of the study.
pub(crate) const FILE: &str = "agent.onnx";

/// The model: a clone of the scripted cook.
pub(crate) const MODEL: &[u8] = include_bytes!("../../examples/overcooked-coord/cook_clone.onnx");

/// Its entry in a study. It draws, so it keeps a state that must roll back.
pub(crate) const CALL: &str = "agent.onnx, temperature: 0.5, every_ticks: 2";

/// The model as the server compiles it: the SHA-256, and the bytes.
static NETWORK: LazyLock<(String, Vec<u8>)> = LazyLock::new(|| {
    let world = env_core::envs::open("overcooked", "{}").expect("the kitchen of the defaults");
    let choice = ActionChoice {
        every: 2,
        temperature: Some(0.5),
        is_masked: false,
    };
    let network = onnx::read(MODEL, env_core::World::spec(&world), choice);
    let bytes = network.expect("the model plays kitchens").encode();
    let bytes = bytes.expect("a network that was read has its bytes");
    (sha256_hex(&bytes), bytes)
});

/// The file that an episode was played with, by its SHA-256: the network alone, as the environments are native here.
pub(crate) fn read_stored(hash: &str) -> io::Result<Vec<u8>> {
    match &*NETWORK {
        (sha256, bytes) if sha256 == hash => Ok(bytes.clone()),
        _ => Err(io::Error::other("the environments are native here")),
    }
}

/// The AI partners of a page.
pub(crate) fn test_partners() -> Partners {
    let mut partners = Partners::default();
    let added = partners.add_model(&NETWORK.0, &NETWORK.1);
    added.expect("a network that was written is read");
    partners
}

/// Returns a world with the AI partners with which people share seats, if they do; `controllers` are those of tick 0.
///
/// # Errors
/// A partner cannot play it.
pub(crate) fn share(
    world: Box<dyn World + Send>,
    shared: Option<&SharedSeats>,
    controllers: &[Controller],
) -> Result<Box<dyn World + Send>, String> {
    let Some(shared) = shared else {
        return Ok(world);
    };
    let seats = SharedSeats::list_seats(controllers);
    let world = test_partners().share(world, &seats, (&shared.policies, &shared.keys));
    let world = world.ok_or_else(|| {
        let policies = shared.policies.join(", ");
        format!("the partner of a shared seat cannot play: {policies}")
    })?;
    Ok(Box::new(world))
}
