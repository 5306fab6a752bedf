//! `dst`: deterministic simulation from the command line; `cargo xtask dst` builds and starts it.

#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "tells how long the runs took; nothing simulated sees it"
)]

use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use lexopt::prelude::*;
use simulation::fault_injection::FaultInjection;
use simulation::oracle::Figures;
use simulation::seeds::{self, Case, Ground};

const HELP: &str = "\
cargo xtask dst [--seeds N] [--from K] [--seats N] [--kills N] [--all-kills] [--json]
                [--seed K] [--kill [crowd:]S:N:WHO] [--leased K] [--slow K] [--lying K[..N]]
                [--shared K[..N]] [--trace]

Plays whole studies of real pages and the real server core on a virtual clock and a
simulated network: delay, loss, bursts, reordering, doubles, partitions, wrong clocks,
frozen and hidden tabs, reloads, second tabs, crashes, restarts of the server. Seeds
that failed once (simulation/seeds.txt) are always played first. A failing seed is
printed with the command that plays it alone. Exits non-zero if one fails.

--seeds N        how many seeds (default 500)
--from K         the first of them (default 0)
--seats N        all of them with N seats, 2 to 16; otherwise each draws 2 to 8, and one
                 in a hundred is played with 9 to 16 besides; one in eight is played once
                 more with seats that people share with AI partners
--kills N        calm runs of two in which somebody dies after each message, one run for
                 each message and victim, and as many of three to eight people on bad
                 networks with a hundred deaths each (default 2; 0 for none)
--all-kills      every death in the latter, too
--seed K         this seed alone
--kill S:N:WHO   the calm run S alone, in which WHO (first, second, for-good, server)
                 dies after message N; crowd:S:N:WHO on bad networks
--leased K       the run alone in which a seat is given back while the other person's
                 page is cut off from the server
--lying K        the run alone in which one page is dishonest; K..N: such runs from K up
                 to N alone
--shared K       the run alone in which people give their seats to AI partners, take them
                 back, correct them or choose among proposals; K..N: such runs from K up to
                 N alone
--slow K         the run alone in which one machine is 10 to 30 % too slow
--trace          every message and event of a single run
--threads N      (default: all cores)
--json           one object instead of sentences";

/// Makes the run of a seed.
type CaseOfSeed = fn(u64) -> Case;

#[derive(Default)]
struct Options {
    seeds: u64,
    from: u64,
    seats: Option<u8>,
    kills: u64,
    /// The most deaths that are tried in a crowd.
    crowd_kills: u64,
    alone: Option<Case>,
    /// These runs of one kind alone.
    range: Option<(CaseOfSeed, Range<u64>)>,
    trace: bool,
    threads: usize,
    json: bool,
}

fn options() -> Result<Option<Options>, lexopt::Error> {
    let mut options = Options {
        seeds: 500,
        kills: 2,
        crowd_kills: 100,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        ..Options::default()
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("seeds") => options.seeds = parser.value()?.parse()?,
            Long("from") => options.from = parser.value()?.parse()?,
            Long("seats") => {
                let seats: u8 = parser.value()?.parse()?;
                if !(2..=protocol::MAX_SEATS as u8).contains(&seats) {
                    return Err(format!("--seats {seats} is not between 2 and 16").into());
                }
                options.seats = Some(seats);
            }
            Long("all-kills") => options.crowd_kills = u64::MAX,
            Long("kills") => options.kills = parser.value()?.parse()?,
            Long("seed") => options.alone = Some(Case::Seed(parser.value()?.parse()?)),
            Long("leased") => options.alone = Some(Case::Leased(parser.value()?.parse()?)),
            Long("lying") => options.range = Some((Case::Lying, range("lying", &mut parser)?)),
            Long("shared") => options.range = Some((Case::Shared, range("shared", &mut parser)?)),
            Long("slow") => options.alone = Some(Case::Slow(parser.value()?.parse()?)),
            Long("kill") => {
                let text = parser.value()?.string()?;
                let case = Case::kill(&text);
                options.alone = Some(case.ok_or(format!(
                    "--kill {text} is not SEED:NUMBER:WHO or crowd:SEED:NUMBER:WHO"
                ))?);
            }
            Long("trace") => options.trace = true,
            Long("threads") => options.threads = parser.value()?.parse()?,
            Long("json") => options.json = true,
            Long("help") | Short('h') => return Ok(None),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Some(options))
}

/// The seeds `K` or `K..N` of an option.
fn range(option: &str, parser: &mut lexopt::Parser) -> Result<Range<u64>, lexopt::Error> {
    let text = parser.value()?.string()?;
    let range = match text.split_once("..") {
        Some((from, to)) => from.parse().ok().zip(to.parse().ok()),
        None => text.parse().ok().map(|seed: u64| (seed, seed + 1)),
    };
    let (from, to) = range.ok_or(format!("--{option} {text} is not K or K..N"))?;
    Ok(from..to)
}

