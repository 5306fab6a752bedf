//! Digests that are wrong once, or always: the honest partner must not pay for it with its seat or its name.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::setting::{Company, Setting};
use crate::world::World;

pub(crate) const NAME: &str = "false-digests";
pub(crate) const TRIES: &str =
    "A page says wrong digests, so that its partner loses its seat or is named.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let often = variant.choose("wrong", &["once", "always", "always, and after each request"]);
    let whose = variant.choose("of ticks", &["that are final", "that are due", "yet to come"]);
    let after_ticks = variant.draw("after ticks", 10, 40) as u32;
    let setting = variant.choose("match", &Setting::ALL);
    world.serve(&setting.study(120, 10), &[]).await?;
    let (mut player, company) =
        Company::gather(world, setting, ("bot", false), None).await?;
    let horizon = player.spec.horizon.min(120);
    let after_ticks = setting.ticks(after_ticks);
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= after_ticks)
        .await?;
    let mut lies = 0;
    for round in 0..24_u32 {
        if player.end.is_some() || player.is_closed {
            break;
        }
        let says = match often {
            "once" => round == 0,
            _ => player.ended.is_none(),
        };
        if says && player.is_seated() {
            let base = match whose {
                "that are final" => player.durable,
                "that are due" => player.tick().unwrap_or(0),
                _ => horizon - horizon / 6,
            };
            let tick = (base / 2 * 2).min(horizon);
            let number = player.recheck;
            if often == "always" {
                player.recheck = 0;
            }
            player.upload_digests(vec![(tick, 7 + u64::from(round))]).await?;
            player.recheck = number;
            lies += 1;
        }
        player.run(Duration::from_secs(1)).await?;
    }
    let seen = format!(
        "{lies} wrong digests; asked up to number {} to say them anew; it has its seat: {}",
        player.recheck,
        player.is_seated()
    );
    judge(world, company, player, OwnInputs::AsTold, &seen).await
}
