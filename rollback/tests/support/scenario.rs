//! The meaning of a seed: seats, rates, network, pauses, wrong clocks.

use env_core::rng::Rng;
use protocol::Controller;

use super::network::{Conditions, Partition};

/// Server time at which everyone is ready, microseconds. The first tick is due half a second later.
pub(crate) const READY_US: u64 = 1_700_000_000_000_000;

/// A peer that does nothing for a while, as a hidden tab.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    pub(crate) seat: u8,
    pub(crate) from_us: u64,
    pub(crate) to_us: u64,
}

/// An event at the page of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It is gone immediately; another page comes this much later, or none.
    Killed(Option<u64>),
    /// The server takes its seat although it plays; it asks for it again.
    Evicted,
    /// It cannot reach the server for so long; its packets pass.
    Offline(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// Time, seat, trouble.
    pub(crate) troubles: Vec<(u64, u8, Trouble)>,
    pub(crate) partitions: Vec<Partition>,
    /// How fast each seat's clock runs wrong between being set right, per thousand.
    pub(crate) drift: Vec<i64>,
    /// How much longer than a period a tick takes each seat to simulate, per cent; 0 for no time at all.
    pub(crate) slowness: Vec<u64>,
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
    /// True if a tick goes by once everybody has chosen.
    pub(crate) turns: bool,
}

impl Scenario {
    pub(crate) fn new(seed: u64) -> Self {
        let rng = &mut Rng::new(seed);
        let seats = 2 + rng.below(3) + if rng.below(8) == 0 { rng.below(5) } else { 0 };
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
            turns: false,
            troubles: Vec::new(),
            partitions: Vec::new(),
            drift: (0..seats).map(|_| i64::from(rng.below(101)) - 50).collect(),
            slowness: vec![0; seats as usize],
        }
    }

    /// The same in turns, which take as long as people think.
    pub(crate) fn in_turns(self) -> Self {
        Self {
            turns: true,
            horizon: 40,
            ..self
        }
    }

    /// A scenario in which pages go and come back, too.
    pub(crate) fn troubled(seed: u64) -> Self {
        let mut scenario = Self::new(seed);
        let rng = &mut Rng::new(!seed);
        let seats = scenario.controllers.len() as u32;
        scenario.window = scenario.window.max(4);
        scenario.horizon *= 2;
        let period_us = 1_000_000 / u64::from(scenario.tick_hz);
        let playing_us = u64::from(scenario.horizon) * period_us;
        scenario.heals_us = READY_US + 500_000 + playing_us;
        let at_us = |rng: &mut Rng| READY_US + 600_000 + u64::from(rng.below(playing_us as u32));
        for _ in 0..1 + rng.below(4) {
            let trouble = match rng.below(4) {
                0 => Trouble::Killed(None),
                1 => Trouble::Killed(Some(u64::from(rng.below(3_000_000)))),
                2 => Trouble::Evicted,
                _ => Trouble::Offline(u64::from(rng.below(4_000_000))),
            };
            let at = (at_us(rng), rng.below(seats) as u8, trouble);
            scenario.troubles.push(at);
        }
        for _ in 0..rng.below(3) {
            let from_us = at_us(rng);
            scenario.partitions.push(Partition {
                from: rng.below(seats) as u8,
                to: rng.below(seats) as u8,
                from_us,
                to_us: from_us + u64::from(rng.below(3_000_000)),
            });
        }
        scenario
    }

    /// Two people: one whose page is gone, and comes back while the other has not heard from the server for long.
    pub(crate) fn cut_off(seed: u64) -> Self {
        let gone_us = READY_US + 1_500_000;
        Self {
            troubles: vec![
                (gone_us + 900_000, 1, Trouble::Offline(8_000_000)),
                (gone_us, 0, Trouble::Killed(Some(4_500_000))),
            ],
            ..Self::calm(
                seed,
                60,
                900,
                Conditions {
                    delay_us: 20_000,
                    ..Conditions::default()
                },
            )
        }
    }

    /// Three people: one whose page is reloaded, and has not heard of another when that one's page is gone, too.
    pub(crate) fn hardly_back(seed: u64) -> Self {
        let gone_us = READY_US + 1_500_000;
        Self {
            controllers: vec![Controller::Human; 3],
            troubles: vec![
                (gone_us, 2, Trouble::Killed(Some(700_000))),
                (gone_us + 2_000_000, 1, Trouble::Killed(None)),
            ],
            partitions: vec![Partition {
                from: 1,
                to: 2,
                from_us: gone_us,
                to_us: u64::MAX,
            }],
            clock_error_us: vec![0; 3],
            drift: vec![0; 3],
            slowness: vec![0; 3],
            ..Self::cut_off(seed)
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
            turns: false,
            troubles: Vec::new(),
            partitions: Vec::new(),
            drift: vec![0; 2],
            slowness: vec![0; 2],
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
