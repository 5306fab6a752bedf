//! Many runs, on all cores, each guarded: a panic is a failure like any other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fault_injection::FaultInjection;
use crate::rng::SeededRng;
use crate::run::{Run, RunReport};
use crate::scenario::{Scenario, Victim};
use crate::trace::Trace;

/// Seeds that failed once, one line each with their finding: they are run before all others.
const COMMITTED: &str = include_str!("../seeds.txt");

/// A run, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// The run of a seed.
    Seed(u64),
    /// The run of a seed in which a seat is given back while the other person's page is cut off from the server.
    Leased(u64),
    /// The run of a seed in which one machine is too slow.
    Slow(u64),
    /// The run of a seed in which one page is dishonest.
    Lying(u64),
    /// The run of a seed in which people share their seats with AI partners.
    Shared(u64),
    /// The run of a seed with this many seats.
    Seats(u64, u8),
    /// The run of a seed on this ground in which somebody dies after the message of this number.
    Kill(Ground, u64, u64, Death),
}

/// The run in which somebody dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ground {
    /// Two people on a good network.
    Calm,
    /// Three to eight people on bad networks.
    Crowd,
}

impl Ground {
    fn scenario(self, seed: u64, kill: Option<(u64, Victim)>) -> Scenario {
        match self {
            Self::Calm => Scenario::calm(seed, kill),
            Self::Crowd => Scenario::crowd(seed, kill),
        }
    }

    /// Lists kills after every message of the run of a seed, each victim once; or this many, spread evenly, with the
    /// victims in turn.
    ///
    /// # Errors
    /// The run fails although nobody dies.
    pub fn kill_cases(self, seed: u64, most: u64) -> Result<Vec<Case>, String> {
        let mut run = Run::new(
            self.scenario(seed, None),
            FaultInjection::default(),
            Trace::default(),
        );
        let (messages, victims) = (run.run()?.delivered, Death::ALL.len() as u64);
        let count = most.min(messages * victims);
        let cases = (0..count).map(|number| {
            let message = 1 + number * messages / count;
            let death = Death::ALL[(number % victims) as usize].1;
            Case::Kill(self, seed, message, death)
        });
        Ok(cases.collect())
    }
}

/// The victims, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Death {
    /// The first person's page, which is opened again.
    First,
    /// The second person's page, which is opened again.
    Second,
    /// The second person's page, permanently.
    ForGood,
    /// The server's process.
    Server,
}

impl Death {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("first", Self::First),
        ("second", Self::Second),
        ("for-good", Self::ForGood),
        ("server", Self::Server),
    ];

    fn victim(self) -> Victim {
        match self {
            Self::First => Victim::Person(0),
            Self::Second => Victim::Person(1),
            Self::ForGood => Victim::ForGood(1),
            Self::Server => Victim::Server,
        }
    }
}

impl Case {
    /// The run.
    pub fn make_scenario(self) -> Scenario {
        match self {
            Self::Seed(seed) => Scenario::new(seed),
            Self::Leased(seed) => Scenario::leased(seed),
            Self::Slow(seed) => Scenario::slow(seed),
            Self::Lying(seed) => Scenario::lying(seed),
            Self::Shared(seed) => Scenario::shared(seed),
            Self::Seats(seed, seats) => Scenario::seated(seed, seats),
            Self::Kill(ground, seed, number, death) => {
                ground.scenario(seed, Some((number, death.victim())))
            }
        }
    }

    /// The command that runs it alone.
    pub fn command(self) -> String {
        let options = match self {
            Self::Seed(seed) => format!("--seed {seed}"),
            Self::Leased(seed) => format!("--leased {seed}"),
            Self::Slow(seed) => format!("--slow {seed}"),
            Self::Lying(seed) => format!("--lying {seed}"),
            Self::Shared(seed) => format!("--shared {seed}"),
            Self::Seats(seed, seats) => format!("--seed {seed} --seats {seats}"),
            Self::Kill(ground, seed, number, death) => {
                let crowd = if ground == Ground::Crowd {
                    "crowd:"
                } else {
                    ""
                };
                let name = Death::ALL[death as usize].0;
                format!("--kill {crowd}{seed}:{number}:{name}")
            }
        };
        format!("cargo xtask dst {options} --trace")
    }

    /// The case of `[crowd:]seed:number:name`.
    pub fn kill(text: &str) -> Option<Self> {
        let (ground, text) = match text.strip_prefix("crowd:") {
            Some(text) => (Ground::Crowd, text),
            None => (Ground::Calm, text),
        };
        let mut parts = text.split(':');
        let (seed, number) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let name = parts.next().filter(|_| parts.next().is_none())?;
        let death = Death::ALL.iter().find(|(known, _)| *known == name)?.1;
        Some(Self::Kill(ground, seed, number, death))
    }

    /// For one seed in a hundred, its run with nine to sixteen seats.
    pub fn full_cases(seed: u64) -> Option<Self> {
        let mut rng = SeededRng::new(seed, "seats");
        let is_full = rng.one_in(100);
        is_full.then(|| Self::Seats(seed, rng.draw_between(9, 16) as u8))
    }

    /// For one seed in eight, its run with shared seats.
    pub fn share(seed: u64) -> Option<Self> {
        let is_shared = SeededRng::new(seed, "shared too").one_in(8);
        is_shared.then_some(Self::Shared(seed))
    }
}

/// The committed seeds, each alone, with its number of seats, or with shared seats.
pub fn committed_cases() -> Vec<Case> {
    let lines = COMMITTED
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    lines.filter_map(case).collect()
}

/// The case of `seed`, `seed seats` or `seed shared`.
fn case(text: &str) -> Option<Case> {
    let mut words = text.split_whitespace();
    let seed = words.next()?.parse().ok()?;
    match words.next() {
        Some("shared") => Some(Case::Shared(seed)),
        Some(seats) => Some(Case::Seats(seed, seats.parse().ok()?)),
        None => Some(Case::Seed(seed)),
    }
}

/// Plays a case.
///
/// # Errors
/// The finding of an oracle, or the place where the program panicked.
pub fn play(case: Case, injected: FaultInjection, trace: bool) -> Result<RunReport, String> {
    let played = catch_unwind(AssertUnwindSafe(|| {
        Run::new(case.make_scenario(), injected, Trace::new(trace)).run()
    }));
    played.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Err(format!(
            "panic: {}",
            text.unwrap_or_else(|| "without words".into())
        ))
    })
}

/// Plays cases on as many threads; `each` hears of every result, in no order.
pub fn play_all(
    cases: &[Case],
    threads: usize,
    each: impl FnMut(Case, Result<RunReport, String>) + Send,
) {
    let next = AtomicUsize::new(0);
    let each = Mutex::new(each);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(&case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = play(case, FaultInjection::default(), false);
                    let mut each = each
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    each(case, result);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_seed_is_read() {
        let lines = COMMITTED.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(committed_cases().len(), lines.count());
        assert!(committed_cases().contains(&Case::Seats(31_015_494, 12)));
    }
}
