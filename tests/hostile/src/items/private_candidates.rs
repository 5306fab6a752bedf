//! Addresses of a private network reach the partner, where a study hides addresses.

use std::time::Duration;

use tokio::time::Instant;

use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::wire::messages::{ClientMessage, ServerMessage};
use crate::world::World;

pub(crate) const NAME: &str = "private-candidates";
pub(crate) const TRIES: &str =
    "A signal with an address of a private network is passed on, where a study hides addresses.";

/// Addresses that name a machine in the partner's own network.
const ADDRESSES: [&str; 6] = [
    "192.168.1.1",
    "10.0.0.138",
    "172.16.4.2",
    "127.0.0.1",
    "fe80::1",
    "fd12:3456:789a::1",
];

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let private = variant.choose("address", &ADDRESSES);
    let inside = variant.choose("in", &["candidate", "offer", "escaped candidate"]);
    let mut study = Study::pair(300, 10);
    study.net = "{ice: relay, fallback: websocket}".to_owned();
    world.serve(&study, &["--turn-port", "0"]).await?;
    let page = world.attacker().await?;
    let victim = world.attacker().await?;
    let wait = Duration::from_secs(30);
    let (player, victim) = tokio::join!(
        Player::await_match(page, wait),
        Player::await_match(victim, wait)
    );
    let (mut player, mut victim) = (player?, victim?);
    let to = victim.plan.seat;
    let candidate = format!("candidate:1 1 udp 2122260223 {private} 8080 typ host");
    let data = match inside {
        "offer" => format!("{{\"Offer\":{{\"connection\":1,\"sdp\":\"v=0\\r\\na={candidate}\\r\\n\"}}}}"),
        "candidate" => format!(
            "{{\"Candidate\":{{\"connection\":1,\"candidate\":\"{candidate}\",\"mid\":\"0\",\"line\":0}}}}"
        ),
        _ => {
            // The same text, as JSON may also write it.
            let escaped = candidate.replace('.', "\\u002e").replace(':', "\\u003a");
            format!("{{\"Candidate\":{{\"line\":0,\"mid\":\"0\",\"candidate\":\"{escaped}\",\"connection\":1}}}}")
        }
    };
    player.page.send(&ClientMessage::Signal { to, data }).await?;
    // A signal without any address comes through in any case.
    let data = "\"Call\"".to_owned();
    player.page.send(&ClientMessage::Signal { to, data }).await?;
    let until = Instant::now() + Duration::from_secs(10);
    let mut told = Vec::new();
    while let Ok(Some(message)) = victim.page.next_until(until).await {
        if let ServerMessage::Signal { data, .. } = message {
            let is_last = data.contains("Call");
            told.push(data);
            if is_last {
                break;
            }
        }
    }
    let plain = |data: &String| data.replace("\\u002e", ".").replace("\\u003a", ":");
    let is_told = told.iter().any(|data| plain(data).contains(private));
    let seen = format!("the partner is sent {told:?}");
    Ok(Observed::broken_if(is_told, seen))
}
