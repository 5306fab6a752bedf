//! Proof that a partner told two things, which is none: made up, or with a true seal over other inputs.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::wire::chain::sign_seal;
use crate::wire::messages::{ClientMessage, Recount};
use crate::world::World;

pub(crate) const NAME: &str = "forged-seals";
pub(crate) const TRIES: &str =
    "A page shows the server a seal by which its partner is to have told it something else than the server.";

/// The proof.
#[derive(Clone, Copy, Debug)]
enum Proof {
    /// Other inputs, sealed by the page's own key.
    OwnKey,
    /// Other inputs under a true seal of the partner.
    TrueSealOtherInputs,
    /// The true inputs under a true seal of the partner.
    TrueSeal,
    /// Other inputs without a seal.
    Unsigned,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let kinds = [Proof::OwnKey, Proof::TrueSealOtherInputs, Proof::TrueSeal, Proof::Unsigned];
    let kind = variant.choose("proof", &kinds);
    let back = variant.choose("ticks under dispute", &[1, 6, 20]);
    let withholds = variant.choose("own inputs", &["told", "withheld from the partner"]);
    world.serve(&Study::pair(120, 10), &[]).await?;
    let page = world.attacker().await?;
    let victim = world.victim("bot").await?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= 40)
        .await?;
    player.manners.says_inputs = withholds == "told";
    let (partner, episode) = (player.partner(), player.plan.episode.clone());
    let key = player.page.key.clone();
    let (mut tries, mut seals) = (0, 0);
    while tries < 6 && !player.is_closed && player.ended.is_none() {
        let heard = &player.inputs[partner];
        let seal = player.seal.filter(|(through, _)| *through as usize <= heard.len());
        seals += usize::from(seal.is_some());
        let through = seal.map_or(heard.len(), |(through, _)| through as usize);
        let first = through.saturating_sub(back);
        let lies: Vec<u16> = heard[first..through].iter().map(|input| (input + 1) % 6).collect();
        let all: Vec<u16> = [&heard[..first], &lies].concat();
        let truth = heard[first..through].to_vec();
        let none = [[0; 32]; 2];
        let signature = seal.map_or(none, |(_, signature)| signature);
        let (inputs, signature) = match kind {
            Proof::OwnKey => (lies, sign_seal(&key, &episode, (partner as u8, 0), 0, &all)),
            Proof::TrueSealOtherInputs => (lies, signature),
            Proof::TrueSeal => (truth, signature),
            Proof::Unsigned => (lies, none),
        };
        let recount = Recount {
            seat: partner as u8,
            life: 0,
            first: first as u32,
            inputs,
            signature,
        };
        let era = player.plan.era;
        player.page.send(&ClientMessage::Recount { era, recount }).await?;
        tries += 1;
        player.run(Duration::from_secs(1)).await?;
    }
    let is_out = player.is_closed;
    player
        .run_while(Duration::from_secs(15), |player| player.end.is_none())
        .await?;
    let seen = format!("{tries} such proofs, {seals} with a seal at hand; the page was turned away: {is_out}");
    judge(world, victim, player, OwnInputs::AsTold, &seen).await
}
