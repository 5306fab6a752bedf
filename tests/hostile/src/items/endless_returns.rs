//! One page ends another's episode: it gives its seat up and asks for it again, until the server has had enough.

use std::time::Duration;

use crate::conduct::Manners;
use crate::deeds::Simulates;
use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::player::Player;
use crate::study::Study;
use crate::wire::messages::Entry;
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "endless-returns";
pub(crate) const TRIES: &str =
    "A page asks for its own seat again and again, until the episode ends for its partner, too.";

/// How it comes to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// It says that it wants its seat, over the same connection.
    Asks,
    /// It is reloaded.
    Reloads,
    /// It comes as a page with another key.
    OtherKey,
}

/// The times that it comes back.
const TIMES: u32 = 300;

/// The longest time for one return.
const EACH: Duration = Duration::from_secs(4);

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let means = variant.choose("means", &[Means::Asks, Means::Reloads, Means::OtherKey]);
    let tells = variant.choose("tells inputs between", &[true, false]);
    let after_ticks = variant.draw("after ticks", 5, 30) as u32;
    world.serve(&Study::pair(700, 10), &[]).await?;
    let id = world.next_id();
    let page = Page::enter(&world.address(), Entry::Sent(World::query_of(&id))).await?;
    let partner = world.next_id();
    let honest = world.honest_by(&World::query_of(&partner))?;
    let mut player = Player::await_start(page).await?;
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= after_ticks)
        .await?;
    player.manners = Manners {
        uploads: tells,
        ..Manners::HONEST
    };
    let began_us = player.server_us();
    let is_out = |player: &Player| player.is_closed || player.ended.is_some() || player.end.is_some();
    let (mut asked, mut in_vain, mut refused) = (0, 0, String::new());
    while asked < TIMES && in_vain < 3 && !is_out(&player) {
        let before = player.returns;
        let asks = match means {
            Means::Asks => player.take_back().await,
            Means::Reloads => player.come_again(&world.address(), Simulates::Nothing).await,
            Means::OtherKey => player.come_again(&world.address(), Simulates::WithOtherKey).await,
        };
        if let Err(error) = asks {
            refused = format!(" ({error:#})");
            break;
        }
        asked += 1;
        player
            .run_while(EACH, |player| player.returns == before && !is_out(player))
            .await?;
        // A busy server may be late once.
        in_vain = if player.returns == before { in_vain + 1 } else { 0 };
    }
    let took_ms = (player.server_us() - began_us) / 1_000;
    let (ended, returns) = (player.ended, player.returns);
    player.manners = Manners::HONEST;
    player
        .run_while(Duration::from_secs(60), |player| player.end.is_none() && !honest.is_over())
        .await?;
    wait_until(Duration::from_secs(30), || honest.is_over()).await;
    let (is_over, stuck) = (honest.is_over(), honest.stuck_stage());
    drop((honest, player));
    world.stop().await?;
    let (is_sound, said) = world.verify().await?;
    let (outcome, paid) = world.payment(&id).await.unwrap_or_default();
    let (theirs, their_pay) = world.payment(&partner).await.unwrap_or_default();
    let seen = format!(
        "it asked {asked} times and came back {returns} times in {took_ms} ms{refused}, and then the episode was {ended:?}; it \
         ends as {outcome:?} with {paid} pence, its partner as {theirs:?} with {their_pay} pence (done: {is_over}, stuck: \
         {stuck:?}); verify: {said}"
    );
    let is_harmed = theirs == "technical" || their_pay == 0 || !is_over;
    // A page that comes back so often has failed.
    let is_spared = paid > 0;
    Ok(Observed::broken_if(is_harmed || is_spared || !is_sound, seen))
}
