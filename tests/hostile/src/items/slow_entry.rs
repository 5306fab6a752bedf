//! Entry on loopback, message by message: what a page waits for although nothing is far away.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::study::Study;
use crate::wire::messages::Entry;
use crate::world::World;

pub(crate) const NAME: &str = "slow-entry";
pub(crate) const TRIES: &str = "A person comes in, with nobody else there, and waits for the first stage.";

/// The longest entry, from the connection to the first stage.
const MOST: Duration = Duration::from_millis(10);

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let means = variant.choose("entry", &["new", "again by the same link", "by its token"]);
    world.serve(&Study::questions(), &[]).await?;
    let address = world.address();
    let mut times = Vec::new();
    for _ in 0..31 {
        let id = world.next_id();
        let mut entry = Entry::Sent(World::query_of(&id));
        if means != "new" {
            let page = Page::enter(&address, entry.clone()).await?;
            if means == "by its token" {
                let token = page.token.clone().unwrap_or_default();
                entry = Entry::Resume { token, playing: None };
            }
            page.close().await;
            sleep(Duration::from_millis(20)).await;
        }
        let began = Instant::now();
        let mut page = Page::enter(&address, entry).await?;
        page.await_stage(|_| true).await?;
        times.push(began.elapsed());
        page.close().await;
    }
    times.sort();
    // A busy machine delays some of them; a wait that is built in delays all.
    let quick = times[times.len() / 4];
    let longest = times[times.len() - 1];
    let seen = format!("a quarter of {} entries took {quick:?} or less, the longest {longest:?}", times.len());
    Ok(Observed::broken_if(quick > MOST, seen))
}
