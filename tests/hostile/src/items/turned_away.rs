//! Invented people take every place, so that people who are turned away meanwhile never get in.

use std::time::Duration;

use tokio::task::JoinSet;

use crate::item::{Observed, Variant};
use crate::page::{Caller, PATIENCE, Page};
use crate::study::Study;
use crate::wire::messages::{Answer, Entry, ServerMessage, StageView};
use crate::world::World;

pub(crate) const NAME: &str = "turned-away";
pub(crate) const TRIES: &str =
    "Somebody who comes while invented people have all places cannot come back once there is one.";

/// The places.
const PLACES: u16 = 10;

/// Minutes that the study announces.
const MINUTES: u64 = 10;

/// The places that invented people take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// Those of the study.
    Quota,
    /// Those of the study, which is full only behind the consent.
    QuotaAfterConsent,
    /// Those for sessions on the server.
    Sessions,
}

/// Comes as a person; gives what the page shows first: a stage, the outcome of a last page, or a refusal.
async fn come(page: &mut Page, id: &str) -> anyhow::Result<String> {
    if let Some(why) = page.say_hello(Entry::Sent(World::query_of(id))).await? {
        return Ok(format!("refused: {why:?}"));
    }
    see_stage(page).await
}

/// The next stage of a page: its name, or the outcome and text of a last page.
async fn see_stage(page: &mut Page) -> anyhow::Result<String> {
    page.await_within(PATIENCE, |message| match message {
        ServerMessage::Stage {
            view: StageView::End { outcome, page, .. },
            ..
        } => Some(format!("{outcome}: {page}")),
        ServerMessage::Stage { id, .. } => Some(format!("the stage `{id}`")),
        _ => None,
    })
    .await
}

/// Agrees to take part; gives what comes next.
async fn agree(page: &mut Page, stage: u16, sha256: &str) -> anyhow::Result<String> {
    let agreed = Answer {
        name: "agreed".to_owned(),
        value: format!("\"{sha256}\""),
    };
    page.finish(stage, vec![agreed]).await?;
    see_stage(page).await
}

/// Comes as somebody and agrees; the session is then somebody's.
async fn take_place(world: &mut World, caller: &Caller) -> anyhow::Result<(Page, u16, String)> {
    let id = world.next_id();
    let mut page = Page::connect_as(&world.address(), caller).await?;
    page.say_hello(Entry::Sent(World::query_of(&id))).await?;
    let (stage, view) = page.await_stage(|_| true).await?;
    match view {
        StageView::Consent { sha256, .. } => Ok((page, stage, sha256)),
        other => anyhow::bail!("no consent comes first, but {other:?}"),
    }
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let taken = variant.choose("taken", &[Taken::Quota, Taken::QuotaAfterConsent, Taken::Sessions]);
    let they_stay = variant.choose("invented people stay connected", &[false, true]);
    let mut study = Study::questions().first("  - {id: consent, type: consent, file: consent.md}\n");
    if taken != Taken::Sessions {
        study.design = format!("  quota: {PLACES}\n");
    }
    study.recruitment.push_str(&format!("  minutes: {MINUTES}\n"));
    let most = PLACES.to_string();
    let options: &[&str] = match taken {
        Taken::Sessions => &["--max-sessions", &most],
        _ => &[],
    };
    world.serve(&study, options).await?;
    let mut pages = Vec::new();
    for number in 0..PLACES {
        pages.push(take_place(world, &Caller::at(2 + number)).await?);
    }
    let id = world.next_id();
    let caller = Caller::at(1_000);
    let address = world.address();
    let mut early = None;
    if taken == Taken::QuotaAfterConsent {
        let mut page = Page::connect_as(&address, &caller).await?;
        page.say_hello(Entry::Sent(World::query_of(&id))).await?;
        let (stage, view) = page.await_stage(|_| true).await?;
        let StageView::Consent { sha256, .. } = view else {
            anyhow::bail!("no consent comes first, but {view:?}");
        };
        early = Some((page, stage, sha256));
    }
    for (page, stage, sha256) in &mut pages {
        agree(page, *stage, sha256).await?;
    }
    let first = match early {
        Some((mut page, stage, sha256)) => agree(&mut page, stage, &sha256).await?,
        None => come(&mut Page::connect_as(&address, &caller).await?, &id).await?,
    };
    let mut stay = JoinSet::new();
    for (mut page, ..) in pages.into_iter().filter(|_| they_stay) {
        // It hears all, and so it answers pings.
        stay.spawn(async move { while let Ok(Some(_)) = page.next().await {} });
    }
    // The sessions of the others have ended by then.
    world.leap(Duration::from_secs(60 * (3 * MINUTES + 5))).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let again = come(&mut Page::connect_as(&address, &caller).await?, &id).await?;
    let is_told = match taken {
        Taken::Sessions => first == "refused: Full",
        _ => first.starts_with("study_full: ") && first.contains("at the moment") && first.contains("come back"),
    };
    let seen = format!(
        "while {PLACES} invented people had all places, an honest person saw {first:?}; later, by the same link, {again:?}"
    );
    Ok(Observed::broken_if(!is_told || again != "the stage `consent`", seen))
}
