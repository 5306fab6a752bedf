//! The honest page is named as the liar: the other page uploads invented inputs of it first.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::player::{Manners, Player};
use crate::study::Study;
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "honest-blamed";
pub(crate) const TRIES: &str =
    "A page plays along and uploads, before its partner does, other inputs than were made.";

/// The inputs of the partner that are invented.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// All of them.
    All,
    /// Those of every second tick.
    EverySecond,
    /// The first that is not yet uploaded, each time.
    One,
    /// None; but its own inputs are others than those that the partner was told.
    Own,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let lie = variant.choose("invents", &[Lie::All, Lie::EverySecond, Lie::One, Lie::Own]);
    let early_ms = variant.draw("early by ms", 200, 1_800);
    let begins_s = variant.choose("begins after s", &[0, 2, 4]);
    world.serve(&Study::pair(200, 10), &[]).await?;
    let page = world.attacker().await?;
    let honest = world.honest()?;
    let mut player = Player::await_start(page).await?;
    player.manners = Manners {
        uploads: begins_s > 0,
        ..Manners::HONEST
    };
    let start_tick = begins_s as u32 * 10;
    player
        .run_until(Duration::from_secs(30), |player| {
            player.tick().is_some_and(|tick| tick >= start_tick)
        })
        .await?;
    player.manners.uploads = false;
    let (me, partner) = (player.me(), player.partner());
    let seats = player.plan.controllers.len();
    let actions = player.spec().actions.len() as u16;
    let mut sent = player.durable;
    let lies_from = sent;
    let until = player.tick().unwrap_or(0) + 80;
    while player.changes.is_empty()
        && !player.is_closed
        && player.ended.is_none()
        && player.tick().unwrap_or(0) < until
    {
        let due = player.tick().unwrap_or(0) + early_ms as u32 / 100;
        if due > sent {
            let rows = (sent..due).flat_map(|tick| {
                let mut row = vec![player.spec().noop; seats];
                for (seat, inputs) in player.inputs.iter().enumerate() {
                    row[seat] = inputs.get(tick as usize).copied().unwrap_or(row[seat]);
                }
                let lies = match lie {
                    Lie::All | Lie::Own => true,
                    Lie::EverySecond => tick % 2 == 0,
                    Lie::One => tick == sent,
                };
                if lies {
                    let whose = if let Lie::Own = lie { me } else { partner };
                    row[whose] = (row[whose] + 1) % actions;
                }
                row
            });
            let rows = rows.collect();
            player.upload(sent, rows, Vec::new(), None).await?;
            sent = due;
        }
        player.run(Duration::from_millis(100)).await?;
    }
    player.run(Duration::from_secs(1)).await?;
    let lost = player
        .changes
        .iter()
        .any(|(seat, _)| usize::from(*seat) == partner);
    let at_tick = player.tick();
    drop(player);
    wait_until(Duration::from_secs(30), || honest.is_over()).await;
    let (outcome, pay) = (honest.outcome(), honest.pay());
    drop(honest);
    world.stop().await?;
    let events = world.table("events").await?;
    let named = events.iter().filter(|row| {
        let seat = row["seat"] == partner.to_string();
        seat && matches!(row["kind"].as_str(), "diverged" | "equivocation")
    });
    let words = ["tick", "kind", "seat", "other_seat"];
    let named: Vec<String> = named
        .map(|row| words.map(|word| row[word].as_str()).join(" "))
        .collect();
    let seen = format!(
        "lies from tick {lies_from} to {sent}; the honest page lost its seat: {lost} (by tick {at_tick:?}), \
         its outcome {outcome:?}, pay {pay:?}; the tables name its seat {} times, first (tick, kind, seat, other) {:?}",
        named.len(),
        named.first()
    );
    Ok(Observed::broken_if(lost || !named.is_empty(), seen))
}
