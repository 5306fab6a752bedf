//! Rows of the database that decide pay, changed by somebody who has the data folder.

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "rows-changed";
pub(crate) const TRIES: &str =
    "Somebody with the data folder changes rows of the database that decide who is paid how much.";

/// Changes by their names.
const CHANGES: [(&str, &str); 6] = [
    ("a payment", "UPDATE payments SET total = total + 5000, extra = extra + 5000, bonus = bonus + 5000 WHERE rowid = 1"),
    ("an outcome", "UPDATE sessions SET outcome = 'technical' WHERE rowid = 1"),
    ("the outcome of a payment", "UPDATE payments SET outcome = 'withdrew', total = 0 WHERE rowid = 1"),
    ("the score of an episode", "UPDATE episodes SET score = score + 100"),
    (
        "the people of an episode",
        "UPDATE players SET participant = (SELECT participant FROM players AS other WHERE other.episode = \
         players.episode AND other.seat <> players.seat)",
    ),
    ("the time of a payment", "UPDATE payments SET time_ms = time_ms + 36000000, time = time + 9000 WHERE rowid = 1"),
];

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let changed = variant.choose("changed", &CHANGES.map(|(name, _)| name));
    world.serve(&Study::pair(60, 10), &[]).await?;
    world.play_honestly().await?;
    world.stop().await?;
    let (was_sound, before) = world.verify().await?;
    anyhow::ensure!(was_sound, "the data do not verify before the attack: {before}");
    let change = CHANGES.into_iter().find(|(name, _)| *name == changed);
    world.query(change.map_or("", |(_, sql)| sql), "").await?;
    let (is_sound, said) = world.verify().await?;
    let seen = format!("{changed} changed; verify: {said}");
    Ok(Observed::broken_if(is_sound, seen))
}
