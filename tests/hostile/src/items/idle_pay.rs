//! Pay for time without a sign of life: a page stays open, and nobody is there.

use std::time::Duration;

use tokio::task::JoinSet;

use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::study::Study;
use crate::wire::messages::{ClientMessage, Draft, Entry, StageView};
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

/// The place at which the page stays.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// A form.
    Form,
    /// A waiting room to which nobody else comes.
    Lobby,
    /// The wait for a member of its group, whose page stays at a form.
    Group,
}

/// Minutes that the study announces.
const MINUTES: u64 = 10;

/// A waiting room, and two conversations with a form between them.
const TOGETHER: &str = "  - {id: lobby, type: lobby, group_size: 2, timeout_s: 3600, regroup_s: 3600, on_timeout: leave}
  - {id: one, type: chat, max_s: 5}
  - {id: ask, type: survey, surveyjs: {elements: [{type: comment, name: why}]}}
  - {id: two, type: chat, max_s: 5}
";

/// The page of somebody at the place, and pages of others that stay as they are.
async fn take_place(
    world: &mut World,
    place: Place,
    sent: &(dyn Fn() -> Entry + Sync),
) -> anyhow::Result<(Page, u16, JoinSet<()>)> {
    let mut page = Page::enter(&world.address(), sent()).await?;
    let (mut stage, _) = page.await_stage(|_| true).await?;
    let mut others = JoinSet::new();
    if let Place::Group = place {
        let id = world.next_id();
        let mut other = Page::enter(&world.address(), Entry::Sent(World::query_of(&id))).await?;
        let is_chat = |view: &StageView| matches!(view, StageView::Chat { .. });
        let is_form = |view: &StageView| matches!(view, StageView::Survey { .. });
        for page in [&mut page, &mut other] {
            let (chat, _) = page.await_stage(is_chat).await?;
            page.finish(chat, Vec::new()).await?;
        }
        other.await_stage(is_form).await?;
        let (form, _) = page.await_stage(is_form).await?;
        page.finish(form, Vec::new()).await?;
        stage = form + 1;
        // It hears all, and so it answers pings.
        others.spawn(async move { while let Ok(Some(_)) = other.next().await {} });
    }
    Ok((page, stage, others))
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let signs = variant.choose("signs", &[Signs::None, Signs::Clock, Signs::Returns, Signs::Drafts]);
    let place = variant.choose("at", &[Place::Form, Place::Lobby, Place::Group]);
    let hours = variant.draw("hours", 3, 12);
    let mut study = Study::questions();
    if !matches!(place, Place::Form) {
        study.stages = TOGETHER.to_owned();
    }
    let pays_time = "  outcomes: {partner_left: {do: approve, pay: time}, completed: {do: approve, pay: time}}\n";
    study.recruitment.push_str(&format!("  minutes: {MINUTES}\n{pays_time}"));
    world.serve(&study, &[]).await?;
    let id = world.next_id();
    let sent = || Entry::Sent(World::query_of(&id));
    let (mut page, stage, others) = take_place(world, place, &sent).await?;
    // Absences of up to a quarter of an hour count as time of the visit today.
    let leap = Duration::from_secs(14 * 60);
    for number in 0..hours as u32 * 60 / 14 {
        match signs {
            Signs::None => {}
            // Once the wait is over, the connection may be.
            Signs::Clock => drop(page.send(&ClientMessage::Clock { sent_us: 1 }).await),
            Signs::Returns => {
                page.close().await;
                world.leap(leap / 2).await?;
                page = Page::enter(&world.address(), sent()).await?;
            }
            Signs::Drafts => {
                let draft = Draft::default();
                drop(page.send(&ClientMessage::Draft { number, stage, draft }).await);
            }
        }
        world.leap(leap / if matches!(signs, Signs::Returns) { 2 } else { 1 }).await?;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    // A page at the end already need not leave.
    drop(page.send(&ClientMessage::Leave).await);
    let end = page.await_end(Duration::from_secs(10)).await.ok();
    drop(others);
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
