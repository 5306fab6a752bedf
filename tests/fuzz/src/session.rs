//! Two sessions of one episode and the network between them, all driven by bytes.

use std::collections::VecDeque;

use env_core::Instance;
use env_core::contract::Environment as _;
use env_core::envs::overcooked::{Overcooked, Params};
use protocol::{Controller, Era, Seat};
use rollback::{Config, Session};

const HORIZON: u32 = 40;
const TICK_US: u64 = 100_000;
/// The most commands that are carried out: the rest of a long input teaches nothing new.
const COMMANDS: usize = 2_000;
/// Packets on the way; more are lost.
const QUEUE: usize = 64;

struct Peer {
    session: Session<Instance<Overcooked>>,
    inbox: VecDeque<Vec<u8>>,
}

impl Peer {
    fn new(seat: u8, first: u8) -> Self {
        let params = Params {
            horizon: HORIZON,
            ..Params::default()
        };
        let env = Overcooked::new(params).expect("the parameters are allowed");
        let config = Config {
            era: Era(7),
            local: Some(Seat(seat)),
            controllers: vec![Controller::Human; 2],
            seed: 1,
            tick_hz: 10,
            input_delay: first & 3,
            window: first >> 2 & 15,
            t0_us: 0,
        };
        let session = Session::new(config, Instance::new(env), vec![None, None]);
        Self {
            session,
            inbox: VecDeque::new(),
        }
    }

    fn packets(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| Some(self.session.poll_transmit()?.bytes.to_vec())).collect()
    }
}

/// Presses keys, lets time pass, delivers, loses, repeats, reorders, damages and forges packets, as the bytes say.
/// What is confirmed only grows; and as long as no packet was damaged or forged, both confirm the same.
pub fn session(bytes: &[u8]) {
    play(bytes);
}

fn play(bytes: &[u8]) -> [Peer; 2] {
    let (&first, mut rest) = bytes.split_first().unwrap_or((&0, &[]));
    let mut peers = [Peer::new(0, first), Peer::new(1, first)];
    let (mut now_us, mut honest) = (0_u64, true);
    for _ in 0..COMMANDS {
        let Some((&command, after)) = rest.split_first() else {
            break;
        };
        rest = after;
        let (who, value) = (usize::from(command >> 3 & 1), command >> 4);
        let before = peers.each_ref().map(|peer| peer.session.rows().to_vec());
        match command & 7 {
            0 | 1 => now_us += (u64::from(value) + 1) * TICK_US / 8,
            2 => peers[who]
                .session
                .handle_action(now_us, u16::from(value) % 7),
            3 => deliver(&mut peers[who], now_us),
            4 => drop(peers[who].inbox.pop_front()),
            5 => peers[who]
                .inbox
                .rotate_left(usize::from(value != 0).min(peers[who].inbox.len())),
            6 => {
                let again = peers[who].inbox.front().cloned();
                peers[who].inbox.extend(again);
            }
            _ => {
                let taken = rest.len().min(usize::from(value) * 2);
                let (forged, after) = rest.split_at(taken);
                rest = after;
                honest &= !tamper(&mut peers[who], forged);
            }
        }
        run(&mut peers, now_us);
        for (peer, before) in peers.iter().zip(before) {
            assert!(
                peer.session.rows().starts_with(&before),
                "confirmed rows changed"
            );
        }
        let [one, two] = peers.each_ref().map(|peer| peer.session.rows());
        let common = one.len().min(two.len());
        assert!(
            !honest || one[..common] == two[..common],
            "two confirmed logs"
        );
    }
    let [one, two] = peers.each_ref().map(|peer| peer.session.digests());
    assert!(
        !honest || one.iter().zip(two).all(|(one, two)| one == two),
        "two confirmed states"
    );
    peers
}

fn deliver(peer: &mut Peer, now_us: u64) {
    if let Some(packet) = peer.inbox.pop_front() {
        // A refusal is an answer.
        let local = peer.session.config().local.expect("both play");
        let _ = peer
            .session
            .handle_datagram(now_us, Seat(1 - local.0), &packet);
    }
}

/// Damages the packet that is next, or puts a forged one before it; whether anything was done.
fn tamper(peer: &mut Peer, forged: &[u8]) -> bool {
    match (forged, peer.inbox.front_mut()) {
        ([], _) => false,
        ([at, bits], Some(packet)) => {
            let at = usize::from(*at) % packet.len().max(1);
            packet
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|byte| *byte ^= bits);
            true
        }
        _ => {
            peer.inbox.push_front(forged.to_vec());
            true
        }
    }
}

/// Runs what is due, and puts what is sent on the way.
fn run(peers: &mut [Peer; 2], now_us: u64) {
    for who in 0..2 {
        if peers[who].session.poll_timeout() <= now_us {
            peers[who].session.handle_timeout(now_us);
        }
        let sent = peers[who].packets();
        let room = QUEUE.saturating_sub(peers[1 - who].inbox.len());
        peers[1 - who].inbox.extend(sent.into_iter().take(room));
        while peers[who].session.poll_event().is_some() {}
        peers[who].session.preview(|_| ());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(name: &str) -> [Peer; 2] {
        let seeds = crate::seeds("session");
        play(&seeds.iter().find(|(seed, _)| seed == name).unwrap().1)
    }

    #[test]
    fn the_steady_seed_plays_to_the_end() {
        for peer in seed("steady") {
            assert_eq!(peer.session.ended().map(|tick| tick.0), Some(HORIZON));
        }
    }

    #[test]
    fn the_rolling_seed_rolls_back_and_the_forged_one_is_refused() {
        assert!(
            seed("rolling")
                .iter()
                .any(|peer| peer.session.stats().rollbacks > 3)
        );
        assert!(
            seed("lossy")
                .iter()
                .any(|peer| peer.session.stats().held_us > 0)
        );
        assert!(
            seed("forged")
                .iter()
                .any(|peer| peer.session.stats().dropped > 0)
        );
    }
}
