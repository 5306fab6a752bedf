//! The cost of a tick without and with rollback, beside GGRS in the same run, and what goes over the wire.
//! Prints one JSON object a line: name, value, unit. `cargo xtask bench rollback` compares more.
#![expect(clippy::disallowed_types, reason = "a bench measures time")]
#![allow(dead_code, reason = "the comparison has more than is shown here")]

#[path = "../tests/support/mod.rs"]
mod support;
#[path = "versus/mod.rs"]
mod versus;

use std::sync::OnceLock;
use std::time::Instant;

use support::network::Conditions;
use support::play::{Mischief, play};
use support::scenario::Scenario;
use versus::{Clocks, median, tick};

const ROUNDS: usize = 7;

fn real_ns() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as f64
}

fn main() {
    let clocks = Clocks {
        real_ns,
        set_us: |_| {},
    };
    for depth in [0, 4, 8] {
        let (ours, theirs): (Vec<f64>, Vec<f64>) = (0..ROUNDS)
            .map(|_| (tick::ours(2, depth, clocks), tick::theirs(2, depth, clocks)))
            .unzip();
        let (ours, theirs) = (median(ours), median(theirs));
        print(&format!("session_tick_depth_{depth}"), ours, "ns");
        print(&format!("ggrs_tick_depth_{depth}"), theirs, "ns");
        print(
            &format!("ggrs_over_session_depth_{depth}"),
            theirs / ours,
            "x",
        );
    }
    wire(60);
    wire(10);
}

fn print(name: &str, value: f64, unit: &str) {
    println!(r#"{{"name":"{name}","value":{value:.1},"unit":"{unit}"}}"#);
}

/// Two minutes of two people on a simulated network: round trip 60 ms, 1 % loss, an action every 250 ms.
fn wire(tick_hz: u16) {
    let conditions = Conditions {
        delay_us: 30_000,
        loss: 100,
        ..Conditions::default()
    };
    let scenario = Scenario::calm(7, tick_hz, u32::from(tick_hz) * 120, conditions);
    let report = play(&scenario, &Mischief::none()).expect("the match ends in order");
    let seconds = f64::from(report.ticks) / f64::from(tick_hz);
    let stats = &report.stats[0];
    print(
        &format!("wire_{tick_hz}hz_payload_per_peer"),
        stats.bytes_sent as f64 / seconds,
        "B/s",
    );
    print(
        &format!("wire_{tick_hz}hz_packets_per_peer"),
        stats.datagrams_sent as f64 / seconds,
        "1/s",
    );
    print(
        &format!("wire_{tick_hz}hz_mean_packet"),
        stats.bytes_sent as f64 / stats.datagrams_sent as f64,
        "B",
    );
    print(
        &format!("wire_{tick_hz}hz_held"),
        stats.held_us as f64 / 1e6 / seconds * 60.0,
        "s/min",
    );
    assert!(stats.bytes_sent as f64 / (stats.datagrams_sent as f64) < 30.0);
}
