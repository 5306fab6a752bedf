//! The length of the packets of a match of two people, with three bits per action, which is enough for eight.

use env_core::Action;
use env_core::rng::Rng;
use protocol::datagram::{Datagram, DatagramLayout, Echo};
use protocol::{Controller, Era, Seat, Tick};
use rollback::{Config, Session};

use crate::support::network::{Conditions, Network};
use crate::support::toy::{ACTIONS, Toy};

const HZ: u64 = 60;
const TICKS: u32 = 60 * HZ as u32;
const WINDOW: u8 = 16;
const INPUT_DELAY: u8 = 3;
const LAYOUT: DatagramLayout = DatagramLayout {
    seats: 2,
    actions: ACTIONS as u16,
};

/// A packet, and whether its sender was held.
#[derive(Clone, Copy)]
struct Sent {
    bytes: usize,
    inputs: usize,
    is_late: bool,
    is_held: bool,
}

/// A minute at 60 Hz; both people want another action this many ticks after the last, on average.
fn sent(conditions: Conditions, patience: u32) -> Vec<Sent> {
    let mut peers = [0, 1].map(|seat| {
        let config = Config {
            era: Era(1),
            local: Some(Seat(seat)),
            controllers: vec![Controller::Human; 2],
            seed: 1,
            tick_hz: HZ as u16,
            input_delay: INPUT_DELAY,
            window: WINDOW,
            t0_us: 0,
            rules: Default::default(),
        };
        Session::new(config, Toy::new(2, TICKS, TICKS), Vec::new())
    });
    let mut network = Network::new(7, conditions, Vec::new(), u64::MAX);
    let (rng, mut sent) = (&mut Rng::new(3), Vec::new());
    for now_us in (0..70_000_000).step_by(2_000) {
        while network.next_us().is_some_and(|at_us| at_us <= now_us) {
            let packet = network.arrive().expect("one is due");
            peers[usize::from(packet.to)]
                .handle_datagram(now_us, Seat(packet.from), &packet.bytes)
                .expect("an honest packet");
        }
        for (seat, peer) in peers.iter_mut().enumerate() {
            // Eight steps of this loop are about one tick.
            if rng.below(8 * patience) == 0 {
                peer.handle_action(now_us, rng.below(ACTIONS) as Action);
            }
            if (peer.poll_timeout()).is_some_and(|(due_us, _)| due_us <= now_us) {
                peer.handle_timeout(now_us);
            }
            let is_held = peer.current().0 - peer.confirmed().0 >= u32::from(WINDOW);
            while let Some(transmit) = peer.poll_transmit() {
                let packet = Datagram::decode(transmit.bytes, LAYOUT).expect("it can be read");
                sent.push(Sent {
                    bytes: transmit.bytes.len(),
                    inputs: packet.inputs.len(),
                    is_late: packet.delay_ms > 0,
                    is_held,
                });
                network.send(now_us, Seat(seat as u8), transmit.to, transmit.bytes);
            }
        }
    }
    assert!(
        peers.iter().all(|peer| peer.ended().is_some()),
        "the match was played to its end"
    );
    sent
}

#[test]
fn a_packet_has_at_most_30_bytes_with_24_inputs_and_22_with_14() {
    let near = Conditions {
        delay_us: 10_000,
        jitter_us: 5_000,
        ..Conditions::default()
    };
    // A round trip of 200 ms.
    let far = Conditions {
        delay_us: 100_000,
        loss: 500,
        ..Conditions::default()
    };
    let rough = Conditions {
        jitter_us: 80_000,
        double: 300,
        burst: (50, 2_000),
        ..far
    };
    let matches = [("near", near), ("far", far), ("rough", rough)];
    let mut most_inputs = 0;
    for (name, conditions) in matches {
        for patience in [1, 15] {
            let sent = sent(conditions, patience);
            let most = |of: fn(&Sent) -> usize| sent.iter().map(of).max().unwrap_or(0);
            let running = sent.iter().filter(|packet| !packet.is_held);
            println!(
                "{name}, an action every {patience} ticks: {} packets, {:.1} bytes on average, at most {} with {} \
                 inputs, at most {} while not held",
                sent.len(),
                sent.iter().map(|packet| packet.bytes).sum::<usize>() as f64 / sent.len() as f64,
                most(|packet| packet.bytes),
                most(|packet| packet.inputs),
                running.map(|packet| packet.bytes).max().unwrap_or(0),
            );
            most_inputs = most_inputs.max(most(|packet| packet.inputs));
            for packet in &sent {
                let Sent { bytes, inputs, .. } = *packet;
                assert!(inputs <= usize::from(WINDOW + INPUT_DELAY));
                assert!(bytes <= 30, "{bytes} bytes for {inputs} inputs");
                let most = if packet.is_late { 25 } else { 22 };
                assert!(inputs > 14 || bytes <= most, "{bytes} for {inputs}");
            }
        }
    }
    assert!(most_inputs > 14, "the network was too good: {most_inputs}");
}

#[test]
fn the_longest_packet_of_a_match() {
    // Another action in each tick, a delay, an echo; the last one to a page that has come back after long.
    let longest = |(inputs, behind): (u32, u32)| {
        let packet = Datagram {
            inputs: (0..inputs).map(|tick| 1 + (tick % 2) as u16).collect(),
            first: Tick(1_000),
            have: vec![Tick(1_000 + inputs), Tick(1_000 + inputs - behind)],
            delay_ms: 250,
            echo: Some(Echo {
                sent_ms: 1,
                held_ms: 1,
            }),
            ..Datagram::default()
        };
        let mut bytes = Vec::new();
        packet.encode(LAYOUT, &mut bytes);
        bytes.len()
    };
    let packets = [(14, 16), (24, 16), (25, 16), (40, 40), (40, 200)];
    assert_eq!(packets.map(longest), [25, 30, 31, 38, 41]);
}
