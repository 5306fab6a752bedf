//! Nine ways in which the closest peer of Coplay was seen to break: each a scenario that must hold here.
//!
//! Source: MUG 0.1.3, whose defects were reproduced: step counter, loss bursts, a hidden tab, speculative ends,
//! packets of the episode before, a slow peer, states that are not saved or not saved exactly, the last tick.

use env_core::contract::{ActionSpec, Environment, FieldSpec, ParamError};
use env_core::draw::{DrawList, Sprite};
use env_core::{Action, Instance, Spec, StepOutcome, World};
use protocol::datagram::{Datagram, DatagramLayout};
use protocol::{Era, Seat, Tick};
use rollback::{DatagramError, Session, SessionEvent};
use serde::{Deserialize, Serialize};

use crate::support::network::{Conditions, Partition};
use crate::support::play::{Mischief, Report, config, play, play_in};
use crate::support::scenario::{Pause, READY_US, Scenario};
use crate::support::toy::{NOOP, Toy, mix};

const T0_US: u64 = READY_US + 500_000;
const HZ: u16 = 30;
const STEPS: u32 = 200;
const UP: Action = 1;
const DOWN: Action = 2;

/// Two ticks late, as in the first measurement, and worse.
fn conditions() -> [Conditions; 3] {
    let late = Conditions {
        delay_us: 66_000,
        ..Conditions::default()
    };
    let lossy = Conditions {
        delay_us: 100_000,
        loss: 500,
        ..Conditions::default()
    };
    let rough = Conditions {
        delay_us: 80_000,
        jitter_us: 120_000,
        loss: 1_500,
        double: 1_000,
        burst: (100, 1_000),
    };
    [late, lossy, rough]
}

fn scenario(conditions: Conditions) -> Scenario {
    Scenario::calm(11, HZ, STEPS, conditions)
}

/// Plays to the end; the oracles compare logs, digests and a replay.
fn played(scenario: &Scenario) -> Report {
    let whole = |_| Toy::new(2, STEPS, STEPS);
    play_in(scenario, &Mischief::none(), whole).unwrap_or_else(|seen| panic!("{seen}"))
}

#[test]
fn defect_1_the_number_of_steps_is_exact_in_every_condition() {
    for conditions in conditions() {
        for window in [2, 8, 16] {
            let report = played(&Scenario {
                window,
                ..scenario(conditions)
            });
            assert_eq!(report.ticks, STEPS);
        }
    }
}

#[test]
fn defect_2_a_burst_of_losses_is_made_good() {
    let both = [(0, 1), (1, 0)].map(|(from, to)| Partition {
        from,
        to,
        from_us: T0_US + 1_600_000,
        to_us: T0_US + 2_600_000,
    });
    let report = played(&Scenario {
        partitions: both.to_vec(),
        ..scenario(conditions()[0])
    });
    assert_eq!(report.ticks, STEPS, "all are confirmed at the end");
}

#[test]
fn defect_3_a_tab_that_is_away_for_long_comes_back_into_the_same_match() {
    for away_us in [500_000, 1_270_000, 5_000_000] {
        let report = played(&Scenario {
            pauses: vec![Pause {
                seat: 1,
                from_us: T0_US + 1_200_000,
                to_us: T0_US + 1_200_000 + away_us,
            }],
            ..scenario(conditions()[0])
        });
        assert_eq!(report.ticks, STEPS);
    }
}

fn pair(idle_end: Option<u32>, horizon: u32) -> [Session<Toy>; 2] {
    [0, 1].map(|seat| {
        let mut world = Toy::new(2, horizon, horizon);
        world.idle_end = idle_end;
        let config = config(&scenario(conditions()[0]), Some(Seat(seat)));
        Session::new(config, world, Vec::new())
    })
}

fn due(tick: u64) -> u64 {
    T0_US + tick * 1_000_000 / u64::from(HZ) + 1_000
}

fn packets(session: &mut Session<impl World>) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| Some(session.poll_transmit()?.bytes.to_vec())).collect()
}

