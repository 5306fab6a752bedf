//! A few invented people close a quota, although none of them takes part.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::page::{Caller, PATIENCE, Page};
use crate::study::Study;
use crate::wire::messages::{Answer, Entry, ServerMessage, StageView};
use crate::world::World;

pub(crate) const NAME: &str = "quota-closed";
pub(crate) const TRIES: &str = "As many invented people as the quota has places come, and do nothing.";

/// The places of the quota.
const QUOTA: u16 = 10;

/// Minutes that the study announces.
const MINUTES: u64 = 10;

/// The conduct of invented people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conduct {
    /// They come, and close the page.
    ComeAndGo,
    /// They come, and leave the page open.
    Stay,
    /// They agree to take part, and close the page.
    AgreeAndGo,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let conduct = variant.choose("they", &[Conduct::ComeAndGo, Conduct::Stay, Conduct::AgreeAndGo]);
    let waits_min = match conduct {
        // A person who agreed counts: their place is kept until the session expires.
        Conduct::AgreeAndGo => 3 * MINUTES + 5,
        _ => variant.choose("honest people come after min", &[6, 10, 15]),
    };
    let addresses = variant.choose("addresses", &[1, 5, 10]);
    let mut study = Study::questions().first("  - {id: consent, type: consent, file: consent.md}\n");
    study.design = format!("  quota: {QUOTA}\n");
    study.recruitment.push_str(&format!("  minutes: {MINUTES}\n"));
    world.serve(&study, &[]).await?;
    let mut stay = Vec::new();
    for number in 0..QUOTA {
        let id = world.next_id();
        let caller = Caller::at(2 + number % addresses);
        let mut page = Page::connect_as(&world.address(), &caller).await?;
        page.say_hello(Entry::Sent(World::query_of(&id))).await?;
        let (stage, view) = page.await_stage(|_| true).await?;
        match (conduct, view) {
            (Conduct::Stay, _) => stay.push(page),
            (Conduct::AgreeAndGo, StageView::Consent { sha256, .. }) => {
                let agreed = Answer {
                    name: "agreed".to_owned(),
                    value: format!("\"{sha256}\""),
                };
                page.finish(stage, vec![agreed]).await?;
                page.await_stage(|view| matches!(view, StageView::Survey { .. })).await?;
                page.close().await;
            }
            _ => page.close().await,
        }
    }
    world.leap(Duration::from_secs(60 * waits_min)).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut page = Page::connect_as(&world.address(), &Caller::at(1_000)).await?;
    let id = world.next_id();
    let refused = page.say_hello(Entry::Sent(World::query_of(&id))).await?;
    let shown = match refused {
        Some(why) => format!("refused: {why:?}"),
        None => {
            page.await_within(PATIENCE, |message| match message {
                ServerMessage::Stage {
                    view: StageView::End { outcome, .. },
                    ..
                } => Some(outcome),
                ServerMessage::Stage { id, .. } => Some(format!("the stage `{id}`")),
                _ => None,
            })
            .await?
        }
    };
    let seen = format!(
        "{QUOTA} invented people filled a quota of {QUOTA}; an honest person who comes {waits_min} min later sees {shown}"
    );
    Ok(Observed::broken_if(shown != "the stage `consent`", seen))
}
