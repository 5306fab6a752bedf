//! Frames that were removed from a log: notes of time, digests and routes.

use std::fs;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::wire::log::Frames;
use crate::world::World;

pub(crate) const NAME: &str = "frames-removed";
pub(crate) const TRIES: &str =
    "Somebody with the data folder removes frames from the log of an episode, with checksums that fit.";

/// Kinds of records by their number on the wire.
const KINDS: [(&str, u8); 3] = [("Digest", 2), ("Timing", 3), ("Route", 8)];

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let kind = variant.choose("kind", &KINDS.map(|(name, _)| name));
    let which = variant.choose("which", &["all", "one", "the last"]);
    world.serve(&Study::pair(60, 10), &[]).await?;
    world.play_honestly().await?;
    world.stop().await?;
    let (was_sound, before) = world.verify().await?;
    anyhow::ensure!(was_sound, "the data do not verify before the attack: {before}");
    let number = KINDS.iter().find(|(name, _)| *name == kind).map_or(3, |(_, number)| *number);
    let path = world.log_of_episode()?;
    let mut frames = Frames::read(&fs::read(&path)?)?;
    let found: Vec<usize> = (1..frames.bodies.len())
        .filter(|at| frames.bodies[*at].first() == Some(&number))
        .collect();
    anyhow::ensure!(!found.is_empty(), "the log has no frame {kind}");
    let gone: Vec<usize> = match which {
        "all" => found,
        "one" => vec![found[variant.below(found.len() as u64) as usize]],
        _ => found.into_iter().next_back().into_iter().collect(),
    };
    let mut at = 0;
    frames.bodies.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    fs::write(&path, frames.write())?;
    let (is_sound, said) = world.verify().await?;
    let seen = format!("{} frames {kind} removed; verify: {said}", gone.len());
    Ok(Observed::broken_if(is_sound, seen))
}
