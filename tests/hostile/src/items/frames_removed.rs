//! Frames that were removed from a log: notes of time, digests and routes, and inputs with their signatures.

use std::fs;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::wire::log::Frames;
use crate::world::World;

pub(crate) const NAME: &str = "frames-removed";
pub(crate) const TRIES: &str =
    "Somebody with the data folder removes frames from the log of an episode, with checksums that fit.";

/// Kinds of records by their number on the wire, and whether the frames after them get new numbers.
const KINDS: [(&str, u8, bool); 8] = [
    ("Digest", 2, false),
    ("Digest, and numbers the others anew", 2, true),
    ("Timing", 3, false),
    ("Timing, and numbers the others anew", 3, true),
    ("Route", 8, false),
    ("Route, and numbers the others anew", 8, true),
    ("Inputs", 9, false),
    ("Inputs, and numbers the others anew", 9, true),
];

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let kind = variant.choose("kind", &KINDS.map(|(name, ..)| name));
    let which = variant.choose("which", &["all", "one", "the last"]);
    world.serve(&Study::pair(60, 10), &[]).await?;
    world.play_honestly().await?;
    world.stop().await?;
    let (was_sound, before) = world.verify().await?;
    anyhow::ensure!(was_sound, "the data do not verify before the attack: {before}");
    let kind = KINDS.into_iter().find(|(name, ..)| *name == kind);
    let (name, number, renumbers) = kind.unwrap_or(KINDS[0]);
    let path = world.log_of_episode()?;
    let mut log = Frames::read(&fs::read(&path)?)?;
    let found: Vec<usize> = (1..log.frames.len())
        .filter(|at| log.frames[*at].1.first() == Some(&number))
        .collect();
    anyhow::ensure!(!found.is_empty(), "the log has no frame {name}");
    let gone: Vec<usize> = match which {
        "all" => found,
        "one" => vec![found[variant.below(found.len() as u64) as usize]],
        _ => found.into_iter().next_back().into_iter().collect(),
    };
    let mut at = 0;
    log.frames.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    if renumbers {
        log.renumber();
    }
    fs::write(&path, log.write())?;
    let (is_sound, said) = world.verify().await?;
    let (is_exported, told) = world.export().await?;
    let seen = format!("{} frames {name} removed; verify: {said}; export: {told}", gone.len());
    Ok(Observed::broken_if(is_sound || is_exported, seen))
}
