//! A page that says ticks are due much later, so that its partner's game stands still.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "told-delay";
pub(crate) const TRIES: &str =
    "A page says that ticks are due hours later, so that its partner's game stands still.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let delay_ms = variant.choose("delay ms", &[5_000, 600_000, 16_000_000]);
    let after_ticks = variant.draw("after ticks", 5, 30) as u32;
    world.serve(&Study::pair(300, 10), &[]).await?;
    let page = world.attacker().await?;
    let honest = world.honest()?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= after_ticks)
        .await?;
    let before = player.durable;
    player.delay_ms = delay_ms;
    player.run(Duration::from_secs(12)).await?;
    let moved = player.durable.saturating_sub(before);
    let seen = format!(
        "in the 12 s after that, {moved} of 120 ticks were played; the honest page plays: {}",
        honest.is_playing()
    );
    Ok(Observed::broken_if(moved < 30 && player.ended.is_none(), seen))
}
