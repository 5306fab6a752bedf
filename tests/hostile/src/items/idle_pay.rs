//! Pay for time without a sign of life: a page stays open, and nobody is there.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::study::Study;
use crate::wire::messages::{ClientMessage, Draft, Entry};
use crate::world::World;

pub(crate) const NAME: &str = "idle-pay";
pub(crate) const TRIES: &str = "A page stays open for hours and is paid for the time.";

/// The signs of the page meanwhile.
#[derive(Clone, Copy, Debug)]
enum Signs {
    /// Nothing but what keeps the connection open.
    None,
    /// Requests for the time.
    Clock,
    /// It comes back every few minutes.
    Returns,
    /// Drafts without a change.
    Drafts,
}

/// Minutes that the study announces.
const MINUTES: u64 = 10;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let signs = variant.choose("signs", &[Signs::None, Signs::Clock, Signs::Returns, Signs::Drafts]);
    let hours = variant.draw("hours", 3, 12);
    let mut study = Study::questions();
    study.recruitment.push_str(&format!("  minutes: {MINUTES}\n"));
    world.serve(&study, &[]).await?;
    let id = world.next_id();
    let sent = || Entry::Sent(World::query_of(&id));
    let mut page = Page::enter(&world.address(), sent()).await?;
    let (stage, _) = page.await_stage(|_| true).await?;
    // Absences of up to a quarter of an hour count as time of the visit today.
    let leap = Duration::from_secs(14 * 60);
    for number in 0..hours as u32 * 60 / 14 {
        match signs {
            Signs::None => {}
            Signs::Clock => page.send(&ClientMessage::Clock { sent_us: 1 }).await?,
            Signs::Returns => {
                page.close().await;
                world.leap(leap / 2).await?;
                page = Page::enter(&world.address(), sent()).await?;
            }
            Signs::Drafts => {
                let draft = Draft::default();
                page.send(&ClientMessage::Draft { number, stage, draft }).await?;
            }
        }
        world.leap(leap / if matches!(signs, Signs::Returns) { 2 } else { 1 }).await?;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    page.send(&ClientMessage::Leave).await?;
    let end = page.await_end(Duration::from_secs(10)).await.ok();
    world.stop().await?;
    let (outcome, paid) = world.payment(&id).await?;
    // GBP 9 an hour.
    let most = 2 * MINUTES * 900 / 60;
    let seen = format!(
        "{outcome:?} with {paid} pence after {hours} h, of which nobody was there; twice the announced {MINUTES} minutes \
         are {most} pence; the page shows {end:?}"
    );
    Ok(Observed::broken_if(paid > most, seen))
}
