//! Seats in whole simulated studies: figures 9, 10 and 12 of `cargo xtask bench rollback`, as JSON lines.
//! Virtual time throughout, so that a run is the same on every machine.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use client_core::{Peer, Status};
use env_core::World as _;
use simulation::fault_injection::FaultInjection;
use simulation::native::Native;
use simulation::network_conditions::{Conditions, End, Partition};
use simulation::run::Run;
use simulation::scenario::{Fault, Person, Scenario};
use simulation::study_draw::{Pages, StudyDraw};
use simulation::tab::Tab;
use simulation::trace::Trace;

const TICK_HZ: u16 = 60;
/// The time of the fault of the last person: everybody plays for a second by then.
const FAULT_US: u64 = 5_000_000;

fn main() {
    let [gap, loss] = drops();
    line(
        "9",
        "one of 3 drops, for one survivor 50 to 400 ms later: matches that diverge or panic",
        "of 4",
        Some(0.0),
        gap,
    );
    line(
        "9",
        "one of 3 drops, loss 20 %: matches that diverge or panic",
        "of 60",
        Some(0.0),
        loss,
    );
    let (control_s, stall_ms) = reloads();
    line(
        "10",
        "from a reload to control, 95 %, RTT 100 ms (2 s, and 2 s of lease)",
        "s",
        Some(4.0),
        control_s,
    );
    line(
        "10",
        "the same: how long the other one was held up, at most",
        "ms",
        Some(0.0),
        stall_ms,
    );
    line(
        "12",
        "a state that differs is found, and whose, RTT 60 ms, median",
        "ms",
        Some(500.0),
        divergence(),
    );
}

fn line(figure: &str, name: &str, unit: &str, target: Option<f64>, ours: f64) {
    let target = target.map_or("null".to_owned(), |target| target.to_string());
    println!(
        r#"{{"figure":"{figure}","name":"{name}","unit":"{unit}","ours":{ours:.3},"ggrs":null,"target":{target}}}"#
    );
}

fn quantile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * part) as usize;
    values[at.min(values.len() - 1)]
}

/// People who open the study at about the same time, on one kind of network.
fn scenario(seed: u64, people: u8, rtt_ms: u64, loss: u32) -> Scenario {
    let ends: Vec<End> = (0..usize::from(people))
        .map(End::Person)
        .chain([End::Server])
        .collect();
    let conditions = Conditions {
        delay_us: rtt_ms * 500,
        jitter_us: 10_000,
        loss,
        ..Conditions::default()
    };
    let ways = ends
        .iter()
        .flat_map(|&from| ends.iter().map(move |&to| ((from, to), conditions)));
    let person = |number: u8| Person {
        arrives_us: 100_000 * u64::from(number) + seed * 7_919 % 100_000,
        clock_us: 1_000_000_000 + seed * 104_729,
        drift_ppm: 30 * i64::from(number),
        tick_us: 20,
        acts_us: 300_000,
        direct: true,
        frame_us: None,
    };
    Scenario {
        seed,
        terms: StudyDraw {
            // The search for goals is the one with more seats, and ends when all are found.
            kitchen: people == 2,
            seats: people,
            turns: false,
            alone: false,
            rounds: 1,
            episodes: 1,
            rests: false,
            pages: Pages::default(),
            until: None,
            tick_hz: TICK_HZ,
            horizon: 12 * u32::from(TICK_HZ),
            window: 16,
            input_delay: (2, 2),
            grace_s: 6,
            meanwhile: "stand",
            then: "bot",
            policy: if people == 2 { "cook" } else { "random" },
            hidden_tab: (1, 4),
            shared: None,
        },
        people: (0..people).map(person).collect(),
        ways: ways.collect::<BTreeMap<_, _>>(),
        partitions: Vec::new(),
        faults: Vec::new(),
        heals_us: 30_000_000,
        kill: None,
        liar: None,
        even_us: None,
    }
}

/// True if a run ends in order: one log, equal states, nothing confirmed taken back, no panic. `None` if it was over
/// before any seat changed hands.
fn is_in_order(scenario: Scenario) -> Option<bool> {
    let run = || Run::new(scenario, FaultInjection::default(), Trace::new(false)).run();
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(report)) => (report.figures.changes > 0).then_some(true),
        _ => Some(false),
    }
}

