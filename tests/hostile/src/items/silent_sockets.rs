//! Thousands of connections that say nothing, while honest people come and play.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::item::{Observed, Variant};
use crate::page::{Caller, Page};
use crate::study::Study;
use crate::wire::messages::Entry;
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "silent-sockets";
pub(crate) const TRIES: &str =
    "Two thousand silent connections, slow headers or slow bodies keep honest people out, or end a running match.";

/// Connections of the attack.
const MANY: u16 = 2_000;

/// How long a person waits to get in.
const LETS_IN_WITHIN: Duration = Duration::from_secs(10);

/// The way in which a connection wastes its place.
#[derive(Clone, Copy, Debug)]
enum Means {
    /// It sends nothing.
    Silent,
    /// It sends a header, byte by byte.
    SlowHeaders,
    /// It announces the body of a request, and sends it byte by byte.
    SlowBody,
    /// It opens a session socket, and says nothing on it.
    SilentSession,
    /// It comes in as an invented person, answers every ping, and does nothing.
    IdleSession,
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let all = [Means::SlowBody, Means::IdleSession, Means::Silent, Means::SlowHeaders, Means::SilentSession];
    let means = variant.choose("means", &all);
    let addresses = variant.choose("addresses", &[1, 20, 200]);
    let files = variant.choose("file descriptors", &[1_024, 2_048]);
    let places = ["elsewhere", "an address of the attacker"];
    let from = variant.choose("an honest person comes from", &places);
    let caller = Caller::at(if from == places[0] { 1_000 } else { 2 });
    let consent = "  - {id: consent, type: consent, file: consent.md}\n";
    Study::pair(250, 10).first(consent).write(&world.study())?;
    // The usual limit of a service; a program may raise it up to the hard one, where that is higher.
    let limit = if let Means::SlowBody = means { "-n" } else { "-Sn" };
    world.start_after(&format!("ulimit {limit} {files}"), &[]).await?;
    let address = world.address();
    let (one, other) = (world.honest()?, world.honest()?);
    wait_until(Duration::from_secs(30), || one.is_playing() && other.is_playing()).await;
    let mut sockets: Vec<TcpStream> = Vec::new();
    let mut pages = Vec::new();
    let mut idle = JoinSet::new();
    for number in 0..MANY {
        let caller = Caller::at(2 + number % addresses);
        if let Means::IdleSession = means {
            let id = format!("1d1e{number:020x}");
            let enters = Page::enter_as(&address, &caller, Entry::Sent(World::query_of(&id)));
            if let Ok(Ok(mut page)) = timeout(Duration::from_secs(2), enters).await {
                // It hears all, and so it answers pings.
                idle.spawn(async move { while let Ok(Some(_)) = page.next().await {} });
            }
            continue;
        }
        if let Means::SilentSession = means {
            let opened = timeout(Duration::from_secs(1), Page::connect_as(&address, &caller)).await;
            pages.extend(opened.ok().and_then(Result::ok));
            continue;
        }
        let dialled = timeout(Duration::from_secs(1), caller.dial(&address)).await;
        let Ok(Ok(mut stream)) = dialled else { continue };
        let begin: &[u8] = match means {
            Means::SlowHeaders => b"GET /session HTTP/1.1\r\nHost: x\r\nX-Slow: ",
            Means::SlowBody => b"POST /film HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n{",
            _ => b"",
        };
        // A connection that is closed already wastes nothing.
        let _ = stream.write_all(begin).await;
        sockets.push(stream);
    }
    let open = sockets.len() + pages.len() + idle.len();
    let id = world.next_id();
    let began = Instant::now();
    let mut is_in = false;
    // A page that must make room has some seconds for it.
    while !is_in && began.elapsed() < LETS_IN_WITHIN {
        let enters = async {
            let mut page = Page::connect_as(&address, &caller).await?;
            page.say_hello(Entry::Sent(World::query_of(&id))).await
        };
        is_in = matches!(timeout(LETS_IN_WITHIN, enters).await, Ok(Ok(None)));
        for stream in &mut sockets {
            if matches!(means, Means::SlowHeaders | Means::SlowBody) {
                let _ = stream.try_write(b"a");
            }
        }
    }
    let took_ms = began.elapsed().as_millis();
    wait_until(Duration::from_secs(60), || one.is_over() && other.is_over()).await;
    let outcomes = [one.outcome(), other.outcome()];
    let are_done = outcomes.iter().all(|outcome| outcome.as_deref() == Some("completed"));
    let is_up = world.is_up().await;
    drop((sockets, pages, idle));
    let seen = format!(
        "{open} connections of {MANY}; an honest person from {from} was let in: {is_in} ({took_ms} ms); the two who \
         played end as {outcomes:?}; the server runs: {is_up}"
    );
    Ok(Observed::broken_if(!is_in || !are_done, seen))
}
