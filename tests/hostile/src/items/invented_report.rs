//! The last inputs of somebody who is gone, invented by the page that is asked for them.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::player::{Manners, Player};
use crate::study::Study;
use crate::wire::messages::Report;
use crate::world::World;

pub(crate) const NAME: &str = "invented-report";
pub(crate) const TRIES: &str =
    "A partner's connection breaks, and the page that is asked for its last inputs makes up more of them.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let more = variant.choose("inputs made up", &[4, 12, 25]);
    let told = variant.choose("inputs in the report", &["all", "the last ones", "none"]);
    let after_ticks = variant.draw("after ticks", 20, 50) as u32;
    world.serve(&Study::pair(200, 10), &[]).await?;
    let page = world.attacker().await?;
    let honest = world.honest()?;
    let mut player = Player::await_start(page).await?;
    player.manners = Manners {
        reports: false,
        ..Manners::HONEST
    };
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= after_ticks)
        .await?;
    drop(honest);
    player
        .run_until(Duration::from_secs(20), |player| !player.fences.is_empty())
        .await?;
    let partner = player.partner();
    let testimony = player.testimony(partner);
    let said = testimony.inputs.clone();
    let (seat, life) = player.fences[0];
    let mut inputs = said.clone();
    let actions = player.spec().actions.len() as u64;
    for _ in 0..more {
        inputs.push(variant.below(actions) as u16);
    }
    let have = inputs.len() as u32;
    let invented = inputs.clone();
    let inputs = match told {
        "all" => inputs[inputs.len().saturating_sub(40)..].to_vec(),
        "the last ones" => inputs[said.len()..].to_vec(),
        _ => Vec::new(),
    };
    let report = Report {
        seat,
        life,
        have,
        inputs,
    };
    player.report(report).await?;
    player
        .run_while(Duration::from_secs(5), |player| player.changes.is_empty())
        .await?;
    // Rows up to the cut, as the change of the seat has them.
    let (first, me) = (player.durable, player.me());
    let rows = (first..have).flat_map(|tick| {
        let mut row = vec![player.spec().noop; 2];
        row[me] = player.inputs[me].get(tick as usize).copied().unwrap_or(row[me]);
        row[partner] = invented[tick as usize];
        row
    });
    let rows = rows.collect();
    player.manners.uploads = false;
    player.upload(first, rows, Vec::new(), None).await?;
    player
        .run_while(Duration::from_secs(30), |player| player.end.is_none())
        .await?;
    let ended = player.ended;
    drop(player);
    world.stop().await?;
    let (forged, ticks) = world.find_forged(&testimony).await?;
    let seen = format!(
        "the page that is gone said {} inputs; of {ticks} archived ticks of its person, {forged} have an input that it \
         never said; the episode {ended:?}",
        said.len()
    );
    Ok(Observed::broken_if(forged > 0, seen))
}
