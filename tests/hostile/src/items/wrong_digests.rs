//! Wrong digests end an episode: for a page that wants its pay without playing, or that wants its partner's gone.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::conduct::Manners;
use crate::player::Player;
use crate::study::Study;
use crate::wire::messages::Entry;
use crate::page::Page;
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "wrong-digests";
pub(crate) const TRIES: &str =
    "A page uploads wrong digests again and again, to end the episode with pay for itself.";

/// Wrong digests that end an episode for sure, where they can.
const ENOUGH: usize = 8;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let tick_hz = variant.choose("ticks per second", &[10, 20, 30]);
    let begins_s = variant.draw("begins after s", 1, 4);
    let many = variant.choose("digests at once", &[1, 4, 12]);
    // The highest number that can be said, as if the server had asked so often for its digests.
    let says = variant.choose("says that it was asked anew", &["as it was", "as often as can be said"]);
    let mut study = Study::pair(30 * tick_hz, tick_hz);
    // Without a rate for time, the base is paid where an episode ends for a technical reason.
    study.recruitment = study.recruitment.replace("  time_rate_per_hour: 9.00\n", "");
    world.serve(&study, &[]).await?;
    let id = world.next_id();
    let page = Page::enter(&world.address(), Entry::Sent(World::query_of(&id))).await?;
    let partner = world.next_id();
    let honest = world.honest_by(&World::query_of(&partner))?;
    let mut player = Player::await_start(page).await?;
    let begins = begins_s as u32 * tick_hz;
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= begins)
        .await?;
    player.manners = Manners {
        uploads: says != "as it was",
        ..Manners::HONEST
    };
    if player.manners.uploads {
        player.recheck = u16::MAX;
    }
    let began_us = player.server_us();
    let mut lies = 0;
    while lies < ENOUGH && player.ended.is_none() && !player.is_closed {
        let each = tick_hz / 4;
        let last = player.durable / each * each;
        let digests = (0..many).map(|back| (last.saturating_sub(back * each).max(each), 7 + u64::from(back)));
        let digests = digests.collect();
        player.upload_digests(digests).await?;
        lies += 1;
        let is_out = player
            .run_while(Duration::from_millis(1_500), |player| {
                player.is_seated() && player.ended.is_none()
            })
            .await?;
        if !is_out || player.ended.is_some() {
            continue;
        }
        player.take_back().await?;
        player
            .run_while(Duration::from_secs(4), |player| {
                !player.is_seated() && player.ended.is_none()
            })
            .await?;
    }
    let took_ms = (player.server_us() - began_us) / 1_000;
    let (ended, closed) = (player.ended, player.is_closed);
    player
        .run_while(Duration::from_secs(40), |player| player.end.is_none())
        .await?;
    wait_until(Duration::from_secs(30), || honest.is_over()).await;
    drop((honest, player));
    world.stop().await?;
    let (outcome, paid) = world.payment(&id).await.unwrap_or_default();
    let (theirs, their_pay) = world.payment(&partner).await?;
    let seen = format!(
        "{lies} lies in {took_ms} ms; the episode {ended:?}, closed: {closed}; the liar ends as {outcome:?} with {paid} \
         pence, its partner as {theirs:?} with {their_pay} pence"
    );
    Ok(Observed::broken_if(paid > 0 || their_pay == 0, seen))
}
