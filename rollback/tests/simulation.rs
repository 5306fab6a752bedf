//! Whole matches on a simulated network, one per seed; `COPLAY_SEED=n` plays that seed alone, `COPLAY_SEEDS=n` so many.
//! And the proof that the oracles see what they are for: each test under `mischief` breaks one thing.

use env_core::envs::overcooked::Overcooked;
use env_core::{Instance, envs};
use protocol::Controller;
use protocol::datagram::{Datagram, DatagramLayout};
use rollback::Config;

use crate::support::network::Packet;
use crate::support::play::{Mischief, Report, play, play_in};
use crate::support::scenario::Scenario;
use crate::support::toy::{ACTIONS, Defect};

/// Matches in the test command.
const SEEDS: u64 = 200;

/// The seeds to play, and whether they are those of the test command or more.
fn seeds() -> (std::ops::Range<u64>, bool) {
    let number = |name| {
        std::env::var(name)
            .ok()
            .map(|n| n.parse().expect("a number"))
    };
    match (number("COPLAY_SEED"), number("COPLAY_SEEDS")) {
        (Some(seed), _) => (seed..seed + 1, false),
        (None, count) => (
            0..count.unwrap_or(SEEDS),
            count >= Some(SEEDS) || count.is_none(),
        ),
    }
}

/// Names the seed even if the session itself panics.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "COPLAY_SEED={} cargo test -p rollback --test main simulation::seeds",
                self.0
            );
        }
    }
}

fn play_seed(seed: u64) -> Report {
    let _named = Named(seed);
    let scenario = Scenario::new(seed);
    play(&scenario, &Mischief::none()).unwrap_or_else(|seen| panic!("{seen}\n{scenario:?}"))
}

#[test]
fn all_seeds_end_with_one_log() {
    let (seeds, are_many) = seeds();
    let reports: Vec<Report> = seeds.map(play_seed).collect();
    // The seeds are worth something only if they reach what they are for.
    let sum = |of: fn(&rollback::Stats) -> u64| {
        reports
            .iter()
            .flat_map(|report| &report.stats)
            .map(of)
            .sum::<u64>()
    };
    let (rollbacks, held_us) = (sum(|stats| stats.rollbacks), sum(|stats| stats.held_us));
    let deepest = reports
        .iter()
        .flat_map(|report| &report.stats)
        .map(|stats| stats.max_depth)
        .max();
    println!(
        "{rollbacks} rollbacks, deepest {deepest:?}, held {} s",
        held_us / 1_000_000
    );
    assert!(!are_many || rollbacks > 10_000 && held_us > 100_000_000 && deepest >= Some(15));
}

#[test]
fn people_in_turns_end_with_one_log_whoever_comes_and_goes() {
    for seed in 0..100 {
        let _named = Named(seed);
        for scenario in [Scenario::new(seed), Scenario::troubled(seed)] {
            let scenario = scenario.in_turns();
            let report = play(&scenario, &Mischief::none());
            let report = report.unwrap_or_else(|seen| panic!("{seen}\n{scenario:?}"));
            let guesses = report
                .stats
                .iter()
                .map(|stats| stats.predicted.iter().sum::<u32>());
            assert_eq!(guesses.sum::<u32>(), 0, "nothing is guessed");
        }
    }
}

#[test]
fn seats_change_hands_and_all_end_with_one_log() {
    let (seeds, are_many) = seeds();
    let (mut changes, mut frames) = (0, 0);
    for seed in seeds {
        let _named = Named(seed);
        let scenario = Scenario::troubled(seed);
        let report = play(&scenario, &Mischief::none())
            .unwrap_or_else(|seen| panic!("seed {seed}: {seen}\n{scenario:?}"));
        changes += report.changes.len();
        frames += report.frames;
    }
    println!("{changes} changes, {frames} frames rebuilt");
    assert!(!are_many || changes > 300 && frames > 10_000);
}

