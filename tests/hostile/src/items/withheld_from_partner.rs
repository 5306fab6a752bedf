//! Inputs that the partner is not told, and the server is: the partner waits, and seems to be the one who is behind.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::setting::{Company, Setting};
use crate::wire::messages::EndReason;
use crate::world::World;

pub(crate) const NAME: &str = "withheld-from-partner";
pub(crate) const TRIES: &str =
    "A page tells the server its inputs and not its partner, who waits and seems to be the one who is behind.";

/// The longest time that it continues, seconds: a match in which nothing moves ends after a minute, and a choice.
const LASTS_S: u32 = 75;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let how = variant.choose(
        "partner hears",
        &["nothing", "datagrams without inputs", "nothing, and is called silent"],
    );
    let each = variant.choose("ticks in an upload", &[0, 25, 12]);
    let ahead: i32 = variant.choose("server hears ticks early", &[15, 0, -10]);
    let who = variant.choose("victim", &["bot", "bot", "browser"]);
    let after_ticks = variant.draw("after ticks", 0, 30) as u32;
    let setting = variant.choose("match", &Setting::WITH_DATAGRAMS);
    let whose = variant.choose("withheld from", &["everybody", "one"]);
    // As much as the others have said: nobody is ahead then, and nobody seems to be behind.
    let is_level = variant.choose("server hears", &["what is due", "as much as of the others"])
        != "what is due";
    let options = world.options_for(who);
    world.serve(&setting.study(150, 10), &options).await?;
    let (mut player, company) = Company::gather(world, setting, (who, true), None).await?;
    player.words.is_level = is_level;
    (player.words.each, player.words.ahead) = match setting.is_in_turns() {
        true => (0, ahead.signum()),
        false => (each, ahead),
    };
    player
        .run_until(Duration::from_secs(30), |player| {
            player.tick().is_some_and(|tick| tick >= setting.ticks(after_ticks))
        })
        .await?;
    let partner = company.honest_seats(&player)[0];
    match how {
        _ if whose == "one" => player.manners.withholds_from = Some(partner),
        "datagrams without inputs" => player.manners.says_inputs = false,
        _ => player.manners.sends = false,
    }
    let accuses = how.ends_with("silent").then_some(partner);
    company.join_in(&player, accuses);
    for _ in 0..LASTS_S {
        if player.end.is_some() || player.is_closed {
            break;
        }
        if how.ends_with("silent") && player.ended.is_none() {
            player.claim_silence(partner, true).await?;
        }
        player.run(Duration::from_secs(1)).await?;
    }
    let seen = format!(
        "withheld from tick {after_ticks} on; the server passed inputs of the partner on {} times",
        player.helped
    );
    let ended = player.ended.map(|ended| ended.reason);
    match judge(world, company, player, OwnInputs::AsTold, &seen).await? {
        // Nobody's fault would be its way to be paid without playing.
        Observed::Held(seen) => Ok(Observed::broken_if(ended == Some(EndReason::Technical), seen)),
        broken => Ok(broken),
    }
}
