//! A second tab with the keys of the first, and both tell inputs.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::player::Player;
use crate::study::Study;
use crate::wire::messages::{ClientMessage, Entry, ServerMessage};
use crate::world::World;

pub(crate) const NAME: &str = "second-tab";
pub(crate) const TRIES: &str =
    "A second tab of the same person comes with the keys of the first, and both tell inputs that differ.";

/// The second tab.
#[derive(Clone, Copy, Debug)]
enum Tab {
    /// With the same key, it says that it still simulates the episode.
    SameKey,
    /// With another key, it says the same.
    OtherKey,
    /// With the same key, it says that it simulates a life that has not come yet.
    FutureLife,
    /// With the same key, it comes and goes four times.
    Often,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let tab = variant.choose(
        "tab",
        &[Tab::SameKey, Tab::OtherKey, Tab::Often, Tab::FutureLife],
    );
    let after_ticks = variant.draw("after ticks", 10, 40) as u32;
    world.serve(&Study::pair(150, 10), &[]).await?;
    let page = world.attacker().await?;
    let victim = world.victim("bot").await?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| player.own >= after_ticks)
        .await?;
    let token = player.page.token.clone().unwrap_or_default();
    let life = match tab {
        Tab::FutureLife => player.plan.life + 1,
        _ => player.plan.life,
    };
    let times = if matches!(tab, Tab::Often) { 4 } else { 1 };
    let mut answered = Vec::new();
    for _ in 0..times {
        let mut second = Page::connect(&world.address()).await?;
        second.key = match tab {
            Tab::OtherKey => player.page.other_key(),
            _ => player.page.key.clone(),
        };
        let entry = Entry::Resume {
            token: token.clone(),
            playing: Some((player.plan.era, life)),
        };
        second.say_hello(entry).await?;
        let answer = second
            .await_within(Duration::from_secs(5), |message| match message {
                ServerMessage::Running { .. } => Some(None),
                ServerMessage::Match(plan) => Some(Some(plan)),
                _ => None,
            })
            .await;
        let (plan, word) = match answer {
            Ok(Some(plan)) => (Some(plan), "begins anew"),
            Ok(None) => (None, "plays on"),
            Err(_) => (None, "hears nothing"),
        };
        answered.push(word);
        // The first tab still tells what it has; it was superseded, and may be closed by now.
        let mut first = std::mem::replace(&mut player.page, second);
        let salt = player.salt();
        let mut upload = player.upload();
        upload.block = Some(player.chain.clone().sign(&first.key, vec![3; 8], salt));
        let _ = first.send(&ClientMessage::Upload(upload)).await;
        player.words.twist = |_, input, actions| (input + 1) % actions;
        if let Some(plan) = plan {
            player.plan = *plan;
            player.get_ready().await?;
        }
        player.run(Duration::from_secs(1)).await?;
        player.page.token = Some(token.clone());
    }
    player
        .run_while(Duration::from_secs(22), |player| player.end.is_none())
        .await?;
    let seen = format!("the second tab {answered:?}");
    judge(world, victim, player, OwnInputs::Any, &seen).await
}
