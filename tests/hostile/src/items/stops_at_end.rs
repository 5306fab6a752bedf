//! A page that stops at the end, so that the partner's last ticks never count.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "stops-at-end";
pub(crate) const TRIES: &str =
    "A page plays to the last second and then stops, so that its partner never comes to the end.";

/// How it stops.
#[derive(Clone, Copy, Debug)]
enum Stop {
    /// The server is not told the last inputs.
    WithoutLastWords,
    /// Nobody gets the last inputs, and the connection stays.
    Silent,
    /// The connection is closed.
    Closed,
    /// Everything is sent, except that it has seen the end.
    WithoutEnd,
}

/// Ticks of the episode.
const HORIZON: u32 = 100;

/// An honest page comes to its last page within that time, whatever the attacker does: nobody waits longer than some seconds
/// for a page that says nothing.
const ENDS_WITHIN: Duration = Duration::from_secs(25);

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let stop = variant.choose(
        "stops",
        &[Stop::WithoutLastWords, Stop::Silent, Stop::WithoutEnd, Stop::Closed],
    );
    let before = variant.choose("ticks before the end", &[1, 3, 10]);
    world.serve(&Study::pair(HORIZON, 10), &[]).await?;
    let page = world.attacker().await?;
    let victim = world.victim("bot").await?;
    let mut player = Player::await_start(page).await?;
    let last = HORIZON - before;
    player.manners.ends = false;
    if !matches!(stop, Stop::WithoutEnd) {
        player.words.until = last;
    }
    player
        .run_until(Duration::from_secs(30), |player| {
            player.tick().is_some_and(|tick| tick + 2 >= last)
        })
        .await?;
    match stop {
        Stop::WithoutLastWords | Stop::WithoutEnd => {}
        Stop::Silent => player.manners.sends = false,
        Stop::Closed => player.manners.uploads = false,
    }
    // The end must not wait until the attacker has gone.
    let is_kept = match stop {
        Stop::Closed => false,
        _ => !player.run_while(ENDS_WITHIN, |_| !victim.is_over()).await?,
    };
    let stays = match is_kept {
        true => "the honest page came to no end while the attacker stayed",
        false => "the honest page came to its end",
    };
    let seen = format!("{stays}; the end that the attacker is shown: {:?}", player.end);
    let judged = judge(world, victim, player, OwnInputs::AsTold, &seen).await?;
    Ok(match judged {
        Observed::Held(seen) => Observed::broken_if(is_kept, seen),
        broken @ Observed::Broken(_) => broken,
    })
}
