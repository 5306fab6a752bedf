//! The honest page is named as the liar: the other page tells it one thing and the server another.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::conduct::Twist;
use crate::item::{Observed, Variant};
use crate::setting::{Company, Setting};
use crate::world::World;

pub(crate) const NAME: &str = "honest-blamed";
pub(crate) const TRIES: &str =
    "A page tells its partner other inputs than the server, in either order, so that the partner's world differs.";

/// The ticks of which it tells two things.
const LIES: [(&str, Twist); 5] = [
    ("all", |_, input, actions| (input + 1) % actions),
    ("every second", |tick, input, actions| {
        (input + (tick % 2) as u16) % actions
    }),
    ("one", |tick, input, actions| {
        (input + u16::from(tick == 5)) % actions
    }),
    ("all from the third on", |tick, input, actions| {
        (input + u16::from(tick >= 3)) % actions
    }),
    ("all from the thirtieth on", |tick, input, actions| {
        (input + u16::from(tick >= 30)) % actions
    }),
];

/// The orders of arrival, and the number of ticks by which the server gets the inputs earlier than the partner.
const ORDERS: [(&str, i32); 3] = [
    ("the server", 15),
    ("the partner", -12),
    ("both at once", 0),
];

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let lies = variant.choose("lies of ticks", &LIES.map(|(name, _)| name));
    let first = variant.choose("first told", &ORDERS.map(|(name, _)| name));
    let who = variant.choose("victim", &["bot", "bot", "browser"]);
    let setting = variant.choose("match", &Setting::WITH_DATAGRAMS);
    let hearer = variant.choose("other inputs hears", &["the server", "one partner"]);
    let options = world.options_for(who);
    world.serve(&setting.study(120, 10), &options).await?;
    let (mut player, company) = Company::gather(world, setting, (who, true), None).await?;
    let (mut columns, _) = player.invent("cook")?;
    player.skill = columns.swap_remove(player.me());
    for (name, twist) in LIES {
        if name == lies {
            player.words.twist = twist;
        }
    }
    for (name, ahead) in ORDERS {
        if name == first {
            player.words.ahead = match setting.is_in_turns() {
                // A turn waits for everybody, so the server can hear of it a turn later at most.
                true => ahead.signum(),
                false => ahead,
            };
        }
    }
    if hearer == "one partner" {
        player.words.lies_to = company.honest_seats(&player).pop();
    }
    company.join_in(&player, None);
    player
        .run_while(Duration::from_secs(25), |player| player.end.is_none())
        .await?;
    let differ = player
        .told
        .iter()
        .filter(|(tick, word)| player.inputs[player.me()].get(**tick as usize) != Some(*word))
        .count();
    let seen = format!(
        "of {} ticks two things were told; asked {} times to simulate again",
        differ, player.recheck
    );
    judge(world, company, player, OwnInputs::AsTold, &seen).await
}