/// Lets ticks become due; packets pass if they may.
fn run(peers: &mut [Session<Toy>; 2], ticks: std::ops::Range<u64>, pass: bool) {
    for tick in ticks {
        peers
            .iter_mut()
            .for_each(|peer| peer.handle_timeout(due(tick)));
        for from in 0..2 {
            for packet in packets(&mut peers[from]).iter().filter(|_| pass) {
                peers[1 - from]
                    .handle_datagram(due(tick), Seat(from as u8), packet)
                    .expect("an honest packet");
            }
        }
    }
}

fn overs(session: &mut Session<Toy>) -> Vec<Tick> {
    let events = std::iter::from_fn(|| session.poll_event());
    let overs = events.filter_map(|event| match event {
        SessionEvent::Over { ticks } => Some(ticks),
        _ => None,
    });
    overs.collect()
}

#[test]
fn defect_4_an_end_that_was_only_predicted_ends_nothing() {
    let mut peers = pair(Some(31), 60);
    run(&mut peers, 0..30, true);
    // In step 31 seat 1 acts, but seat 0 does not know it, and predicts the no-op and so the end.
    peers[1].handle_action(due(29), UP);
    run(&mut peers, 30..34, false);
    assert_eq!((peers[0].current(), peers[0].ended()), (Tick(31), None));
    assert_eq!(peers[1].current(), Tick(34));
    assert_eq!(overs(&mut peers[0]), []);
    run(&mut peers, 34..75, true);
    for peer in &mut peers {
        assert_eq!(peer.ended(), Some(Tick(60)));
        assert_eq!(overs(peer), [Tick(60)]);
    }
    assert_eq!(peers[0].rows(), peers[1].rows());
}

#[test]
fn defect_5_packets_of_the_episode_before_change_nothing() {
    let layout = DatagramLayout {
        seats: 2,
        actions: 6,
    };
    let mut clean = pair(None, 60);
    run(&mut clean, 0..70, true);
    let mut peers = pair(None, 60);
    let mut refused = 0;
    for tick in 0..70 {
        // What seat 1 did in the same ticks of the episode before comes late, with other actions.
        let before = Datagram {
            era: Era(8),
            from: Seat(1),
            inputs: vec![DOWN; 40],
            have: vec![Tick(40), Tick(40)],
            ..Datagram::default()
        };
        let mut stale = Vec::new();
        before.encode(layout, &mut stale);
        let taken = peers[0].handle_datagram(due(tick), Seat(1), &stale);
        assert_eq!(taken, Err(DatagramError::Era));
        refused += 1;
        run(&mut peers, tick..tick + 1, true);
    }
    assert_eq!(peers[0].stats().refused.era, refused);
    assert_eq!(peers[0].ended(), Some(Tick(60)));
    assert_eq!(peers[0].rows(), clean[0].rows());
    assert_eq!(peers[0].digests(), clean[0].digests());
}

#[test]
fn defect_6_a_slow_peer_does_not_drag_the_other_into_ever_deeper_rollbacks() {
    for horizon in [200, 2_000] {
        let slow = Scenario {
            horizon,
            slowness: vec![0, 111],
            ..scenario(conditions()[0])
        };
        let report = play(&slow, &Mischief::none()).expect("a match");
        let deepest = report.stats.iter().map(|stats| stats.max_depth).max();
        assert!(deepest <= Some(6), "{horizon} steps: {deepest:?}");
        assert!(report.gap <= 2, "{horizon} steps: {}", report.gap);
    }
}

/// A world whose numbers no float holds.
struct Wide(Spec);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Numbers {
    steps: u32,
    /// As the state of a generator of 128 bits.
    wide: u128,
    /// Beyond 2⁵³.
    long: u64,
    signed: i64,
}

impl Environment for Wide {
    const ID: &'static str = "wide";
    const VERSION: &'static str = "1.0.0";
    type Params = u32;
    type State = Numbers;

