//! What happens to seats, in whole simulated studies: figures 9, 10 and 12 of `cargo xtask bench rollback`, as JSON lines.
//! Virtual time throughout, so that a run is the same on every machine.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use env_core::World as _;
use peer::Status;
use simulation::page::Page;
use simulation::run::{Mischief, Run};
use simulation::scenario::{Fault, Person, Scenario};
use simulation::terms::Terms;
use simulation::trace::Trace;
use simulation::weather::{Conditions, End, Partition};

const TICK_HZ: u16 = 60;
/// When something happens to the last person: everybody plays for some seconds by then.
const FAULT_US: u64 = 9_000_000;

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
        "the same: how long the other one waited, at most",
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
    };
    Scenario {
        seed,
        terms: Terms {
            kitchen: false,
            seats: people,
            rounds: 1,
            tick_hz: TICK_HZ,
            horizon: 12 * u32::from(TICK_HZ),
            window: 16,
            input_delay: (2, 2),
            grace_s: 6,
            meanwhile: "stand",
            then: "bot",
            policy: "random",
            hidden_tab: (1, 4),
        },
        people: (0..people).map(person).collect(),
        ways: ways.collect::<BTreeMap<_, _>>(),
        partitions: Vec::new(),
        faults: Vec::new(),
        heals_us: 30_000_000,
        kill: None,
    }
}

/// Whether a run ends in order: one log, equal states, nothing confirmed taken back, no panic.
fn is_in_order(scenario: Scenario) -> bool {
    let run = || Run::new(scenario, Mischief::default(), Trace::new(false)).run();
    let played = catch_unwind(AssertUnwindSafe(run));
    matches!(played, Ok(Ok(_)))
}

/// Matches of three that go wrong when the last page dies for good: at once for all, or for one survivor later; and
/// at 20 % loss.
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
    let wrong = |scenarios: Vec<Scenario>| {
        let wrong = scenarios
            .into_iter()
            .filter(|one| !is_in_order(one.clone()));
        wrong.count() as f64
    };
    let lossy = (0..60).map(|seed| dies(seed, 2_000).1);
    [wrong(gaps.into()), wrong(lossy.collect())]
}

/// The ticks that the page of a person has simulated, if it plays.
fn ticks(pages: &[Page], person: usize) -> Option<(u32, u32)> {
    let page = pages
        .iter()
        .rfind(|page| page.person == person && page.is_alive)?;
    let peer = page.peer.as_ref()?;
    Some((peer.session()?.current().0, peer.plays_from().0))
}

/// Seconds from a reload until the person controls the seat again, 95 %; and the longest that the other one waited
/// for a tick beyond its period, milliseconds.
fn reloads() -> (f64, f64) {
    let (mut spans, mut longest_us) = (Vec::new(), 0_u64);
    for seed in 0..20 {
        let at_us = FAULT_US + seed * 37_000;
        let mut scenario = scenario(seed, 2, 100, 0);
        let reload = Fault::Reload {
            person: 1,
            farewell: true,
            away_us: 0,
        };
        scenario.faults = vec![(at_us, reload)];
        let (mut control_us, mut moved) = (None, (0, 0));
        let mut run = Run::new(scenario, Mischief::default(), Trace::new(false));
        let played = run.run_watched(|now_us, pages| {
            if now_us < at_us {
                return;
            }
            if let Some((current, from)) = ticks(pages, 1)
                && from > 0
                && current >= from
            {
                control_us.get_or_insert(now_us);
            }
            if let Some((current, _)) = ticks(pages, 0).filter(|_| control_us.is_none()) {
                if current != moved.1 {
                    longest_us =
                        longest_us.max(now_us - if moved.0 == 0 { now_us } else { moved.0 });
                    moved = (now_us, current);
                }
            }
        });
        played.expect("nothing goes wrong in this run");
        let control_us = control_us.expect("who comes back plays again");
        spans.push((control_us - at_us) as f64 / 1e6);
    }
    let period_us = 1_000_000 / u64::from(TICK_HZ);
    // A page is called within some milliseconds of the tick that is due.
    let waited_us = longest_us.saturating_sub(2 * period_us);
    (quantile(spans, 0.95), waited_us as f64 / 1e3)
}

/// Milliseconds until a page in whose world a bit turned loses its seat for it.
fn divergence() -> f64 {
    let spans = (0..20).map(|seed| {
        let breaks_us = FAULT_US + seed * 49_000;
        let scenario = scenario(seed, 2, 60, 0);
        let (mut broken_us, mut found_us, mut turned) = (None, None, 0);
        let mut run = Run::new(scenario, Mischief::default(), Trace::new(false));
        // The oracles rightly complain of a world that is not that of the others.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            run.run_watched(|now_us, pages| {
                let page = pages.iter_mut().rfind(|page| page.person == 1);
                let Some(page) = page.filter(|_| now_us >= breaks_us) else {
                    return;
                };
                // A rollback may mend what was turned last; four times in a row it does not.
                let due_us = breaks_us + turned * 50_000;
                if turned < 4 && now_us >= due_us && turn_a_bit(page, turned as usize) {
                    turned += 1;
                    broken_us.get_or_insert(now_us);
                }
                let now = page.now(now_us);
                let status = page.peer.as_ref().map(|peer| peer.status(now));
                if broken_us.is_some() && matches!(status, Some(Status::Lost)) {
                    found_us.get_or_insert(now_us);
                }
            })
        }));
        let broken_us = broken_us.expect("the page plays");
        (found_us.expect("a page that diverged is found") - broken_us) as f64 / 1e3
    });
    quantile(spans.collect(), 0.5)
}

/// Turns a bit of the state of a page's world that makes another possible state: the first such bit after some bytes.
fn turn_a_bit(page: &mut Page, skipped: usize) -> bool {
    let Some(session) = page.peer.as_mut().and_then(|peer| peer.session_mut()) else {
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
