//! One page's word removes another player: it says for a minute that a partner is silent who plays all the time.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::setting::{Company, Setting};
use crate::wire::messages::Controller;
use crate::world::World;

pub(crate) const NAME: &str = "false-silence";
pub(crate) const TRIES: &str =
    "For a minute a page says that its partner is silent, who plays all the time.";

/// The claims about the partner.
#[derive(Clone, Copy, Debug)]
enum Claim {
    /// That it is silent, once.
    Once,
    /// That it is silent, is heard, and is silent again.
    Wavering,
    /// That it is silent, four times a second.
    Incessant,
    /// That it is silent, while its own inputs come ahead of time, so that the partner seems to be behind.
    Ahead,
}

/// Seconds of claims.
const CLAIMS_S: u32 = 60;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let claim = variant.choose(
        "claims",
        &[Claim::Ahead, Claim::Wavering, Claim::Incessant, Claim::Once],
    );
    let who = variant.choose("victim", &["bot", "bot", "browser"]);
    let after_ticks = variant.draw("after ticks", 5, 15) as u32;
    let setting = variant.choose("match", &Setting::ALL);
    let claims_s = match who {
        "bot" if !setting.is_in_turns() => CLAIMS_S,
        _ => 12,
    };
    let horizon = 10 * (claims_s + 5);
    let options = world.options_for(who);
    world.serve(&setting.study(horizon, 10), &options).await?;
    let (mut player, company) = Company::gather(world, setting, (who, true), None).await?;
    player
        .run_until(Duration::from_secs(30), |player| {
            player.tick().is_some_and(|tick| tick >= setting.ticks(after_ticks))
        })
        .await?;
    let partner = company.honest_seats(&player)[0];
    if let Claim::Ahead = claim {
        player.words.ahead = 18;
    }
    company.join_in(&player, Some(partner));
    for round in 0..claims_s * 4 {
        if player.ended.is_some() || player.is_closed {
            break;
        }
        let silent = match claim {
            Claim::Once => (round == 0).then_some(true),
            Claim::Wavering => (round % 4 == 0).then_some(round % 8 == 0),
            Claim::Incessant | Claim::Ahead => Some(true),
        };
        if let Some(silent) = silent {
            player.claim_silence(partner, silent).await?;
        }
        player.run(Duration::from_millis(250)).await?;
    }
    let is_of_partner =
        |(seat, by): &&(u8, Controller)| usize::from(*seat) == partner && *by != Controller::Human;
    let lost = player.changes.iter().filter(is_of_partner).count();
    player
        .run_while(Duration::from_secs(8), |player| player.end.is_none())
        .await?;
    let seen = format!(
        "in {claims_s} s the honest page, which played all the time, lost its seat {lost} times"
    );
    judge(world, company, player, OwnInputs::AsTold, &seen).await
}
