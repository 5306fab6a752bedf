//! Inputs that are signed as they should be, but in the wrong place: of another life or episode, twice, or with gaps.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::wire::chain::Chain;
use crate::wire::messages::ClientMessage;
use crate::world::World;

pub(crate) const NAME: &str = "replayed-inputs";
pub(crate) const TRIES: &str =
    "A page uploads inputs that it signed for another life or episode, two blocks for one tick, or blocks with gaps.";

/// The blocks.
#[derive(Clone, Copy, Debug)]
enum Blocks {
    /// Signed for the life before.
    OtherLife,
    /// Signed for another episode.
    OtherEpisode,
    /// Two with other inputs for the same ticks, of which the second continues.
    TwoForOneTick,
    /// One that leaves out ticks.
    Gap,
    /// One that begins at the last tick there is.
    FarAway,
    /// One that repeats ticks, and has new ones.
    Overlap,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let kinds = [
        Blocks::OtherLife,
        Blocks::TwoForOneTick,
        Blocks::Gap,
        Blocks::OtherEpisode,
        Blocks::Overlap,
        Blocks::FarAway,
    ];
    let kind = variant.choose("blocks", &kinds);
    let after_ticks = variant.draw("after ticks", 10, 40) as u32;
    world.serve(&Study::pair(150, 10), &[]).await?;
    let page = world.attacker().await?;
    let victim = world.victim("bot").await?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| player.own >= after_ticks)
        .await?;
    if let Blocks::OtherLife = kind {
        // A page that hides too long, or says that it goes, loses its seat.
        player.page.send(&ClientMessage::Unloading).await?;
        player
            .run_while(Duration::from_secs(8), Player::is_seated)
            .await?;
        player.take_back().await?;
        player
            .run_while(Duration::from_secs(10), |player| !player.is_seated())
            .await?;
        player.run(Duration::from_secs(2)).await?;
    }
    player.manners.uploads = false;
    let (key, seat, life) = (player.page.key.clone(), player.plan.seat, player.plan.life);
    let next = player.chain.next;
    let salt = player.salt();
    let episode = player.plan.episode.clone();
    let inputs = vec![1; 6];
    let blocks = match kind {
        Blocks::OtherLife => {
            let before = life.wrapping_sub(1) & 0x7f;
            vec![Chain::new(&episode, seat, before, next).sign(&key, inputs, salt)]
        }
        Blocks::OtherEpisode => {
            vec![Chain::new("another", seat, life, next).sign(&key, inputs, salt)]
        }
        Blocks::TwoForOneTick => {
            let mut lie = player.chain.clone();
            let truth = player.sign(vec![0; 6]);
            player.told.extend((next..next + 6).map(|tick| (tick, 0)));
            let first = lie.sign(&key, inputs.clone(), salt);
            vec![truth, first, lie.sign(&key, inputs, salt)]
        }
        Blocks::Gap => {
            let mut chain = player.chain.clone();
            chain.next += 4;
            vec![chain.sign(&key, inputs, salt)]
        }
        Blocks::FarAway => {
            let mut chain = player.chain.clone();
            chain.next = u32::MAX - 100;
            vec![chain.sign(&key, inputs, salt)]
        }
        Blocks::Overlap => {
            let mut chain = player.chain.clone();
            chain.next = next.saturating_sub(4);
            vec![chain.sign(&key, vec![1; 10], salt)]
        }
    };
    let many = blocks.len();
    for block in blocks {
        if player.is_closed {
            break;
        }
        let mut upload = player.upload();
        upload.block = Some(block);
        player.send_upload(upload).await?;
        player.run(Duration::from_millis(300)).await?;
    }
    let is_out = player.is_closed;
    player.run(Duration::from_secs(1)).await?;
    // It continues as if nothing had happened.
    player.manners.uploads = true;
    player
        .run_while(Duration::from_secs(18), |player| player.end.is_none())
        .await?;
    let seen = format!("{many} such blocks in life {life}; the page was turned away: {is_out}");
    judge(world, victim, player, OwnInputs::AsTold, &seen).await
}