/// The results of all runs.
#[derive(Default)]
struct Sum {
    played: usize,
    figures: Figures,
    delivered: u64,
    virtual_us: u64,
    failed: Vec<(Case, String)>,
}

impl Sum {
    fn add(&mut self, case: Case, result: Result<simulation::run::RunReport, String>) {
        self.played += 1;
        match result {
            Ok(report) => {
                self.figures += report.figures;
                self.delivered += report.delivered;
                self.virtual_us += report.took_us;
            }
            Err(seen) => {
                eprintln!("{case:?} failed: {seen}\n  {}", case.command());
                self.failed.push((case, seen));
            }
        }
    }
}

fn cases(options: &Options) -> Result<Vec<Case>, String> {
    let seed = |seed| match options.seats {
        Some(seats) => Case::Seats(seed, seats),
        None => Case::Seed(seed),
    };
    if let Some((case, range)) = options.range.clone() {
        return Ok(range.map(case).collect());
    }
    match options.alone {
        Some(Case::Seed(alone)) => return Ok(vec![seed(alone)]),
        Some(case) => return Ok(vec![case]),
        None => {}
    }
    let mut cases: Vec<Case> = seeds::committed_cases();
    for seed in 0..options.kills {
        for (ground, most) in [
            (Ground::Calm, u64::MAX),
            (Ground::Crowd, options.crowd_kills),
        ] {
            let kills = ground.kill_cases(seed, most);
            cases.extend(kills.map_err(|seen| format!("{ground:?} run {seed}: {seen}"))?);
        }
    }
    cases.extend((0..options.kills).map(Case::Leased));
    cases.extend((0..10 * options.kills).map(Case::Slow));
    cases.extend((0..20 * options.kills).map(Case::Lying));
    cases.extend((0..10 * options.kills).map(Case::Shared));
    let all = options.from..options.from + options.seeds;
    cases.extend(all.clone().map(seed));
    if options.seats.is_none() {
        cases.extend(all.clone().filter_map(Case::full_cases));
        cases.extend(all.filter_map(Case::share));
    }
    Ok(cases)
}

fn json(sum: &Sum, seconds: f64) -> String {
    let failed = sum
        .failed
        .iter()
        .map(|(case, seen)| serde_json::json!({ "command": case.command(), "seen": seen }));
    let figures = &sum.figures;
    let summary = serde_json::json!({
        "runs": sum.played,
        "failed": failed.collect::<Vec<_>>(),
        "seconds": seconds,
        "virtual_hours": sum.virtual_us as f64 / 3.6e9,
        "messages": sum.delivered,
        "episodes": figures.episodes,
        "ticks": figures.ticks,
        "changes": figures.changes,
        "handed_over_ticks": figures.handed_over,
        "frames": figures.frames,
        "seen_bytes_per_s_max": figures.seen_per_s,
        "stalled_ms_max": figures.stalled_us / 1_000,
        "late_ms_max": figures.late_us / 1_000,
        "played": figures.reasons[0],
        "partner_left": figures.reasons[1],
        "technical": figures.reasons[2],
    });
    summary.to_string()
}

fn sentences(sum: &Sum, seconds: f64) -> String {
    let figures = &sum.figures;
    let [played, left, technical] = figures.reasons;
    format!(
        "{} runs in {seconds:.1} s: {:.1} hours of play, {} messages; {} episodes ({played} played, {left} left, \
         {technical} technical), {} ticks, {} changes of seats, \
         {} ticks of shared seats that AI partners played, {} frames rebuilt\n\
         at most: {} bytes of seen-log a second, {} ms without a confirmed tick and {} ms to the end once all is well\n\
         {} played, {} failed",
        sum.played,
        sum.virtual_us as f64 / 3.6e9,
        sum.delivered,
        figures.episodes,
        figures.ticks,
        figures.changes,
        figures.handed_over,
        figures.frames,
        figures.seen_per_s,
        figures.stalled_us / 1_000,
        figures.late_us / 1_000,
        sum.played,
        sum.failed.len(),
    )
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let Some(options) = options()? else {
        println!("{HELP}");
        return Ok(true);
    };
    let began = Instant::now();
    let cases = cases(&options)?;
    let mut sum = Sum::default();
    if let [case] = cases[..] {
        sum.add(
            case,
            seeds::play(case, FaultInjection::default(), options.trace),
        );
    } else {
        let (all, json) = (cases.len(), options.json);
        seeds::play_all(&cases, options.threads, |case, result| {
            sum.add(case, result);
            if sum.played.is_multiple_of(500) && !json {
                println!("{} of {all}, {} failed", sum.played, sum.failed.len());
            }
        });
    }
    let seconds = began.elapsed().as_secs_f64();
    let text = if options.json {
        json(&sum, seconds)
    } else {
        sentences(&sum, seconds)
    };
    println!("{text}");
    Ok(sum.failed.is_empty())
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
