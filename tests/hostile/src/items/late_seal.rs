//! A true seal over inputs that the server never got: the partner's connection broke before they were uploaded.

use std::time::Duration;

use anyhow::Context as _;

use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::wire::messages::{ClientMessage, Recount};
use crate::world::World;

pub(crate) const NAME: &str = "late-seal";
pub(crate) const TRIES: &str =
    "A partner's connection breaks, and the page shows a true seal over inputs that the server never got.";

/// A seal: the tick up to which it goes, and the signature.
type Seal = (u32, [[u8; 32]; 2]);

/// How often a connection is broken until the server lacks something.
const TRIES_EACH: usize = 8;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let tick_hz = variant.choose("ticks per second", &[30, 20, 60]);
    let after_s = variant.draw("after s", 2, 5) as u32;
    world.serve(&Study::pair(20 * tick_hz, tick_hz), &[]).await?;
    // Mostly, the server has all that is sealed when the connection breaks.
    let mut broken = None;
    for _ in 0..TRIES_EACH {
        broken = break_connection(world, after_s * tick_hz).await?;
        if broken.is_some() {
            break;
        }
    }
    let (mut player, cut, (through, signature)) =
        broken.context("the server always had all that was sealed")?;
    let partner = player.partner();
    let heard = player.inputs[partner].clone();
    let inputs = heard[cut as usize..through as usize].to_vec();
    let recount = Recount {
        seat: partner as u8,
        life: 0,
        first: cut,
        inputs,
        signature,
    };
    let era = player.plan.era;
    // Once what plays there now is in the record.
    player.run(Duration::from_secs(3)).await?;
    player.page.send(&ClientMessage::Recount { era, recount }).await?;
    player
        .run_while(Duration::from_secs(20), |player| player.end.is_none())
        .await?;
    drop(player);
    world.stop().await?;
    let (is_sound, said) = world.verify().await?;
    let events = world.table("events").await?;
    let names = ["diverged", "equivocation"];
    let named = events.iter().filter(|row| {
        let is_kind = names.contains(&row["kind"].as_str()) && !row["tick"].is_empty();
        is_kind && row["seat"] == partner.to_string()
    });
    let named = named.count();
    let seen = format!(
        "its seat was cut at tick {cut}, and {through} inputs were under its seal; the honest page is named {named} times; \
         verify: {said}"
    );
    Ok(Observed::broken_if(named > 0 || !is_sound, seen))
}

/// A match up to a tick, in which the partner's connection breaks as soon as it has sent a seal: the attacker, the tick at
/// which the partner's seat was cut, and the seal over more than that; `None` if the server has all of it.
async fn break_connection(
    world: &mut World,
    after_ticks: u32,
) -> anyhow::Result<Option<(Player, u32, Seal)>> {
    let page = world.attacker().await?;
    let victim = world.victim("bot").await?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| {
            player.tick().is_some_and(|tick| tick >= after_ticks)
        })
        .await?;
    let before = player.seal;
    player
        .run_until(Duration::from_secs(5), |player| player.seal != before)
        .await?;
    drop(victim);
    let seal = player.seal.context("the partner has sent no seal")?;
    let partner = player.partner();
    player.claim_silence(partner, true).await?;
    player
        .run_while(Duration::from_secs(8), |player| player.changes.is_empty())
        .await?;
    let cut = player.words_until[partner];
    let is_late = cut < seal.0 && seal.0 as usize <= player.inputs[partner].len();
    Ok(is_late.then_some((player, cut, seal)))
}
