//! Inputs that the page of their person did not sign: for somebody else's seat, unsigned, or signed by another key.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::item::{Observed, Variant};
use crate::setting::{Company, Setting};
use crate::wire::chain::Chain;
use crate::world::World;

pub(crate) const NAME: &str = "foreign-inputs";
pub(crate) const TRIES: &str =
    "A page uploads inputs for its partner's seat, unsigned, or signed by a key that is not the page's.";

/// The inputs.
#[derive(Clone, Copy, Debug)]
enum Inputs {
    /// Of the partner's seat, in a chain of that seat, with the page's own key.
    OfPartner,
    /// Of its own seat, without a signature.
    Unsigned,
    /// Of its own seat, with one bit of the signature changed.
    WronglySigned,
    /// Of its own seat, signed by another key than that of its first message.
    OtherKey,
    /// Of its own seat, with a key and a signature that fit every message where keys of a small order are taken.
    WeakKey,
}

/// A point of order one.
const IDENTITY: [u8; 32] = {
    let mut point = [0; 32];
    point[0] = 1;
    point
};

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let kinds = [
        Inputs::OfPartner,
        Inputs::Unsigned,
        Inputs::OtherKey,
        Inputs::WeakKey,
        Inputs::WronglySigned,
    ];
    let kind = variant.choose("inputs", &kinds);
    let is_gone = variant.choose("partner", &["plays", "hidden datagrams"]) != "plays";
    let after_ticks = variant.draw("after ticks", 5, 40) as u32;
    let setting = variant.choose("match", &Setting::ALL);
    world.serve(&setting.study(120, 10), &[]).await?;
    let said_key = matches!(kind, Inputs::WeakKey).then_some(IDENTITY);
    let (mut player, company) =
        Company::gather(world, setting, ("bot", false), said_key).await?;
    player.manners.uploads = !matches!(kind, Inputs::WeakKey);
    // On a host there are no datagrams to hide, and a page that takes no views gets no more of them. In turns, the others
    // wait for a choice that they hear from nobody.
    let sends = !is_gone || setting.is_hosted();
    player.manners.sends = sends || (setting.is_in_turns() && !player.manners.uploads);
    player
        .run_until(Duration::from_secs(30), |player| {
            player.tick().is_some_and(|tick| tick >= setting.ticks(after_ticks))
        })
        .await?;
    // From here on it hides, as the variant says.
    player.manners.sends = sends;
    let (partner, other) = (player.partner(), player.page.other_key());
    let mut tries = 0;
    while tries < 3 && !player.is_closed && player.ended.is_none() {
        let (key, next) = (player.page.key.clone(), player.chain.next);
        let inputs = vec![1; 20];
        let salt = player.salt();
        let mut block = match kind {
            Inputs::OfPartner => {
                let episode = &player.plan.episode;
                let first = player.inputs[partner].len() as u32;
                Chain::new(episode, partner as u8, 0, first).sign(&key, inputs, salt)
            }
            Inputs::OtherKey => player.chain.clone().sign(&other, inputs, salt),
            _ => player.chain.clone().sign(&key, inputs, salt),
        };
        match kind {
            Inputs::Unsigned => block.signature = Default::default(),
            Inputs::WronglySigned => block.signature[1][3] ^= 4,
            Inputs::WeakKey => block.signature = [IDENTITY, [0; 32]],
            Inputs::OfPartner | Inputs::OtherKey => {}
        }
        if matches!(kind, Inputs::OfPartner) && tries == 1 {
            // The place where its own chain continues, too.
            block.first = next;
        }
        let mut upload = player.upload();
        upload.block = Some(block);
        player.send_upload(upload).await?;
        tries += 1;
        player.run(Duration::from_secs(1)).await?;
    }
    let is_out = player.is_closed;
    player
        .run_while(Duration::from_secs(15), |player| player.end.is_none())
        .await?;
    let seen = format!("{tries} such uploads; the page was turned away: {is_out}");
    judge(world, company, player, OwnInputs::AsTold, &seen).await
}
