//! One page invents a whole episode: its partner is kept waiting, and rows for both seats are uploaded.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::player::{Manners, Player};
use crate::study::Study;
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "invented-episode";
pub(crate) const TRIES: &str =
    "A page keeps its partner waiting and uploads skilled play for both seats.";

/// How the partner is kept from playing.
const MEANS: [(&str, Manners); 3] = [
    (
        "datagrams without inputs",
        Manners {
            says_inputs: false,
            uploads: false,
            ..Manners::HONEST
        },
    ),
    (
        "no datagrams",
        Manners {
            sends: false,
            uploads: false,
            ..Manners::HONEST
        },
    ),
    (
        "no receipts",
        Manners {
            has_receipts: false,
            uploads: false,
            ..Manners::HONEST
        },
    ),
];

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let tick_hz = variant.choose("ticks per second", &[10, 15, 30]);
    let means = variant.choose("partner hears", &MEANS.map(|(name, _)| name));
    let chosen = MEANS.into_iter().find(|(name, _)| *name == means);
    let manners = chosen.map_or(Manners::HONEST, |(_, manners)| manners);
    let early_ms = variant.draw("early by ms", 500, 1_900);
    world.serve(&Study::pair(15 * tick_hz, tick_hz), &[]).await?;
    let page = world.attacker().await?;
    let honest = world.honest()?;
    let mut player = Player::await_start(page).await?;
    player.manners = manners;
    let (rows, score) = player.invent("cook")?;
    let seats = player.plan.controllers.len();
    let horizon = player.spec().horizon;
    let mut sent = 0;
    let early = early_ms * u64::from(player.plan.tick_hz) / 1_000;
    while sent < horizon && !player.is_closed && player.ended.is_none() {
        player.run(Duration::from_millis(200)).await?;
        let due = player.tick().map_or(0, |tick| tick + early as u32).min(horizon);
        if due > sent {
            let part = &rows[sent as usize * seats..due as usize * seats];
            let ended = (due == horizon).then_some(due);
            player.upload(sent, part.to_vec(), Vec::new(), ended).await?;
            sent = due;
        }
    }
    player
        .run_while(Duration::from_secs(30), |player| {
            player.ended.is_none() && player.end.is_none()
        })
        .await?;
    player.run(Duration::from_secs(2)).await?;
    wait_until(Duration::from_secs(20), || honest.is_over()).await;
    let (ended, end) = (player.ended, player.end.clone());
    let said = player.testimony(player.partner());
    drop((honest, player));
    world.stop().await?;
    let (is_sound, found) = world.verify().await?;
    let (forged, ticks) = world.find_forged(&said).await?;
    let seen = format!(
        "{sent} of {horizon} ticks invented, worth {score}; the server says {ended:?} and shows {end:?}; of {ticks} \
         archived ticks of the partner, {forged} have an input that its page never said; verify finds {}: {found}",
        if is_sound { "nothing" } else { "faults" }
    );
    Ok(Observed::broken_if(forged > 0, seen))
}
