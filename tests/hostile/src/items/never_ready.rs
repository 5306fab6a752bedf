//! A page that is matched, and never plays: its person gets nothing, and the partner loses nothing.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::player::Player;
use crate::study::Study;
use crate::wire::messages::{Entry, ServerMessage, StageView};
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "never-ready";
pub(crate) const TRIES: &str =
    "A page never becomes ready or breaks the protocol, and is paid for it, or costs its partner the pay.";

/// How a page does not play.
#[derive(Clone, Copy, Debug)]
enum Means {
    /// It never says that it is ready.
    NeverReady,
    /// It goes again and again while the pages connect, and comes back immediately.
    GoesAgain,
    /// It sends bytes that are no message.
    SendsGarbage,
    /// It uploads an action that the environment does not have.
    UploadsImpossible,
    /// It uploads what is due in a minute.
    UploadsFuture,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let means = variant.choose(
        "means",
        &[
            Means::GoesAgain,
            Means::NeverReady,
            Means::SendsGarbage,
            Means::UploadsImpossible,
            Means::UploadsFuture,
        ],
    );
    let horizon = variant.draw("ticks", 80, 120) as u32;
    let mut study = Study::pair(horizon, 10);
    if let Means::GoesAgain = means {
        study.stages = study.stages.replace("timeout_s:", "regroup_s: 60, timeout_s:")
            + &study.stages[study.stages.find("  - id: play").unwrap_or(0)..].replace("id: play", "id: again");
    }
    world.serve(&study, &[]).await?;
    let id = world.next_id();
    let mut page = Page::enter(&world.address(), Entry::Sent(World::query_of(&id))).await?;
    let partner = world.next_id();
    let honest = world.honest_by(&World::query_of(&partner))?;
    let mut is_held = false;
    let end = match means {
        // Before the second episode, of which the group waits a minute for everybody.
        Means::GoesAgain => {
            let mut player = Player::await_start(page).await?;
            player
                .run_while(Duration::from_secs(30), |player| player.ended.is_none())
                .await?;
            let mut page = player.page;
            for _ in 0..12 {
                let is_match = |message| matches!(message, ServerMessage::Match(_)).then_some(());
                let met = page.await_message(is_match);
                // Nobody is put together with it any more once the group has given it up.
                let _ = tokio::time::timeout(Duration::from_secs(5), met).await;
                page.close().await;
                // The time to get ready must not run out before the server has noticed.
                tokio::time::sleep(Duration::from_secs(1)).await;
                world.leap(Duration::from_secs(25)).await?;
                if honest.is_over() {
                    break;
                }
                page = Page::enter(&world.address(), Entry::Sent(World::query_of(&id))).await?;
            }
            is_held = !honest.is_over();
            None
        }
        // The server has had enough of it after some matches.
        Means::NeverReady => {
            for _ in 0..4 {
                page.await_message(|message| match message {
                    ServerMessage::Match(_) => Some(()),
                    ServerMessage::Stage {
                        view: StageView::End { .. },
                        ..
                    } => Some(()),
                    _ => None,
                })
                .await
                .ok();
                // The time that a page has to get ready.
                world.leap(Duration::from_secs(21)).await?;
            }
            page.await_end(Duration::from_secs(5)).await.ok()
        }
        _ => {
            let mut player = Player::await_start(page).await?;
            player.run(Duration::from_secs(3)).await?;
            match means {
                Means::UploadsImpossible | Means::UploadsFuture => {
                    let inputs = match means {
                        Means::UploadsImpossible => vec![9_999],
                        _ => vec![0; 600],
                    };
                    let mut upload = player.upload();
                    upload.block = Some(player.sign(inputs));
                    player.send_upload(upload).await?;
                }
                _ => player.page.send_bytes(vec![0xff; 9]).await?,
            }
            player.run(Duration::from_secs(1)).await?;
            player.page.close().await;
            wait_until(Duration::from_secs(60), || honest.is_over()).await;
            // It comes back for its pay.
            let mut page = Page::enter(&world.address(), Entry::Sent(World::query_of(&id))).await?;
            page.await_end(Duration::from_secs(20)).await.ok()
        }
    };
    wait_until(Duration::from_secs(60), || honest.is_over()).await;
    let is_over = honest.is_over();
    drop(honest);
    world.stop().await?;
    let (outcome, paid) = world.payment(&id).await.unwrap_or_default();
    let (theirs, their_pay) = world.payment(&partner).await.unwrap_or_default();
    let seen = format!(
        "the page is shown {end:?}, and is recorded as {outcome:?} with {paid} pence; its partner is done: {is_over}, as \
         {theirs:?} with {their_pay} pence; held for five minutes: {is_held}"
    );
    // A person who has played an episode to its end has earned its time.
    let is_overpaid = paid > 0 && !matches!(means, Means::GoesAgain);
    let is_harmed = is_held || (is_over && their_pay == 0);
    Ok(Observed::broken_if(is_overpaid || is_harmed, seen))
}
