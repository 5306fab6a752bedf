//! One address takes as much as it wants: sockets, sessions, guesses.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, timeout};

use crate::item::{Observed, Variant};
use crate::page::{Caller, Page};
use crate::study::Study;
use crate::wire::messages::Entry;
use crate::world::World;

pub(crate) const NAME: &str = "address-limits";
pub(crate) const TRIES: &str =
    "One address opens as many sockets and sessions and tries as many links as it likes, also with forged headers.";

/// Attempts of the attacker; a laboratory has a hundred people.
const MANY: usize = 2_400;

/// Honest people who come from one address within a minute.
const LABORATORY: usize = 100;

/// The time in which all of them must have got in, if each tries again.
const LETS_IN_WITHIN: Duration = Duration::from_secs(60);

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let takes = variant.choose("takes", &["sockets", "sessions", "guesses"]);
    let behind = variant.choose("server", &["direct", "direct, forged header", "behind a proxy"]);
    let places = ["another address", "the attacker's address"];
    let shares = variant.choose("honest people come from", &places) == places[1];
    let options: &[&str] = match behind {
        "behind a proxy" => {
            let help = world.coplay(&["serve", "--help"]).await?;
            let help = String::from_utf8_lossy(&help.stdout).into_owned();
            anyhow::ensure!(help.contains("--trusted-proxy"), "`coplay serve` has no --trusted-proxy");
            &["--trusted-proxy", "127.0.0.1"]
        }
        _ => &[],
    };
    world.serve(&Study::questions(), options).await?;
    let address = world.address();
    let forwarded = |from: &str| vec![("x-forwarded-for".to_owned(), from.to_owned())];
    // An attacker at one address; the header counts only where a proxy writes it.
    let attacker = |number: usize| {
        let mut caller = Caller::at(if behind == "behind a proxy" { 1 } else { 7 });
        match behind {
            "direct" => {}
            "behind a proxy" => caller.headers = forwarded("203.0.113.7"),
            _ => caller.headers = forwarded(&format!("198.51.{}.{}", number / 250, number % 250)),
        }
        caller
    };
    let salt = variant.bits();
    let attempt = |number: usize| {
        let (address, caller) = (address.clone(), attacker(number));
        async move {
            let tries = async {
                let mut page = Page::connect_as(&address, &caller).await.ok()?;
                let entry = match takes {
                    "sockets" => return Some((page, true)),
                    "sessions" => {
                        let id = format!("{:024x}", u128::from(salt) << 24 | number as u128);
                        Entry::Sent(World::query_of(&id))
                    }
                    _ => Entry::Invite(format!("guess-{number}")),
                };
                let refused = page.say_hello(entry).await.ok()?;
                use crate::wire::messages::Refusal::UnknownLink;
                // A guess that is answered was worth it.
                let is_served = refused.is_none() || refused == Some(UnknownLink);
                Some((page, is_served))
            };
            timeout(Duration::from_secs(5), tries).await.ok().flatten()
        }
    };
    let mut all: Vec<_> = stream::iter(0..MANY).map(attempt).buffer_unordered(32).collect().await;
    let mut served = 0;
    for (page, is_served) in all.iter_mut().flatten() {
        // A silent socket makes room for the next one, so those count that are there at once.
        let is_there = takes != "sockets" || timeout(Duration::from_millis(1), page.next()).await.is_err();
        served += usize::from(*is_served && is_there);
    }
    if shares && takes == "sessions" {
        // New ones of that address have to wait until it may begin a hundred again.
        world.leap(Duration::from_secs(60)).await?;
    }
    let caller = match (behind, shares) {
        ("behind a proxy", _) => Caller {
            headers: forwarded(if shares { "203.0.113.7" } else { "192.0.2.9" }),
            ..Caller::at(1)
        },
        (_, true) => Caller::at(7),
        (_, false) => Caller::at(9),
    };
    let until = Instant::now() + LETS_IN_WITHIN;
    let mut entered: Vec<Page> = Vec::new();
    while entered.len() < LABORATORY && Instant::now() < until {
        let id = format!("a1{:022x}", entered.len() + 1);
        let enters = async {
            let mut page = Page::connect_as(&address, &caller).await?;
            let refused = page.say_hello(Entry::Sent(World::query_of(&id))).await?;
            anyhow::ensure!(refused.is_none(), "refused");
            Ok(page)
        };
        match timeout(Duration::from_secs(5), enters).await {
            Ok(Ok(page)) => entered.push(page),
            // Who finds no place tries again, as the page does.
            _ => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
    let honest = entered.len();
    drop(all);
    let seen = format!(
        "of {MANY} attempts from one address, {served} were served; of {LABORATORY} honest people from {}, {honest} got in",
        places[usize::from(shares)]
    );
    // A limit that lets a laboratory in stays well below the attempts.
    Ok(Observed::broken_if(served > MANY / 2 || honest < LABORATORY, seen))
}
