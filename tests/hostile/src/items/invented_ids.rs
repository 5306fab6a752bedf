//! Invented identifiers fill the table of sessions, so that nobody else gets in.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};

use tokio::time::sleep;

use crate::item::{Observed, Variant};
use crate::page::{Caller, Page};
use crate::study::Study;
use crate::wire::messages::Entry;
use crate::world::World;

pub(crate) const NAME: &str = "invented-ids";
pub(crate) const TRIES: &str =
    "Invented identifiers of the right form take every session that the server has room for.";

/// The sessions that the server has room for: fewer than by default, so that they are soon taken.
const ROOM: &str = "1000";

/// More sessions than that.
const MANY: u64 = 1_200;

/// The longest time of the attack; a server that refuses slowly is not filled.
const LASTS: Duration = Duration::from_secs(35);

/// Connections under way at the same time.
const AT_ONCE: usize = 32;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let addresses = variant.choose("addresses", &[1, 40, 400]);
    // Many addresses may take all places for some minutes; one address may not.
    let waits_min = match addresses {
        1 => 0,
        _ => variant.choose("honest people come after min", &[6, 10, 15]),
    };
    let salt = variant.bits();
    world.serve(&Study::questions(), &["--max-sessions", ROOM]).await?;
    let address = world.address();
    let began = tokio::time::Instant::now();
    let enter = |number: u64| {
        let (address, caller) = (address.clone(), Caller::at(2 + (number % addresses) as u16));
        async move {
            let id = format!("{:024x}", u128::from(salt) << 24 | u128::from(number));
            let mut page = Page::connect_as(&address, &caller).await.ok()?;
            let sent = Entry::Sent(World::query_of(&id));
            let refused = page.say_hello(sent).await.ok()?;
            page.close().await;
            Some(refused)
        }
    };
    let entries: Vec<_> = stream::iter(0..MANY).map(enter).buffer_unordered(AT_ONCE)
        .take_until(sleep(LASTS)).collect().await;
    let let_in = entries.iter().filter(|entry| **entry == Some(None)).count();
    let took_s = began.elapsed().as_secs();
    if waits_min > 0 {
        world.leap(Duration::from_secs(60 * waits_min)).await?;
        sleep(Duration::from_secs(1)).await;
    }
    let mut page = Page::connect_as(&address, &Caller::at(1_000)).await?;
    let id = world.next_id();
    let refused = page.say_hello(Entry::Sent(World::query_of(&id))).await?;
    let seen = format!(
        "{let_in} of {MANY} invented people got in within {took_s} s; an honest one who comes {waits_min} min later is \
         {}",
        refused.map_or("let in".to_owned(), |why| format!("refused: {why:?}"))
    );
    Ok(Observed::broken_if(refused.is_some(), seen))
}
