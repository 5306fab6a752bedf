//! Nobody plays faster than the slowest page, and nobody makes up for a stop.

mod support;

use protocol::datagram::{Datagram, Layout};
use protocol::{Era, Seat, Tick};
use rollback::{Event, Session};
use support::network::Conditions;
use support::play::{Mischief, config, play};
use support::scenario::{Pause, READY_US, Scenario};
use support::toy::{NOOP, Toy};

const T0_US: u64 = READY_US + 500_000;

fn calm(tick_hz: u16, delay_us: u32) -> Scenario {
    let conditions = Conditions {
        delay_us,
        ..Conditions::default()
    };
    Scenario::calm(3, tick_hz, u32::from(tick_hz) * 30, conditions)
}

#[test]
fn a_slower_page_is_waited_for() {
    for (tick_hz, delay_us) in [(10, 30_000), (30, 30_000), (60, 10_000), (60, 30_000)] {
        let even = play(&calm(tick_hz, delay_us), &Mischief::none()).expect("an even match");
        for slowness in [111, 125, 143] {
            let scenario = Scenario {
                slowness: vec![slowness, 0],
                ..calm(tick_hz, delay_us)
            };
            let report = play(&scenario, &Mischief::none()).expect("a match");
            let depth = |stats: &rollback::Stats| stats.max_depth;
            let (deepest, even) = (
                report.stats.iter().map(depth).max(),
                even.stats.iter().map(depth).max(),
            );
            println!(
                "{tick_hz} Hz, {delay_us} us, {slowness} %: gap {}, depth {deepest:?} of {even:?}, {} s",
                report.gap,
                report.playing_us / 1_000_000
            );
        }
    }
}
