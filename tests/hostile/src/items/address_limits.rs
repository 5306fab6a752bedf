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

/// Where the server stands, and how people come to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    Direct,
    DirectForgedHeader,
    BehindProxy,
    /// The attacker has all of one /64; honest people have one each, or addresses of the same one.
    BehindProxyIpv6,
}

impl Server {
    fn is_behind_proxy(self) -> bool {
        matches!(self, Self::BehindProxy | Self::BehindProxyIpv6)
    }

    /// Somebody who comes for an address: the header counts only where a proxy writes it.
    fn caller(self, at: u16, address: String) -> Caller {
        Caller {
            headers: match self {
                Self::Direct => Vec::new(),
                _ => vec![("x-forwarded-for".to_owned(), address)],
            },
            ..Caller::at(if self.is_behind_proxy() { 1 } else { at })
        }
    }

    /// The attacker, by one more connection.
    fn attacker(self, number: usize) -> Caller {
        let address = match self {
            Self::BehindProxyIpv6 => format!("2001:db8:7:7:{:x}::{number:x}", number * 31 % 65_536),
            Self::BehindProxy => "203.0.113.7".to_owned(),
            _ => format!("198.51.{}.{}", number / 250, number % 250),
        };
        self.caller(7, address)
    }

    /// An honest person, at an address of the attacker's network or not.
    fn honest(self, number: usize, shares: bool) -> Caller {
        let address = match (self, shares) {
            (Self::BehindProxyIpv6, true) => format!("2001:db8:7:7:ffff::{number:x}"),
            (Self::BehindProxyIpv6, false) => format!("[2001:db8:9:{number:x}::1]:4711"),
            (_, true) => "203.0.113.7".to_owned(),
            (_, false) => "192.0.2.9".to_owned(),
        };
        match self {
            Self::BehindProxy | Self::BehindProxyIpv6 => self.caller(1, address),
            _ => Caller::at(if shares { 7 } else { 9 }),
        }
    }
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let takes = variant.choose("takes", &["sockets", "sessions", "guesses"]);
    let servers = [
        Server::BehindProxy,
        Server::Direct,
        Server::BehindProxyIpv6,
        Server::DirectForgedHeader,
    ];
    let server = variant.choose("server", &servers);
    let places = ["another address", "the attacker's address"];
    let shares = variant.choose("honest people come from", &places) == places[1];
    let options: &[&str] = match server.is_behind_proxy() {
        true => {
            let help = world.coplay(&["serve", "--help"]).await?;
            let help = String::from_utf8_lossy(&help.stdout).into_owned();
            anyhow::ensure!(help.contains("--trusted-proxy"), "`coplay serve` has no --trusted-proxy");
            &["--trusted-proxy", "127.0.0.1"]
        }
        false => &[],
    };
    world.serve(&Study::questions(), options).await?;
    let address = world.address();
    let salt = variant.bits();
    let attempt = |number: usize| {
        let (address, caller) = (address.clone(), server.attacker(number));
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
        // A silent socket makes room for the next one, so only those count that exist at the same time.
        let is_there = takes != "sockets" || timeout(Duration::from_millis(1), page.next()).await.is_err();
        served += usize::from(*is_served && is_there);
    }
    if shares && takes == "sessions" {
        // New ones of that address have to wait until it may begin a hundred again.
        world.leap(Duration::from_secs(60)).await?;
    }
    let until = Instant::now() + LETS_IN_WITHIN;
    let mut entered: Vec<Page> = Vec::new();
    while entered.len() < LABORATORY && Instant::now() < until {
        let id = format!("a1{:022x}", entered.len() + 1);
        let caller = server.honest(entered.len(), shares);
        let enters = async {
            let mut page = Page::connect_as(&address, &caller).await?;
            let refused = page.say_hello(Entry::Sent(World::query_of(&id))).await?;
            anyhow::ensure!(refused.is_none(), "refused");
            Ok(page)
        };
        match timeout(Duration::from_secs(5), enters).await {
            Ok(Ok(page)) => entered.push(page),
            // A client without a place tries again, as the page does.
            _ => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
    let honest = entered.len();
    drop(all);
    let seen = format!(
        "of {MANY} attempts from one address or /64, {served} were served; of {LABORATORY} honest people from {}, {honest} got in",
        places[usize::from(shares)]
    );
    // A limit that lets a laboratory in stays well below the attempts.
    Ok(Observed::broken_if(served > MANY / 2 || honest < LABORATORY, seen))
}
