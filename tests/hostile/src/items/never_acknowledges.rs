//! A page that never acknowledges the inputs of its partner, or acknowledges what was never sent.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::conduct::Receipts;
use crate::player::Player;
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "never-acknowledges";
pub(crate) const TRIES: &str =
    "A page never acknowledges its partner's inputs, so that the partner can neither go on nor be right.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let receipts = variant.choose(
        "receipts",
        &[Receipts::None, Receipts::Future, Receipts::Behind],
    );
    let after_ticks = variant.choose("after ticks", &[0, 30, 60]);
    let tick_hz = variant.choose("ticks per second", &[10, 20, 30]);
    world.serve(&Study::pair(15 * tick_hz, tick_hz), &[]).await?;
    let page = world.attacker().await?;
    let victim = world.victim("bot").await?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| {
            player.tick().is_some_and(|tick| tick >= after_ticks)
        })
        .await?;
    player.manners.receipts = receipts;
    player
        .run_while(Duration::from_secs(26), |player| player.end.is_none())
        .await?;
    let seen = format!("the end that the attacker is shown: {:?}", player.end);
    judge(world, victim, player, OwnInputs::AsTold, &seen).await
}
