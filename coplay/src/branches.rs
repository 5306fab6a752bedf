//! `coplay branch`: an episode continued with another controller, many times, and the results in a table.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Context as _;
use catalog::agent::{self, ActionChoice};
use coplay::cli::BranchArgs;
use dataset::progress::LongWork;
use replay::{Branch, BranchLane, BranchRun, Timeline};
use serde::Serialize;
use signaling_server::replays::{open_log, stored_files};

use crate::{count, report};

/// Results of all runs.
#[derive(Debug, Serialize)]
struct BranchReport {
    episode: String,
    tick: u32,
    seat: u32,
    with: String,
    /// The recorded episode.
    recorded: Recorded,
    /// Score of the group at the end.
    score: Spread,
    /// Ticks of the whole episode.
    ticks: Spread,
    /// Sum of the rewards of the seat from the branch on.
    reward: Spread,
    /// The number of runs by their end.
    outcomes: BTreeMap<&'static str, usize>,
    /// The number of runs with different results.
    distinct: usize,
    runs: Vec<BranchRun>,
}

/// The recorded end of the episode.
#[derive(Debug, Serialize)]
struct Recorded {
    score: i64,
    ticks: u32,
}

/// The spread of a number over the runs: quantiles are the values at those shares of the sorted runs, interpolated.
#[derive(Debug, PartialEq, Serialize)]
struct Spread {
    mean: f64,
    least: f64,
    q25: f64,
    median: f64,
    q75: f64,
    most: f64,
}

impl Spread {
    fn new(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        let quantile = |share: f64| {
            let place = share * last as f64;
            let below = values[place as usize];
            let above = values[(place as usize + 1).min(last)];
            below + (above - below) * place.fract()
        };
        Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            least: values[0],
            q25: quantile(0.25),
            median: quantile(0.5),
            q75: quantile(0.75),
            most: values[last],
        }
    }
}

/// Runs `coplay branch`.
pub(crate) fn run(args: BranchArgs) -> anyhow::Result<ExitCode> {
    page_python::add_folder(args.data.clone());
    let log = open_log(&args.data, &args.episode)?;
    let stored = stored_files(&args.data);
    let mut timeline = Timeline::open(&log, &stored)?;
    let recorded = Recorded {
        score: timeline.seek_tick(log.through).score(),
        ticks: timeline.ticks(),
    };
    let (policy, model) = match args.with.ends_with(".onnx") {
        false => (args.with.clone(), None),
        true => {
            let choice = ActionChoice {
                every: args.every_ticks,
                temperature: args.temperature.map(|it| it as f32),
                is_masked: args.action_mask,
            };
            let spec = timeline.spec();
            let (name, bytes) = agent::compile_file(Path::new(&args.with), spec, choice)?;
            (name, Some(bytes))
        }
    };
    let place = [args.tick, args.seat];
    let branch = Branch::open(&log, stored.clone(), place, &policy, model.as_deref());
    let branch = branch.with_context(|| format!("episode {}", args.episode))?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let lanes = (0..threads.min(args.runs as usize)).map(|_| branch.make_lane(&log, &stored));
    let runs = play(lanes.collect::<Result<_, _>>()?, args.runs);
    let found = summarise(&args, policy, recorded, runs);
    report(&found, args.json)?;
    Ok(ExitCode::SUCCESS)
}

/// Plays all runs, in as many threads as there are worlds; the results are in the order of the runs.
fn play(lanes: Vec<BranchLane<'_>>, runs: u32) -> Vec<BranchRun> {
    let (next, progress) = (
        AtomicU32::new(0),
        Mutex::new(LongWork::begin(runs as usize)),
    );
    let (next, progress) = (&next, &progress);
    let work = |mut lane: BranchLane<'_>| {
        let mut found = Vec::new();
        loop {
            let run = next.fetch_add(1, Ordering::Relaxed);
            if run >= runs {
                return found;
            }
            found.push((run, lane.play(run)));
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.finish_part("runs");
        }
    };
    let mut found: Vec<(u32, BranchRun)> = thread::scope(|scope| {
        let threads: Vec<_> = (lanes.into_iter())
            .map(|lane| scope.spawn(move || work(lane)))
            .collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.flatten().collect()
    });
    found.sort_unstable_by_key(|(run, _)| *run);
    found.into_iter().map(|(_, run)| run).collect()
}

fn summarise(
    args: &BranchArgs,
    with: String,
    recorded: Recorded,
    runs: Vec<BranchRun>,
) -> BranchReport {
    let mut outcomes = BTreeMap::new();
    for run in &runs {
        *outcomes.entry(run.outcome).or_default() += 1;
    }
    let results = runs.iter();
    let mut results: Vec<_> = results
        .map(|run| (run.score, run.ticks, run.reward.to_bits(), run.outcome))
        .collect();
    results.sort_unstable();
    results.dedup();
    BranchReport {
        episode: args.episode.clone(),
        tick: args.tick,
        seat: args.seat,
        with,
        recorded,
        score: Spread::new(runs.iter().map(|run| run.score as f64)),
        ticks: Spread::new(runs.iter().map(|run| f64::from(run.ticks))),
        reward: Spread::new(runs.iter().map(|run| run.reward)),
        outcomes,
        distinct: results.len(),
        runs,
    }
}

impl fmt::Display for BranchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Episode {}, continued after tick {} with {} in seat {}: {}\n",
            self.episode,
            self.tick,
            self.with,
            self.seat,
            count(self.runs.len(), "run")
        )?;
        let titles = ["mean", "least", "25 %", "median", "75 %", "most"];
        write!(f, "{:8}", "")?;
        titles
            .iter()
            .try_for_each(|title| write!(f, "{title:>10}"))?;
        writeln!(f, "{:>10}", "recorded")?;
        let Recorded { score, ticks } = &self.recorded;
        let rows = [
            ("score", &self.score, score.to_string()),
            ("ticks", &self.ticks, ticks.to_string()),
            ("reward", &self.reward, String::new()),
        ];
        for (name, spread, recorded) in rows {
            let Spread {
                mean,
                least,
                q25,
                median,
                q75,
                most,
            } = spread;
            write!(f, "{name:8}")?;
            for value in [mean, least, q25, median, q75, most] {
                write!(f, "{value:>10.2}")?;
            }
            writeln!(f, "{recorded:>10}")?;
        }
        writeln!(f)?;
        for (outcome, count) in &self.outcomes {
            writeln!(f, "{outcome}: {count}")?;
        }
        if self.runs.len() > 1 && self.distinct == 1 {
            writeln!(f, "\nAll runs are equal: nothing depends on the seed.")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated_between_sorted_values() {
        let spread = Spread::new([4.0, 1.0, 3.0, 2.0].into_iter());
        let expected = Spread {
            mean: 2.5,
            least: 1.0,
            q25: 1.75,
            median: 2.5,
            q75: 3.25,
            most: 4.0,
        };
        assert_eq!(spread, expected);
        assert_eq!(Spread::new([7.0].into_iter()).q75, 7.0);
    }
}
