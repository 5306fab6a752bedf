//! One page's word removes another player: it says that a partner is silent who plays all the time.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::player::{Manners, Player};
use crate::study::Study;
use crate::wire::messages::{Controller, Report};
use crate::world::World;

pub(crate) const NAME: &str = "false-silence";
pub(crate) const TRIES: &str = "A page says that its partner is silent, who plays all the time.";

/// The claims about the partner.
#[derive(Clone, Copy, Debug)]
enum Claim {
    /// That it is silent, once.
    Once,
    /// That it is silent, is heard, and is silent again.
    Wavering,
    /// That it is silent, and no report when the server asks.
    WithoutReport,
    /// That it is silent, and a report with a gap in its inputs.
    GapInReport,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let claim = variant.choose(
        "claims",
        &[Claim::Once, Claim::Wavering, Claim::WithoutReport, Claim::GapInReport],
    );
    let after_ticks = variant.draw("after ticks", 5, 30) as u32;
    world.serve(&Study::pair(300, 10), &[]).await?;
    let page = world.attacker().await?;
    let honest = world.honest()?;
    let mut player = Player::await_start(page).await?;
    player.manners = Manners {
        reports: !matches!(claim, Claim::WithoutReport | Claim::GapInReport),
        ..Manners::HONEST
    };
    player
        .run_until(Duration::from_secs(30), |player| {
            player.tick().is_some_and(|tick| tick >= after_ticks)
        })
        .await?;
    let partner = player.partner();
    for round in 0..16 {
        if player.ended.is_some() || player.is_closed {
            break;
        }
        let is_again = matches!(claim, Claim::Wavering) && round % 4 == 3;
        if is_again {
            player.claim_silence(partner, false).await?;
        }
        if round == 0 || is_again {
            player.claim_silence(partner, true).await?;
        }
        if matches!(claim, Claim::GapInReport) {
            let have = player.inputs[partner].len() as u32;
            let report = Report {
                seat: partner as u8,
                life: 0,
                have: have.saturating_sub(20),
                inputs: Vec::new(),
            };
            player.report(report).await?;
        }
        player.run(Duration::from_millis(500)).await?;
    }
    let lost = player
        .changes
        .iter()
        .filter(|(seat, by)| usize::from(*seat) == partner && *by != Controller::Human)
        .count();
    let seen = format!(
        "in 8 s the honest page, which played all the time, lost its seat {lost} times; \
         the episode {:?}, its page {}",
        player.ended,
        honest.outcome().unwrap_or_else(|| "plays".to_owned())
    );
    Ok(Observed::broken_if(lost > 0, seen))
}
