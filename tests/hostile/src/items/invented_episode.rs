//! One page invents a whole episode: its partner is kept waiting, and skilled play is sent ahead of time.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::conduct::{Manners, Receipts};
use crate::setting::{Company, Setting};
use crate::world::World;

pub(crate) const NAME: &str = "invented-episode";
pub(crate) const TRIES: &str =
    "A page keeps its partner waiting, tells skilled play ahead of time, and says that the episode is over.";

/// How the partner is kept from playing.
const MEANS: [(&str, Manners); 3] = [
    (
        "datagrams without inputs",
        Manners {
            says_inputs: false,
            ..Manners::HONEST
        },
    ),
    (
        "no datagrams",
        Manners {
            sends: false,
            ..Manners::HONEST
        },
    ),
    (
        "no receipts",
        Manners {
            receipts: Receipts::None,
            ..Manners::HONEST
        },
    ),
];

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let tick_hz = variant.choose("ticks per second", &[10, 15, 30]);
    let means = variant.choose("partner hears", &MEANS.map(|(name, _)| name));
    let chosen = MEANS.into_iter().find(|(name, _)| *name == means);
    let manners = chosen.map_or(Manners::HONEST, |(_, manners)| manners);
    let early_ms = variant.draw("early by ms", 500, 1_900) as u32;
    let setting = variant.choose("match", &Setting::ALL);
    let horizon = 15 * tick_hz;
    world.serve(&setting.study(horizon, tick_hz), &[]).await?;
    let (mut player, company) =
        Company::gather(world, setting, ("bot", false), None).await?;
    let horizon = horizon.min(player.spec.horizon);
    player.manners = manners;
    let (mut columns, score) = player.invent("cook")?;
    player.skill = columns.swap_remove(player.me());
    player.words.ahead = setting.ticks(early_ms * tick_hz / 1_000) as i32;
    company.join_in(&player, None);
    player
        .run_while(Duration::from_secs(25), |player| {
            player.chain.next < horizon && player.ended.is_none()
        })
        .await?;
    // All its own inputs are sent; now it says that everybody has seen the end.
    let mut upload = player.upload();
    upload.ended = Some(horizon);
    if !player.is_closed {
        player.send_upload(upload).await?;
    }
    player
        .run_while(Duration::from_secs(15), |player| player.end.is_none())
        .await?;
    let seen = format!(
        "{} of {horizon} ticks told, worth {score} with the partner that it wants; shown at the end: {:?}",
        player.chain.next, player.end
    );
    judge(world, company, player, OwnInputs::AsTold, &seen).await
}
