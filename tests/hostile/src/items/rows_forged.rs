//! Actions in a log that were changed afterwards: the pages have signed others.

use std::fs;

use ed25519_dalek::SigningKey;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::wire::log::Frames;
use crate::world::World;

pub(crate) const NAME: &str = "rows-forged";
pub(crate) const TRIES: &str =
    "Somebody with the data folder changes what a person did in the log of an episode, with checksums that fit.";

const CHANGES: [&str; 7] = [
    "a row, the digests and the end",
    "inputs",
    "a signature",
    "a key",
    "a row, in a log of version 4",
    "a row, in a log of version 4 without keys",
    "a key, and every signature",
];

/// The kinds of frames with actions, and with what a page has signed.
const ACTIONS: u8 = 0;
const INPUTS: u8 = 9;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let changed = variant.choose("changed", &CHANGES);
    let back = variant.draw("frames from the end", 0, 3) as usize;
    world.serve(&Study::pair(60, 10), &[]).await?;
    world.play_honestly().await?;
    world.stop().await?;
    let (was_sound, before) = world.verify().await?;
    anyhow::ensure!(was_sound, "the data do not verify before the attack: {before}");
    let path = world.log_of_episode()?;
    let mut log = Frames::read(&fs::read(&path)?)?;
    let episode = path.file_stem().unwrap_or_default().to_string_lossy();
    let bytes = match changed {
        "a key, and every signature" => {
            log.sign_anew(&episode, 1, &SigningKey::from_bytes(&[7; 32]))?;
            log.write()
        }
        "a row, the digests and the end" => {
            change(&mut log, "a row", back)?;
            log.settle()?;
            log.write()
        }
        "inputs" | "a signature" | "a key" => {
            change(&mut log, changed, back)?;
            log.write()
        }
        older => {
            change(&mut log, "a row", back)?;
            log.remove_proofs();
            if older.ends_with("without keys") {
                // Behind two keys and their number: the way, and no shared seats. An older program wrote none of it.
                let header = &mut log.frames[0].1;
                header.truncate(header.len().saturating_sub(2 + 2 * 32 + 1));
            }
            log.write_unnumbered()
        }
    };
    fs::write(&path, bytes)?;
    let (is_sound, said) = world.verify().await?;
    let (is_exported, told) = world.export().await?;
    let seen = format!("{changed} changed, {back} frames from the end; verify: {said}; export: {told}");
    Ok(Observed::broken_if(is_sound || is_exported, seen))
}

/// Changes a frame of the log, this many before the last of its kind.
fn change(log: &mut Frames, changed: &str, back: usize) -> anyhow::Result<()> {
    let kind = if changed == "a row" { ACTIONS } else { INPUTS };
    let found: Vec<usize> = (1..log.frames.len())
        .filter(|at| log.frames[*at].1.first() == Some(&kind))
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
    Ok(())
}
