//! What one seed means: seats, rates, network, pauses, wrong clocks.

use env_core::rng::Rng;
use protocol::Controller;

use super::network::Conditions;

/// Server time at which everyone is ready, microseconds. The first tick is due half a second later.
pub(crate) const READY_US: u64 = 1_700_000_000_000_000;

/// A peer that does nothing for a while, as a hidden tab.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    pub(crate) seat: u8,
    pub(crate) from_us: u64,
    pub(crate) to_us: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) tick_hz: u16,
    pub(crate) input_delay: u8,
    pub(crate) window: u8,
    pub(crate) horizon: u32,
    pub(crate) conditions: Conditions,
    pub(crate) heals_us: u64,
    pub(crate) pauses: Vec<Pause>,
    /// How far each seat's clock is from the server's.
    pub(crate) clock_error_us: Vec<i64>,
}

impl Scenario {
    pub(crate) fn new(seed: u64) -> Self {
        let rng = &mut Rng::new(seed);
        let seats = 2 + rng.below(3);
        // At least one person; in most matches all are.
        let ai_from = if rng.below(3) == 0 {
            1 + rng.below(seats)
        } else {
            seats
        };
        let controller = |seat| {
            if seat < ai_from {
                Controller::Human
            } else {
                Controller::Ai {
                    policy: "toy".into(),
                }
            }
        };
        let tick_hz = [10, 30, 60][rng.below(3) as usize];
        let horizon = u32::from(tick_hz) * 3 + 60 + rng.below(60);
        let playing_us = u64::from(horizon) * 1_000_000 / u64::from(tick_hz);
        let heals_us = READY_US + 500_000 + playing_us + u64::from(rng.below(2_000_000));
        let pauses = (0..rng.below(3)).map(|_| {
            let from_us = READY_US + u64::from(rng.below(playing_us as u32));
            let to_us = from_us + 100_000 + u64::from(rng.below(3_000_000));
            Pause {
                seat: rng.below(seats) as u8,
                from_us,
                to_us,
            }
        });
        let pauses = pauses.collect();
        Self {
            seed,
            controllers: (0..seats).map(controller).collect(),
            tick_hz,
            input_delay: rng.below(5) as u8,
            window: 1 + rng.below(16) as u8,
            horizon,
            conditions: conditions(rng),
            heals_us,
            pauses,
            clock_error_us: (0..seats)
                .map(|_| i64::from(rng.below(60_000)) - 30_000)
                .collect(),
        }
    }

    /// Two people, nothing odd.
    pub(crate) fn calm(seed: u64, tick_hz: u16, horizon: u32, conditions: Conditions) -> Self {
        Self {
            seed,
            controllers: vec![Controller::Human; 2],
            tick_hz,
            input_delay: 0,
            window: 16,
            horizon,
            conditions,
            heals_us: u64::MAX,
            pauses: Vec::new(),
            clock_error_us: vec![0; 2],
        }
    }
}

fn conditions(rng: &mut Rng) -> Conditions {
    match rng.below(4) {
        0 => Conditions {
            delay_us: 1_000,
            jitter_us: 2_000,
            ..Conditions::default()
        },
        1 => Conditions {
            delay_us: 30_000,
            jitter_us: 10_000,
            loss: 100,
            double: 10,
            burst: (0, 0),
        },
        2 => Conditions {
            delay_us: 80_000,
            jitter_us: 60_000,
            loss: 500,
            double: 300,
            burst: (50, 2_000),
        },
        _ => Conditions {
            delay_us: rng.below(200_000),
            jitter_us: rng.below(200_000),
            loss: rng.below(4_000),
            double: rng.below(3_000),
            burst: (rng.below(200), 200 + rng.below(2_000)),
        },
    }
}
