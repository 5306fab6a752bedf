//! One page's claims about delays keep another page from its seat: they are sent to a page that comes back.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::wire::messages::{Controller, KeyEvent, Link, ClientMessage, Timing, Upload};
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "false-delay";
pub(crate) const TRIES: &str =
    "A page claims delays, round trips and times that cannot be, and its partner reloads in the middle.";

/// The claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// In notes, that ticks are due as much later as can be said.
    Delays,
    /// In datagrams, the same.
    Datagrams,
    /// In notes and as it gets ready, round trips of an hour.
    RoundTrips,
    /// Inputs ahead of time, and keys that were pressed before the start.
    Ahead,
    /// In notes, delays that begin in the past and far in the future.
    Instants,
}

/// The most that a datagram can say, milliseconds.
const MOST_MS: u32 = (1 << 24) - 1;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let claims = [Claim::Delays, Claim::Instants, Claim::Datagrams, Claim::RoundTrips, Claim::Ahead];
    let claim = variant.choose("claims", &claims);
    let after_s = variant.draw("reload after s", 6, 10);
    world.serve(&Study::pair(300, 10), &[]).await?;
    let query = World::query_of(&world.next_id());
    let honest = world.honest_by(&query)?;
    let page = world.attacker().await?;
    let mut player = Player::await_match(page, Duration::from_secs(60)).await?;
    let seats = player.plan.controllers.len();
    match claim {
        Claim::RoundTrips => {
            let ready = ClientMessage::Ready {
                era: player.plan.era,
                links: vec![Link::Relay; seats],
                rtt_us: vec![3_600_000_000; seats],
                loss_permille: vec![Some(u16::MAX); seats],
            };
            player.page.send(&ready).await?;
        }
        _ => player.get_ready().await?,
    }
    player
        .run_until(Duration::from_secs(20), |player| player.start.is_some())
        .await?;
    match claim {
        Claim::Datagrams => player.delay_ms = MOST_MS,
        Claim::Ahead => player.words.ahead = 18,
        _ => {}
    }
    let mut number = 0;
    tell(&mut player, claim, &mut number, after_s * 2).await?;
    let ticks = player.durable;
    // It goes without a word, as a page does that is reloaded, and comes back.
    drop(honest);
    tell(&mut player, claim, &mut number, 2).await?;
    let gone = player.changes.len();
    let honest = world.honest_by(&query)?;
    let partner = player.partner();
    tell(&mut player, claim, &mut number, 60).await?;
    player
        .run_while(Duration::from_secs(15), |player| player.end.is_none())
        .await?;
    wait_until(Duration::from_secs(30), || honest.is_over()).await;
    let is_of_partner = |(seat, _): &&(u8, Controller)| usize::from(*seat) == partner;
    let hands = player.changes.iter().skip(gone).filter(is_of_partner);
    let hands: Vec<bool> = hands.map(|(_, by)| *by == Controller::Human).collect();
    let (ended, refused) = (player.ended, player.refused);
    let (outcome, pay, stuck) = (honest.outcome(), honest.pay(), honest.stuck_stage());
    drop((honest, player));
    world.stop().await?;
    let lost = hands.iter().skip_while(|is_back| !**is_back).filter(|is_back| !**is_back).count();
    let is_back = hands.contains(&true);
    let seen = format!(
        "{ticks} ticks were final before the reload; the honest page was given its seat again: {is_back}, and lost it {lost} \
         times after that; the episode {ended:?}, refused: {refused:?}; the honest page ends as {outcome:?} with {pay}, stuck: \
         {stuck:?}"
    );
    let is_done = outcome.as_deref() == Some("completed");
    Ok(Observed::broken_if(!is_back || lost > 0 || !is_done, seen))
}

/// Claims twice a second, for this many half seconds.
async fn tell(
    player: &mut Player,
    claim: Claim,
    number: &mut u32,
    times: u64,
) -> anyhow::Result<()> {
    let seats = player.plan.controllers.len();
    for _ in 0..times {
        if player.ended.is_some() || player.is_closed {
            break;
        }
        let tick = player.tick().unwrap_or(0);
        let mut timing = Timing {
            number: *number,
            ..Timing::default()
        };
        match claim {
            Claim::Delays => timing.delays = vec![(tick, u32::MAX)],
            Claim::Instants => {
                timing.delays = vec![(0, u32::MAX), (tick, 20_000), (u32::MAX, 1), (0, 0)];
            }
            Claim::RoundTrips => timing.rtt_us = vec![u32::MAX; seats],
            Claim::Ahead => {
                timing.keys = vec![KeyEvent {
                    tick: Some(tick),
                    action: 1,
                    down: true,
                    at_us: i64::MIN,
                    shown_us: -1,
                }];
            }
            Claim::Datagrams => {}
        }
        if claim != Claim::Datagrams {
            let upload = Upload {
                timing: Some(timing),
                ..player.upload()
            };
            player.send_upload(upload).await?;
            *number += 1;
        }
        player.run(Duration::from_millis(500)).await?;
    }
    Ok(())
}