/// Matches of three that go wrong when the last page dies permanently: immediately for all, or for one survivor later;
/// and at 20 % loss.
fn drops() -> [f64; 2] {
    let dies = |seed: u64, loss| {
        let at_us = FAULT_US + seed * 7_919_000 % 1_000_000;
        let mut scenario = scenario(seed, 3, 60, loss);
        let crash = Fault::Crash {
            person: 2,
            told: false,
            away_us: None,
        };
        scenario.faults = vec![(at_us, crash)];
        (at_us, scenario)
    };
    let gaps = [50_000, 100_000, 200_000, 400_000].map(|gap_us| {
        let (at_us, mut scenario) = dies(1, 0);
        scenario.partitions.push(Partition {
            from: End::Person(2),
            to: End::Person(0),
            from_us: at_us - gap_us,
            to_us: at_us,
        });
        scenario
    });
    let wrong = |scenarios: &mut dyn Iterator<Item = Scenario>, count| {
        let judged = scenarios.filter_map(is_in_order).take(count);
        judged.filter(|is_in_order| !is_in_order).count() as f64
    };
    let gaps = wrong(&mut gaps.into_iter(), 4);
    [gaps, wrong(&mut (0..).map(|seed| dies(seed, 2_000).1), 60)]
}

/// The peer of the page that a person has now.
fn peer(pages: &[Tab], person: usize) -> Option<&Peer<Native>> {
    let mut own = pages.iter().rev();
    let page = own.find(|page| page.person == person && page.is_alive)?;
    page.peer()
}

/// Returns the seconds from a reload until the person controls the seat again, 95th percentile; and the longest time
/// that the other person was held up meanwhile, milliseconds.
fn reloads() -> (f64, f64) {
    let (mut spans, mut longest_us) = (Vec::new(), 0);
    for seed in 0..20 {
        let at_us = FAULT_US + seed * 37_000;
        let mut scenario = scenario(seed, 2, 100, 0);
        let reload = Fault::Reload {
            person: 1,
            farewell: true,
            away_us: 0,
        };
        scenario.faults = vec![(at_us, reload)];
        let (mut control_us, mut held_us) = (None, None);
        let mut run = Run::new(scenario, FaultInjection::default(), Trace::new(false));
        let played = run.run_watched(|now_us, pages, seen| {
            if now_us < at_us || control_us.is_some() {
                return seen;
            }
            let plays = |peer: &Peer<Native>| {
                let from = peer.plays_from().0;
                let current = peer.session().map_or(0, |session| session.current().0);
                from > 0 && current >= from
            };
            if peer(pages, 1).is_some_and(plays) {
                control_us = Some(now_us);
            }
            if let Some(session) = peer(pages, 0).and_then(Peer::session) {
                let held = session.stats().held_us;
                longest_us = longest_us.max(held - *held_us.get_or_insert(held));
            }
            seen
        });
        played.expect("nothing goes wrong in this run");
        let control_us = control_us.expect("who comes back plays again");
        spans.push((control_us - at_us) as f64 / 1e6);
    }
    (quantile(spans, 0.95), longest_us as f64 / 1e3)
}

/// Milliseconds until a page in whose world a bit turned knows that it lost its seat for that, in the middle of the
/// runs.
fn divergence() -> f64 {
    let spans = (0..20).map(|seed| {
        let breaks_us = FAULT_US + seed * 49_000;
        let scenario = scenario(seed, 2, 60, 0);
        let (mut broken_us, mut turned) = (None, 0);
        let mut run = Run::new(scenario, FaultInjection::default(), Trace::new(false));
        // This measures what the oracles say about a world that differs from the others'.
        let found = run.run_watched(|now_us, pages, _| {
            let page = pages.iter_mut().rfind(|page| page.person == 1);
            let Some(page) = page.filter(|_| now_us >= breaks_us) else {
                return Ok(());
            };
            // A rollback may repair the last turned bit; four times in a row, it does not.
            let due_us = breaks_us + turned * 50_000;
            if turned < 4 && now_us >= due_us && turn_a_bit(page, turned as usize) {
                turned += 1;
                broken_us.get_or_insert(now_us);
            }
            let now = page.now(now_us);
            let status = page.peer().map(|peer| peer.status(now));
            match (broken_us, status) {
                (Some(broken_us), Some(Status::Lost)) => Err((now_us - broken_us).to_string()),
                _ => Ok(()),
            }
        });
        let found_us = found.expect_err("a page that diverged is found");
        found_us.parse::<f64>().expect("a number") / 1e3
    });
    quantile(spans.collect(), 0.5)
}

/// Turns a bit of the state of a page's world that makes another possible state: the first such bit after some bytes.
fn turn_a_bit(page: &mut Tab, skipped: usize) -> bool {
    let Some(session) = page.peer_mut().and_then(|peer| peer.session_mut()) else {
        return false;
    };
    let world = session.world();
    let (mut state, digest) = (Vec::new(), world.digest());
    world.state(&mut state);
    (skipped..state.len()).any(|at| {
        let mut other = state.clone();
        other[at] ^= 1;
        world.restore(&other).is_ok() && world.digest() != digest
    })
}
