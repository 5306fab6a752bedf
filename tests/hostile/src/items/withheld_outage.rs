//! Inputs that the server is not told before it crashes, and other ones afterwards, under a seal or none.

use std::time::Duration;

use tokio::time::sleep;

use crate::aftermath::{OwnInputs, judge};
use crate::conduct::Twist;
use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::world::{World, free_port};

pub(crate) const NAME: &str = "withheld-outage";
pub(crate) const TRIES: &str =
    "A page withholds its inputs from the server, which crashes; then it tells and seals other ones than its partner heard.";

/// The seal that the partner gets after the outage.
#[derive(Clone, Copy, Debug)]
enum Seal {
    /// Over what the partner was told.
    AsTold,
    /// Over the inputs that the server gets.
    AsServer,
    /// Over neither.
    Other,
    /// None at all.
    None,
}

/// Other inputs than the partner was told.
const TWIST: Twist = |_, input, actions| (input + 1) % actions;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let seal = variant.choose("sealed", &[Seal::Other, Seal::AsTold, Seal::AsServer, Seal::None]);
    let twist = variant.choose("told the server", &["other inputs", "the same inputs"]);
    let withheld_ms = variant.choose("withheld for ms", &[1_000, 2_500, 400]);
    let away_ms = variant.choose("server away for ms", &[200, 3_000]);
    let then = variant.choose("and then", &["gives its seat up", "plays on"]);
    let after_ticks = variant.draw("after ticks", 15, 45) as u32;
    Study::pair(200, 10).write(&world.study())?;
    let listen = format!("127.0.0.1:{}", free_port()?);
    world.start(&["--listen", &listen]).await?;
    let victim = world.victim("bot").await?;
    let page = world.attacker().await?;
    let mut player = Player::await_start(page).await?;
    let (mut columns, _) = player.invent("cook")?;
    player.skill = columns.swap_remove(player.me());
    player
        .run_until(Duration::from_secs(30), |player| player.own >= after_ticks)
        .await?;
    player.words.until = player.chain.next;
    player.run(Duration::from_millis(withheld_ms)).await?;
    let (from, said) = (player.chain.next, player.inputs[player.me()].len());
    anyhow::ensure!(player.own == from, "the server has {} of {from} inputs", player.own);
    world.kill().await?;
    // What it still says finds nobody.
    let _ = player.run(Duration::from_millis(200)).await;
    sleep(Duration::from_millis(away_ms)).await;
    world.start(&["--listen", &listen]).await?;
    player.come_again_soon(&world.address()).await?;
    if twist == "other inputs" {
        player.words.twist = TWIST;
    }
    if then == "gives its seat up" {
        // The partner has said its digests by then, and the server can compare them with nothing.
        player.run(Duration::from_secs(1)).await?;
        let made = player.entered + player.said().len() as u32;
        player.upload_until(made).await?;
        player.take_back().await?;
        sleep(Duration::from_millis(350)).await;
    }
    player.words.until = u32::MAX;
    let mut seals = 0;
    for round in 0..26 {
        if player.end.is_some() || player.is_closed {
            break;
        }
        if round < 16 && player.ended.is_none() && player.is_seated() {
            seals += usize::from(send_seal(&mut player, seal).await?);
        }
        player.run(Duration::from_secs(1)).await?;
    }
    let seen = format!(
        "{} inputs from tick {from} on were told the partner alone before the crash; {seals} seals after it; back in its seat: {}",
        said as u32 - from.min(said as u32),
        player.returns
    );
    judge(world, victim, player, OwnInputs::AsTold, &seen).await
}

/// Sends the partner a seal; false if there is none to send.
async fn send_seal(player: &mut Player, seal: Seal) -> anyhow::Result<bool> {
    let actions = player.spec.actions.len() as u16;
    let (entered, said) = (player.entered, player.said());
    let told = player.told.range(entered..).map(|(_, input)| *input);
    let inputs: Vec<u16> = match seal {
        Seal::None => return Ok(false),
        Seal::AsTold => said,
        Seal::AsServer => told.collect(),
        Seal::Other => said.iter().map(|input| (input + 2) % actions).collect(),
    };
    let partner = player.partner();
    player.send_seal(partner, &inputs).await?;
    Ok(true)
}
