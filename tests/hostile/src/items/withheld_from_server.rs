//! Inputs that the partner gets, and the server does not, gets late, or gets only up to some tick.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::conduct::Words;
use crate::setting::{Company, Setting};
use crate::world::World;

pub(crate) const NAME: &str = "withheld-from-server";
pub(crate) const TRIES: &str =
    "A page plays with its partner and tells the server nothing, later than it should, or only up to some tick.";

/// The words that the server hears.
const WORDS: [(&str, Words); 4] = [
    (
        "nothing",
        Words {
            until: 0,
            ..Words::HONEST
        },
    ),
    (
        "the first four seconds",
        Words {
            until: 40,
            ..Words::HONEST
        },
    ),
    (
        "all, two and a half seconds late",
        Words {
            ahead: -25,
            ..Words::HONEST
        },
    ),
    (
        "all, six seconds late",
        Words {
            ahead: -60,
            ..Words::HONEST
        },
    ),
];

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let hears = variant.choose("server hears", &WORDS.map(|(name, _)| name));
    let returns = variant.choose("asks for its seat again", &[false, true]);
    let setting = variant.choose("match", &Setting::ALL);
    world.serve(&setting.study(150, 10), &[]).await?;
    let (mut player, company) =
        Company::gather(world, setting, ("bot", false), None).await?;
    for (name, words) in WORDS {
        if name == hears {
            player.words = words;
        }
    }
    if setting.is_in_turns() {
        (player.words.until, player.words.ahead) =
            (player.words.until / 10, player.words.ahead / 10);
    }
    company.join_in(&player, None);
    let (mut columns, _) = player.invent("cook")?;
    player.skill = columns.swap_remove(player.me());
    let mut cuts = 0;
    for _ in 0..28 {
        if player.end.is_some() || player.is_closed {
            break;
        }
        let was_seated = player.is_seated();
        player.run(Duration::from_secs(1)).await?;
        if was_seated && !player.is_seated() {
            cuts += 1;
            if returns && player.ended.is_none() {
                player.take_back().await?;
            }
        }
    }
    let seen = format!(
        "{} ticks told; its seat was taken {cuts} times",
        player.told.len()
    );
    judge(world, company, player, OwnInputs::AsTold, &seen).await
}
