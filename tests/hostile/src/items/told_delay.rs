//! A page that says ticks are due much later, so that its partner's game stands still.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "told-delay";
pub(crate) const TRIES: &str =
    "A page says that ticks are due hours later, so that its partner's game stands still.";

/// How long it lies, and the seconds of play that a game at a quarter of its pace has at least in that time, once a page
/// has been waited for.
const LIES_FOR: Duration = Duration::from_secs(30);
const LEAST_S: u32 = 3;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let delay_ms = variant.choose("delay ms", &[5_000, 600_000, 16_000_000]);
    let tick_hz = variant.choose("ticks per second", &[60, 10, 30]);
    let after_ticks = variant.draw("after ticks", 5, 30) as u32;
    let plays = variant.choose("plays", &["as slowly as it says", "in time"]);
    let horizon = 40 * tick_hz;
    world.serve(&Study::pair(horizon, tick_hz), &[]).await?;
    let page = world.attacker().await?;
    let honest = world.honest()?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= after_ticks)
        .await?;
    let before = player.durable;
    player.delay_ms = delay_ms;
    player.manners.follows = plays == "as slowly as it says";
    player.run(LIES_FOR).await?;
    let moved = player.durable.saturating_sub(before);
    let seen = format!(
        "in the {} s after that, {moved} of {} ticks were played; the honest page plays: {}",
        LIES_FOR.as_secs(),
        LIES_FOR.as_secs() as u32 * tick_hz,
        honest.is_playing()
    );
    // The game lasts longer than the lies, so it has not ended by itself.
    Ok(Observed::broken_if(moved < LEAST_S * tick_hz || player.ended.is_some(), seen))
}