    fn new(horizon: u32) -> Result<Self, ParamError> {
        let action = |name: &str| ActionSpec {
            name: name.into(),
            momentary: false,
            keys: Vec::new(),
            ..ActionSpec::default()
        };
        Ok(Self(Spec {
            id: "wide".into(),
            version: "1.0.0".into(),
            title: "Wide".into(),
            seats: 2,
            actions: ["noop", "one", "two"].map(action).into(),
            noop: 0,
            observation: vec![FieldSpec {
                name: "steps".into(),
                shape: vec![1],
                ..FieldSpec::default()
            }],
            tick_hz: HZ,
            horizon,
            events: Vec::new(),
            compact: false,
            ..Spec::default()
        }))
    }

    fn params_schema() -> &'static str {
        "{}"
    }

    fn sprites() -> &'static [Sprite] {
        &[]
    }

    fn spec(&self) -> Spec {
        self.0.clone()
    }

    fn reset(&self, seed: u64) -> Numbers {
        Numbers {
            steps: 0,
            wide: u128::from(mix(seed)) << 64 | u128::from(mix(seed ^ 1)) | 1,
            long: mix(seed ^ 2) | 1 << 63,
            signed: i64::MIN + 1,
        }
    }

    fn step(&self, state: &mut Numbers, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        for &action in actions {
            let next = state
                .wide
                .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
            state.wide = next.wrapping_add(u128::from(action) << 1 | 1);
            state.long = mix(state.long ^ (state.wide >> 64) as u64) | 1 << 63;
            state.signed ^= state.long.cast_signed();
        }
        state.steps += 1;
        outcome.over = state.steps >= self.0.horizon;
    }

    fn observe(&self, state: &Numbers, _seat: usize, out: &mut [f32]) {
        out.fill(state.steps as f32);
    }

    fn score(&self, state: &Numbers) -> i64 {
        state.signed
    }

    fn draw(&self, _state: &Numbers, _seat: Option<usize>, _out: &mut DrawList) {}

    fn describe(&self, _state: &Numbers, _seat: usize, _out: &mut String) {}

    fn valid(&self, _state: &Numbers) -> bool {
        true
    }
}

fn wide() -> Instance<Wide> {
    Instance::new(Wide::new(STEPS).expect("any horizon will do"))
}

#[test]
fn defect_7_every_world_can_be_gone_back_in() {
    for conditions in conditions() {
        let report = play_in(&scenario(conditions), &Mischief::none(), |_| wide())
            .unwrap_or_else(|seen| panic!("{seen}"));
        let rollbacks: u64 = report.stats.iter().map(|stats| stats.rollbacks).sum();
        assert!(
            report.ticks == STEPS && rollbacks > 10,
            "{rollbacks} rollbacks"
        );
    }
}

#[test]
fn defect_8_numbers_beyond_any_float_survive_saving_and_sending() {
    let (mut world, mut other) = (wide(), wide());
    world.reset(5);
    other.reset(6);
    let mut bytes = Vec::new();
    for tick in 0..STEPS {
        world.save(0);
        let digest = world.digest();
        world.step(&[1, 2]);
        world.load(0);
        assert_eq!(world.digest(), digest);
        world.state(&mut bytes);
        other.restore(&bytes).expect("its own bytes");
        assert_eq!(other.digest(), digest);
        let row = [(tick % 3) as u16, (tick % 2) as u16];
        world.step(&row);
        other.step(&row);
        assert_eq!(
            (world.digest(), world.score()),
            (other.digest(), other.score())
        );
    }
}

#[test]
fn defect_9_a_late_input_for_the_last_tick_still_counts() {
    for late in 1..4 {
        let mut peers = pair(None, 60);
        run(&mut peers, 0..60 - late, true);
        peers[1].handle_action(due(59 - late), UP);
        run(&mut peers, 60 - late..60, false);
        assert_eq!(peers.each_ref().map(|peer| peer.current()), [Tick(60); 2]);
        assert_eq!(peers[0].ended(), None);
        run(&mut peers, 60..70, true);
        let last = [NOOP, UP];
        for peer in &mut peers {
            assert_eq!(peer.ended(), Some(Tick(60)));
            assert_eq!(peer.rows()[2 * 59..], last);
        }
        assert_eq!(peers[0].digests(), peers[1].digests());
    }
}
