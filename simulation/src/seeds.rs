//! Many runs, on all cores, each guarded: a panic is a failure like any other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::run::{Mischief, Report, Run};
use crate::scenario::{Scenario, Victim};
use crate::trace::Trace;

/// Seeds that failed once, a line each with what they showed: they are run before all others.
const COMMITTED: &str = include_str!("../seeds.txt");

/// What is to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// The run of a seed.
    Seed(u64),
    /// The run of a seed in which a seat is given back while the other person's page is cut off from the server.
    Leased(u64),
    /// The run of a seed in which one machine is too slow.
    Slow(u64),
    /// The calm run of a seed in which somebody dies after the message of this number.
    Kill(u64, u64, Death),
}

/// Who dies, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Death {
    /// The first person's page, which is opened again.
    First,
    /// The second person's page, which is opened again.
    Second,
    /// The second person's page, for good.
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
    pub fn scenario(self) -> Scenario {
        match self {
            Self::Seed(seed) => Scenario::new(seed),
            Self::Leased(seed) => Scenario::leased(seed),
            Self::Slow(seed) => Scenario::slow(seed),
            Self::Kill(seed, number, death) => Scenario::calm(seed, Some((number, death.victim()))),
        }
    }

    /// The command that runs it alone.
    pub fn command(self) -> String {
        match self {
            Self::Seed(seed) => format!("cargo xtask dst --seed {seed} --trace"),
            Self::Leased(seed) => format!("cargo xtask dst --leased {seed} --trace"),
            Self::Slow(seed) => format!("cargo xtask dst --slow {seed} --trace"),
            Self::Kill(seed, number, death) => {
                let name = Death::ALL[death as usize].0;
                format!("cargo xtask dst --kill {seed}:{number}:{name} --trace")
            }
        }
    }

    /// The case of `seed:number:name`.
    pub fn kill(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let (seed, number) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let name = parts.next().filter(|_| parts.next().is_none())?;
        let death = Death::ALL.iter().find(|(known, _)| *known == name)?.1;
        Some(Self::Kill(seed, number, death))
    }
}

/// The committed seeds.
pub fn committed() -> Vec<u64> {
    let lines = COMMITTED
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.filter_map(|line| line.parse().ok()).collect()
}

/// Plays a case.
///
/// # Errors
/// What an oracle saw, or where the program panicked.
pub fn play(case: Case, mischief: Mischief, trace: bool) -> Result<Report, String> {
    let played = catch_unwind(AssertUnwindSafe(|| {
        Run::new(case.scenario(), mischief, Trace::new(trace)).run()
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
    each: impl FnMut(Case, Result<Report, String>) + Send,
) {
    let next = AtomicUsize::new(0);
    let each = Mutex::new(each);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(&case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = play(case, Mischief::default(), false);
                    let mut each = each
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    each(case, result);
                }
            });
        }
    });
}

/// How many messages and datagrams the calm run of a seed delivers: one death is tried after each.
///
/// # Errors
/// The calm run itself fails.
pub fn boundaries(seed: u64) -> Result<u64, String> {
    let scenario = Scenario::calm(seed, None);
    let report = Run::new(scenario, Mischief::default(), Trace::new(false)).run()?;
    Ok(report.delivered)
}
