//! A flood of signals ends the connection of a partner whose network is slow.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::wire::messages::{ClientMessage, ServerMessage};
use crate::world::World;

pub(crate) const NAME: &str = "signal-flood";
pub(crate) const TRIES: &str = "A page sends signals as fast as it may to a partner whose network is slow.";

/// Signals of the largest size in the flood.
const MANY: usize = 1_200;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let size = variant.choose("bytes of a signal", &[400, 4_000, 16_000]);
    let slow_ms = variant.choose("partner reads a message every ms", &[20, 50, 100]);
    world.serve(&Study::pair(600, 10), &[]).await?;
    let page = world.attacker().await?;
    let victim = world.attacker().await?;
    let wait = Duration::from_secs(30);
    let (player, victim) = tokio::join!(
        Player::await_match(page, wait),
        Player::await_match(victim, wait)
    );
    let (mut player, mut victim) = (player?, victim?);
    let to = victim.plan.seat;
    let data = format!(
        "{{\"Candidate\":{{\"connection\":1,\"candidate\":\"{}\",\"mid\":null,\"line\":0}}}}",
        "a".repeat(size)
    );
    let flood = async {
        for _ in 0..MANY {
            let signal = ClientMessage::Signal { to, data: data.clone() };
            if player.page.send(&signal).await.is_err() {
                return;
            }
            // As often as the server takes messages of one page.
            sleep(Duration::from_millis(3)).await;
        }
    };
    let reads = async {
        let until = Instant::now() + Duration::from_secs(8);
        let mut heard = 0;
        while Instant::now() < until {
            match victim.page.next_until(until).await {
                Ok(Some(_)) => heard += 1,
                Ok(None) => break,
                Err(_) => return (heard, true),
            }
            sleep(Duration::from_millis(slow_ms)).await;
        }
        // The flood is over, and the network is quick again: is the page still heard?
        let asks = ClientMessage::Clock { sent_us: 77 };
        let is_closed = victim.page.send(&asks).await.is_err() || {
            let answer = victim.page.await_message(|message| {
                let is_it = matches!(message, ServerMessage::Clock { sent_us: 77, .. });
                is_it.then_some(())
            });
            answer.await.is_err()
        };
        (heard, is_closed)
    };
    let ((), (heard, is_closed)) = tokio::join!(flood, reads);
    let seen = format!(
        "{MANY} signals; the slow partner heard {heard} messages, and its connection was closed: {is_closed}"
    );
    Ok(Observed::broken_if(is_closed, seen))
}
