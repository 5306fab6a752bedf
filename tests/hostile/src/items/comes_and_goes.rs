//! The honest page is named for the lies of another one that gives its seat up and takes it back meanwhile.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::aftermath::{OwnInputs, judge};
use crate::conduct::Twist;
use crate::deeds::Simulates;
use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "comes-and-goes";
pub(crate) const TRIES: &str =
    "A page tells its partner other inputs than the server, while it gives its seat up and takes it back.";

/// The ticks of which it tells two things.
const LIES: [(&str, Twist); 3] = [
    ("all", |_, input, actions| (input + 1) % actions),
    ("two of three", |tick, input, actions| {
        (input + u16::from(!tick.is_multiple_of(3))) % actions
    }),
    ("every second", |tick, input, actions| {
        (input + (tick % 2) as u16) % actions
    }),
];

/// The order in which it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// The partner; the server hears everything in the moment in which the page goes.
    PartnerAndServerAtLast,
    /// The server, a second and a half before.
    Server,
    /// Both at the same time.
    Both,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let orders = [First::PartnerAndServerAtLast, First::Server, First::Both];
    let first = variant.choose("first told", &orders);
    let stays_ms = variant.choose("stays for ms", &[2_000, 2_700, 2_400]);
    let away_ms = variant.choose("away for ms", &[600, 350]);
    let lies = variant.choose("lies of ticks", &LIES.map(|(name, _)| name));
    let means = variant.choose("by", &["asking for its seat", "a reload"]);
    let tick_hz = variant.choose("ticks per second", &[10, 20]);
    world.serve(&Study::pair(30 * tick_hz, tick_hz), &[]).await?;
    let victim = world.victim("bot").await?;
    let page = world.attacker().await?;
    let mut player = Player::await_start(page).await?;
    let (mut columns, _) = player.invent("cook")?;
    player.skill = columns.swap_remove(player.me());
    for (name, twist) in LIES {
        if name == lies {
            player.words.twist = twist;
        }
    }
    if first == First::Server {
        player.words.ahead = 3 * tick_hz as i32 / 2;
    }
    let until = Instant::now() + Duration::from_secs(36);
    let is_over = |player: &Player| player.ended.is_some() || player.end.is_some() || player.is_closed;
    let mut gone = 0;
    while Instant::now() < until && !is_over(&player) {
        if first == First::PartnerAndServerAtLast {
            player.words.until = player.chain.next;
        }
        player
            .run_while(Duration::from_millis(stays_ms), |player| !is_over(player))
            .await?;
        if is_over(&player) {
            break;
        }
        if first == First::PartnerAndServerAtLast {
            player.words.until = u32::MAX;
            let made = player.entered + player.said().len() as u32;
            player.upload_until(made).await?;
        }
        let before = player.returns;
        match means {
            "a reload" => player.come_again(&world.address(), Simulates::Nothing).await?,
            _ => player.take_back().await?,
        }
        gone += 1;
        // It takes its time to load.
        sleep(Duration::from_millis(away_ms)).await;
        player
            .run_while(Duration::from_secs(2), |player| {
                player.returns == before && !is_over(player)
            })
            .await?;
    }
    let returns = player.returns;
    player
        .run_while(Duration::from_secs(12), |player| player.end.is_none())
        .await?;
    let seen = format!("it went {gone} times, and was given its seat again {returns} times");
    judge(world, victim, player, OwnInputs::AsTold, &seen).await
}