#[test]
fn people_and_partners_cook_on_bad_networks() {
    let mut rollbacks = 0;
    for seed in 0..6 {
        let _named = Named(seed);
        let mut scenario = Scenario {
            tick_hz: 10,
            horizon: 300,
            ..Scenario::new(seed)
        };
        scenario.controllers.truncate(2);
        scenario.heals_us += 20_000_000;
        let kitchen = |_| {
            Instance::new(
                envs::build_environment::<Overcooked>(br#"{"horizon": 300}"#).expect("300 steps"),
            )
        };
        let report = play_in(&scenario, &Mischief::none(), kitchen)
            .unwrap_or_else(|seen| panic!("{seen}\n{scenario:?}"));
        assert_eq!(report.ticks, 300);
        rollbacks += report
            .stats
            .iter()
            .map(|stats| stats.rollbacks)
            .sum::<u64>();
    }
    assert!(rollbacks > 100, "{rollbacks} rollbacks");
}

mod mischief {
    use super::*;

    /// Plays seeds with several people until an oracle fires, and gives what it saw.
    fn seen(people: usize, partners: bool, mischief: &Mischief) -> String {
        let mut seen = (0..200).map(Scenario::new).filter(|scenario| {
            let humans = scenario
                .controllers
                .iter()
                .filter(|c| **c == Controller::Human)
                .count();
            humans >= people && (humans < scenario.controllers.len()) == partners
        });
        seen.by_ref()
            .take(12)
            .find_map(|scenario| play(&scenario, mischief).err())
            .unwrap_or_default()
    }

    fn layout(config: &Config) -> DatagramLayout {
        DatagramLayout {
            seats: config.controllers.len() as u8,
            actions: ACTIONS as u16,
        }
    }

    fn rewrite(packet: &mut Packet, config: &Config, change: impl FnOnce(&mut Datagram)) {
        let mut datagram =
            Datagram::decode(&packet.bytes, layout(config)).expect("sessions send datagrams");
        change(&mut datagram);
        datagram.encode(layout(config), &mut packet.bytes);
    }

    #[test]
    fn an_input_that_differs_from_peer_to_peer_is_seen_in_the_log() {
        let tamper = |packet: &mut Packet, config: &Config| {
            if (packet.from, packet.to) == (0, 1) {
                rewrite(packet, config, |datagram| {
                    let at = 40_u32.checked_sub(datagram.first.0).map(|at| at as usize);
                    if let Some(input) = at.and_then(|at| datagram.inputs.get_mut(at)) {
                        *input = (*input + 1) % 6;
                    }
                });
            }
        };
        let seen = seen(
            2,
            false,
            &Mischief {
                tamper,
                ..Mischief::none()
            },
        );
        assert!(seen.starts_with("log: tick 40 seat 0"), "{seen}");
    }

    #[test]
    fn inputs_that_never_come_are_seen_as_a_match_without_end() {
        let tamper = |packet: &mut Packet, config: &Config| {
            if packet.to == 1 {
                rewrite(packet, config, |datagram| {
                    datagram.first.0 += datagram.inputs.len() as u32;
                    datagram.inputs.clear();
                });
            }
        };
        let seen = seen(
            2,
            false,
            &Mischief {
                tamper,
                ..Mischief::none()
            },
        );
        assert!(seen.starts_with("liveness"), "{seen}");
    }

    #[test]
    fn confirming_what_a_third_peer_lacks_is_seen_in_the_receipts() {
        // Packets on their way to seat 0 claim that their sender has everything of the third seat.
        let tamper = |packet: &mut Packet, config: &Config| {
            if packet.to == 0 {
                let from = usize::from(packet.from);
                rewrite(packet, config, |datagram| {
                    for seat in (1..config.controllers.len()).filter(|&seat| seat != from) {
                        datagram.have[seat].0 += 20;
                    }
                });
            }
        };
        let seen = seen(
            3,
            false,
            &Mischief {
                tamper,
                ..Mischief::none()
            },
        );
        assert!(seen.starts_with("receipts"), "{seen}");
    }

    #[test]
    fn a_dead_direction_is_seen_as_a_match_without_end() {
        let seen = seen(
            2,
            false,
            &Mischief {
                cut: Some((0, 1)),
                ..Mischief::none()
            },
        );
        assert!(seen.starts_with("liveness"), "{seen}");
    }

    /// Plays scenarios in which seats change hands until an oracle fires, and gives what it saw.
    fn seen_in_trouble(scenario: fn(u64) -> Scenario, mischief: &Mischief) -> String {
        let mut scenarios = (0..SEEDS).map(scenario);
        scenarios
            .find_map(|scenario| play(&scenario, mischief).err())
            .unwrap_or_default()
    }

    #[test]
    fn a_cut_before_what_is_final_is_seen_as_a_retraction() {
        let mischief = Mischief {
            cuts_early: true,
            ..Mischief::none()
        };
        for seed in 0..4 {
            let report = play(&Scenario::hardly_back(seed), &Mischief::none());
            assert!(report.expect("no oracle fires").changes.len() >= 3);
        }
        let seen = seen_in_trouble(Scenario::hardly_back, &mischief);
        assert!(seen.starts_with("retraction"), "{seen}");
    }

    #[test]
    fn to_take_what_is_confirmed_for_final_is_seen_as_a_retraction() {
        for seed in 0..4 {
            let report = play(&Scenario::cut_off(seed), &Mischief::none());
            assert_eq!(report.map(|report| report.changes.len()), Ok(2));
        }
        let mischief = Mischief {
            settles_early: true,
            ..Mischief::none()
        };
        let seen = seen_in_trouble(Scenario::cut_off, &mischief);
        let is_seen = seen.starts_with("retraction") || seen.starts_with("log");
        assert!(is_seen, "{seen}");
    }

    #[test]
    fn a_world_that_drifts_is_seen_in_the_digests() {
        let seen = seen(
            2,
            false,
            &Mischief {
                defect: Some((1, Defect::Drift(33))),
                ..Mischief::none()
            },
        );
        assert!(
            seen.starts_with("digest") || seen.starts_with("end"),
            "{seen}"
        );
    }

    #[test]
    fn a_state_that_is_not_wholly_loaded_is_seen_in_the_digests() {
        let seen = seen(
            2,
            false,
            &Mischief {
                defect: Some((0, Defect::HalfLoad)),
                ..Mischief::none()
            },
        );
        assert!(
            seen.starts_with("digest") || seen.starts_with("preview"),
            "{seen}"
        );
    }

    #[test]
    fn a_peer_that_sees_another_end_is_seen() {
        let seen = seen(
            2,
            false,
            &Mischief {
                defect: Some((0, Defect::LateEnd)),
                ..Mischief::none()
            },
        );
        assert!(!seen.is_empty(), "no oracle fired");
    }

    #[test]
    fn a_partner_that_does_not_go_back_with_the_world_is_seen_in_the_log() {
        let seen = seen(
            2,
            true,
            &Mischief {
                stubborn: Some(0),
                ..Mischief::none()
            },
        );
        assert!(
            seen.starts_with("log") || seen.starts_with("preview") || seen.starts_with("replay"),
            "{seen}"
        );
    }
}
