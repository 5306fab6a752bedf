//! Actions in a log that were changed afterwards: the pages have signed others.

use std::fs;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::wire::log::Frames;
use crate::world::World;

pub(crate) const NAME: &str = "rows-forged";
pub(crate) const TRIES: &str =
    "Somebody with the data folder changes what a person did in the log of an episode, with checksums that fit.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let changed = variant.choose("changed", &["a row", "inputs", "a signature", "a key"]);
    let back = variant.draw("frames from the end", 0, 3) as usize;
    world.serve(&Study::pair(60, 10), &[]).await?;
    world.play_honestly().await?;
    world.stop().await?;
    let (was_sound, before) = world.verify().await?;
    anyhow::ensure!(was_sound, "the data do not verify before the attack: {before}");
    let path = world.log_of_episode()?;
    let mut log = Frames::read(&fs::read(&path)?)?;
    let number = if changed == "a row" { 0 } else { 9 };
    let found: Vec<usize> = (1..log.frames.len())
        .filter(|at| log.frames[*at].1.first() == Some(&number))
        .collect();
    anyhow::ensure!(!found.is_empty(), "the log has no such frame");
    let at = found[found.len() - 1 - back.min(found.len() - 1)];
    let body = match changed {
        // The header ends with the keys.
        "a key" => &mut log.frames[0].1,
        _ => &mut log.frames[at].1,
    };
    let end = body.len();
    match changed {
        // The last action of a row; another one that there is.
        "a row" => body[end - 1] = (body[end - 1] + 1) % 6,
        // Before salt and signature.
        "inputs" => body[end - 81] = (body[end - 81] + 1) % 6,
        "a signature" => body[end - 20] ^= 1,
        _ => body[end - 9] ^= 1,
    }
    fs::write(&path, log.write())?;
    let (is_sound, said) = world.verify().await?;
    let seen = format!("{changed} changed in frame {at}; verify: {said}");
    Ok(Observed::broken_if(is_sound, seen))
}
