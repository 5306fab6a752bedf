//! Inputs that the partner is not told, and the server is: the partner waits, and seems to be the one who is behind.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "withheld-from-partner";
pub(crate) const TRIES: &str =
    "A page tells the server its inputs and not its partner, who waits and seems to be the one who is behind.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let how = variant.choose(
        "partner hears",
        &["nothing", "datagrams without inputs", "nothing, and is called silent"],
    );
    let each = variant.choose("ticks in an upload", &[0, 25, 12]);
    let ahead = variant.choose("server hears ticks early", &[15, 0, -10]);
    let who = variant.choose("victim", &["bot", "bot", "browser"]);
    let after_ticks = variant.draw("after ticks", 0, 30) as u32;
    world.serve(&Study::pair(150, 10), &world.options_for(who)).await?;
    let victim = world.victim(who).await?;
    let page = world.attacker().await?;
    let mut player = Player::await_start(page).await?;
    (player.words.each, player.words.ahead) = (each, ahead);
    player
        .run_until(Duration::from_secs(30), |player| {
            player.tick().is_some_and(|tick| tick >= after_ticks)
        })
        .await?;
    match how {
        "datagrams without inputs" => player.manners.says_inputs = false,
        _ => player.manners.sends = false,
    }
    let partner = player.partner();
    for _ in 0..25 {
        if player.end.is_some() || player.is_closed {
            break;
        }
        if how.ends_with("silent") && player.ended.is_none() {
            player.claim_silence(partner, true).await?;
        }
        player.run(Duration::from_secs(1)).await?;
    }
    let seen = format!(
        "withheld from tick {after_ticks} on; the server passed inputs of the partner on {} times",
        player.helped
    );
    judge(world, victim, player, OwnInputs::AsTold, &seen).await
}
