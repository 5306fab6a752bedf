//! A participant who did everything and withdraws at the end, as the study offers, loses the pay.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::study::Study;
use crate::wire::messages::{Answer, ClientMessage, Entry, StageView};
use crate::world::World;

pub(crate) const NAME: &str = "withdrawal-pay";
pub(crate) const TRIES: &str =
    "A participant withdraws at the debriefing and is paid less for it, or counts as one who left early.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let base = variant.choose("base in pence", &[100, 450, 1_200]);
    let has_rate = variant.choose("rate for time", &[true, false]);
    let study = Study::questions();
    let mut study = study.then("  - {id: debrief, type: debrief, file: debrief.md, allow_withdraw: true}\n");
    let amount = format!("base: {}.{:02}", base / 100, base % 100);
    study.recruitment = study.recruitment.replace("base: 1.00", &amount);
    if !has_rate {
        study.recruitment = study.recruitment.replace("  time_rate_per_hour: 9.00\n", "");
    }
    world.serve(&study, &[]).await?;
    let address = world.address();
    let (early, late) = (world.next_id(), world.next_id());
    let mut page = Page::enter(&address, Entry::Sent(World::query_of(&early))).await?;
    page.await_stage(|_| true).await?;
    page.send(&ClientMessage::Leave).await?;
    page.await_end(Duration::from_secs(10)).await?;
    let mut page = Page::enter(&address, Entry::Sent(World::query_of(&late))).await?;
    let (stage, _) = page.await_stage(|_| true).await?;
    let answer = |name: &str, value: &str| Answer {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    page.finish(stage, vec![answer("why", "\"because\"")]).await?;
    let (stage, _) = page
        .await_stage(|view| matches!(view, StageView::Debrief { .. }))
        .await?;
    page.finish(stage, vec![answer("withdraw", "true")]).await?;
    let end = page.await_end(Duration::from_secs(10)).await?;
    drop(page);
    world.stop().await?;
    let (left, _) = world.payment(&early).await?;
    let (withdrew, paid) = world.payment(&late).await?;
    let seen = format!(
        "the outcome {withdrew:?} is paid with {paid} of {base} pence, and the page shows {end:?}; who leaves early ends \
         as {left:?}"
    );
    Ok(Observed::broken_if(paid < base || withdrew == left, seen))
}
