//! A draft that somebody else reads, who knows the identifier of the participant.

use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::study::Study;
use crate::wire::messages::{Answer, ClientMessage, Draft, Entry, ServerMessage};
use crate::world::World;

pub(crate) const NAME: &str = "second-tab-draft";
pub(crate) const TRIES: &str =
    "A second tab with the same recruiter's identifier is shown what was typed in the first.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let first_tab = variant.choose("first tab", &["open", "closed", "reloaded"]);
    let secret = format!("secret-{:x}", variant.bits());
    world.serve(&Study::questions(), &[]).await?;
    let id = world.next_id();
    let sent = || Entry::Sent(World::query_of(&id));
    let mut first = Page::enter(&world.address(), sent()).await?;
    let (stage, _) = first.await_stage(|_| true).await?;
    let draft = Draft {
        page: 0,
        pages_ms: vec![900],
        answers: vec![Answer {
            name: "why".to_owned(),
            value: format!("\"{secret}\""),
        }],
    };
    let number = 1;
    first.send(&ClientMessage::Draft { number, stage, draft }).await?;
    first
        .await_message(|message| matches!(message, ServerMessage::DraftKept { .. }).then_some(()))
        .await?;
    let mut is_own_back = true;
    if first_tab != "open" {
        let token = first.token.clone().unwrap_or_default();
        first.close().await;
        if first_tab == "reloaded" {
            // The first tab itself gets its draft back.
            let resume = Entry::Resume { token, playing: None };
            first = Page::enter(&world.address(), resume).await?;
            let own = await_draft(&mut first).await?;
            is_own_back = format!("{own:?}").contains(&secret);
        } else {
            first = Page::connect(&world.address()).await?;
        }
    }
    let mut second = Page::enter(&world.address(), sent()).await?;
    let draft = await_draft(&mut second).await?;
    drop(first);
    let is_told = format!("{draft:?}").contains(&secret);
    let seen = format!(
        "the second tab is shown the draft of the first: {is_told}; the first gets its own back: {is_own_back}"
    );
    Ok(Observed::broken_if(is_told || !is_own_back, seen))
}

/// Waits for a stage; gives the draft that comes with it.
async fn await_draft(page: &mut Page) -> anyhow::Result<Option<Draft>> {
    page.await_message(|message| match message {
        ServerMessage::Stage { draft, .. } => Some(draft),
        _ => None,
    })
    .await
}
