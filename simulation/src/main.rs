//! `dst`: deterministic simulation from the command line; `cargo xtask dst` builds and starts it.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "tells how long the runs took; nothing simulated sees it"
)]

use std::process::ExitCode;
use std::time::Instant;

use lexopt::prelude::*;
use simulation::oracle::Figures;
use simulation::run::Mischief;
use simulation::seeds::{self, Case, Death};

const HELP: &str = "\
cargo xtask dst [--seeds N] [--from K] [--kills N] [--seed K] [--kill S:N:WHO] [--leased K] [--slow K] [--trace] [--json]

Plays whole studies of real pages and the real server core on a virtual clock and a
simulated network: delay, loss, bursts, reordering, doubles, partitions, wrong clocks,
frozen and hidden tabs, reloads, second tabs, crashes, restarts of the server. Seeds
that failed once (simulation/seeds.txt) are always played first. A failing seed is
printed with the command that plays it alone. Exits non-zero if one fails.

--seeds N        how many seeds (default 500)
--from K         the first of them (default 0)
--kills N        calm runs in which somebody dies after each message, one run for each
                 message and victim (default 2; 0 for none)
--seed K         this seed alone
--kill S:N:WHO   the calm run S alone, in which WHO (first, second, for-good, server)
                 dies after message N
--leased K       the run alone in which a seat is given back while the other person's
                 page is cut off from the server
--slow K         the run alone in which one machine is 10 to 30 % too slow
--trace          every message and event of a single run
--threads N      (default: all cores)
--json           one object instead of sentences";

#[derive(Default)]
struct Options {
    seeds: u64,
    from: u64,
    kills: u64,
    alone: Option<Case>,
    trace: bool,
    threads: usize,
    json: bool,
}

fn options() -> Result<Option<Options>, lexopt::Error> {
    let mut options = Options {
        seeds: 500,
        kills: 2,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        ..Options::default()
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("seeds") => options.seeds = parser.value()?.parse()?,
            Long("from") => options.from = parser.value()?.parse()?,
            Long("kills") => options.kills = parser.value()?.parse()?,
            Long("seed") => options.alone = Some(Case::Seed(parser.value()?.parse()?)),
            Long("leased") => options.alone = Some(Case::Leased(parser.value()?.parse()?)),
            Long("slow") => options.alone = Some(Case::Slow(parser.value()?.parse()?)),
            Long("kill") => {
                let text = parser.value()?.string()?;
                let case = Case::kill(&text);
                options.alone = Some(case.ok_or(format!("--kill {text} is not SEED:NUMBER:WHO"))?);
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

/// What all runs came to.
#[derive(Default)]
struct Sum {
    played: usize,
    figures: Figures,
    delivered: u64,
    virtual_us: u64,
    failed: Vec<(Case, String)>,
}

impl Sum {
    fn add(&mut self, case: Case, result: Result<simulation::run::Report, String>) {
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
    if let Some(case) = options.alone {
        return Ok(vec![case]);
    }
    let mut cases: Vec<Case> = seeds::committed().into_iter().map(Case::Seed).collect();
    for seed in 0..options.kills {
        let messages =
            seeds::boundaries(seed).map_err(|seen| format!("calm run {seed}: {seen}"))?;
        for number in 1..=messages {
            cases.extend(
                Death::ALL
                    .iter()
                    .map(|(_, death)| Case::Kill(seed, number, *death)),
            );
        }
    }
    cases.extend((0..options.kills).map(Case::Leased));
    cases.extend((0..10 * options.kills).map(Case::Slow));
    cases.extend((options.from..options.from + options.seeds).map(Case::Seed));
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
        "frames": figures.frames,
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
         {technical} technical), {} ticks, {} changes of seats, {} frames rebuilt\n{} played, {} failed",
        sum.played,
        sum.virtual_us as f64 / 3.6e9,
        sum.delivered,
        figures.episodes,
        figures.ticks,
        figures.changes,
        figures.frames,
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
        sum.add(case, seeds::play(case, Mischief::default(), options.trace));
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
