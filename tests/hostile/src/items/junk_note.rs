//! One page's junk makes a sound archive fail.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::conduct::Manners;
use crate::player::Player;
use crate::study::Study;
use crate::wire::messages::{ClientMessage, KeyEvent, Misprediction, Timing, Upload};
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "junk-note";
pub(crate) const TRIES: &str =
    "A page uploads a note that is junk, so that the researcher's whole archive does not verify.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let junk = variant.choose(
        "junk",
        &["seen-log", "frames that never were", "keys", "mispredictions", "hidden spans"],
    );
    let salt = variant.bits();
    world.serve(&Study::pair(100, 10), &[]).await?;
    let page = world.attacker().await?;
    let honest = world.honest()?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= 20)
        .await?;
    let mut timing = Timing::default();
    match junk {
        "seen-log" => timing.seen = salt.to_le_bytes().repeat(5),
        // A chunk of zeros is short, and says something of every tick.
        "frames that never were" => timing.seen = vec![0xc3; 3],
        "keys" => {
            timing.keys = vec![KeyEvent {
                tick: Some(90_000_000),
                action: 60_000,
                down: true,
                at_us: i64::MIN,
                shown_us: i64::MAX,
            }];
        }
        "mispredictions" => {
            timing.mispredictions = vec![Misprediction {
                seat: player.plan.seat,
                tick: u32::MAX,
                predicted: 9_999,
                actual: 9_998,
                shown_ms: u32::MAX,
            }];
        }
        _ => timing.hidden = vec![(u32::MAX, 0), (5, 5)],
    }
    let upload = Upload {
        timing: Some(timing),
        ..player.upload()
    };
    player.page.send(&ClientMessage::Upload(upload)).await?;
    player
        .run_while(Duration::from_secs(30), |player| player.end.is_none())
        .await?;
    // Its partner plays on, also if the page is refused.
    player.manners = Manners::HONEST;
    wait_until(Duration::from_secs(40), || honest.is_over()).await;
    let (outcome, pay) = (honest.outcome(), honest.pay());
    drop((honest, player));
    world.stop().await?;
    let (is_sound, said) = world.verify().await?;
    let export = world.table("events").await;
    let seen = format!(
        "verify: {said}; export: {}; the honest page ends as {outcome:?} with {pay}",
        export.as_ref().map_or_else(|error| error.to_string(), |_| "written".to_owned())
    );
    Ok(Observed::broken_if(!is_sound || export.is_err(), seen))
}
