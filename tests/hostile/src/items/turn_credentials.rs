//! A credential of the relay that outlives its match.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep, timeout};
use turn_client_proto::api::{TurnClientApi as _, TurnConfig};
use turn_client_proto::udp::TurnClientUdp;
use turn_types::{TransportType, TurnCredentials};

use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "turn-credentials";
pub(crate) const TRIES: &str =
    "A page goes on using the relay with the credential of a match that is over.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let later_s = variant.choose("s after the end", &[2, 120, 3_000]);
    let whose = variant.choose("credential of", &["the attacker", "the partner"]);
    let ticks = variant.draw("ticks", 20, 40) as u32;
    world.serve(&Study::pair(ticks, 10), &["--turn-port", "0"]).await?;
    let port = world.told()["turn_port"].as_u64().context("the server has no relay")?;
    let relay: SocketAddr = format!("127.0.0.1:{port}").parse()?;
    let pages = (world.attacker().await?, world.attacker().await?);
    let (one, other) = tokio::join!(Player::await_start(pages.0), Player::await_start(pages.1));
    let (mut one, mut other) = (one?, other?);
    let plan = if whose == "the attacker" { &one.plan } else { &other.plan };
    let server = plan.ice.iter().find(|server| server.credential.is_some());
    let server = server.context("the plan has no credential of a relay")?.clone();
    let (name, word) = (server.username.unwrap_or_default(), server.credential.unwrap_or_default());
    ensure!(allocate(relay, &name, &word).await?, "the relay does not serve the match itself");
    let patience = Duration::from_secs(30);
    let (first, second) = tokio::join!(
        one.run_until(patience, |player| player.ended.is_some()),
        other.run_until(patience, |player| player.ended.is_some())
    );
    first.and(second)?;
    world.leap(Duration::from_secs(later_s)).await?;
    sleep(Duration::from_secs(2)).await;
    let is_served = allocate(relay, &name, &word).await?;
    let seen = format!("{} s after the end, the relay serves its credential: {is_served}", later_s + 2);
    Ok(Observed::broken_if(is_served, seen))
}

/// Asks a relay for an address; whether it gives one.
async fn allocate(relay: SocketAddr, name: &str, word: &str) -> anyhow::Result<bool> {
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    let config = TurnConfig::new(TurnCredentials::new(name, word));
    let mut client = TurnClientUdp::allocate(socket.local_addr()?, relay, config);
    let began = Instant::now();
    let mut bytes = vec![0; 2_000];
    while began.elapsed() < Duration::from_secs(3) {
        let now = turn_types::Instant::from_nanos(began.elapsed().as_nanos() as i64);
        client.poll(now);
        while let Some(sent) = client.poll_transmit(now) {
            socket.send_to(sent.data.as_ref(), relay).await?;
        }
        if client.relayed_addresses().next().is_some() {
            return Ok(true);
        }
        let heard = timeout(Duration::from_millis(20), socket.recv_from(&mut bytes)).await;
        if let Ok(heard) = heard {
            let (length, from) = heard?;
            let transmit = turn_client_proto::api::Transmit {
                data: &bytes[..length],
                transport: TransportType::Udp,
                from,
                to: socket.local_addr()?,
            };
            drop(client.recv(transmit, now));
        }
    }
    Ok(false)
}
