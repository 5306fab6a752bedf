//! One crowd: from the start of the server to the count of what is in its data.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::crowd::Crowd;
use crate::machine::{Usage, read_load_average, read_usage};
use crate::page::PageEnd;
use crate::report::{Kept, LoadReport, Measured};
use crate::server::{Server, Verified, verify};
use crate::study::{TICK_HZ, measure_world, write_study};
use crate::tally::SeatTally;

/// How often it is looked how far the pages are.
const LOOKS: Duration = Duration::from_millis(100);

/// Seconds from the last arrival until everybody plays: reading, waiting, linking up, the countdown, and a busy machine.
const BEGINS_WITHIN_S: u32 = 30;

/// Seconds from the end of the last episode until everybody is on the last page.
const ENDS_WITHIN_S: u32 = 90;

/// Time for a page to be turned away.
const TURNED_AWAY_WITHIN: Duration = Duration::from_secs(20);

/// Time that the server has to become as quiet as it gets before anybody comes.
const SETTLES: Duration = Duration::from_secs(2);

/// The options of a crowd.
#[derive(Clone, Debug)]
pub(crate) struct LoadOptions {
    /// The program whose `serve` is the server.
    pub(crate) program: PathBuf,
    /// People; even.
    pub(crate) sessions: usize,
    /// People who arrive in a second.
    pub(crate) per_s: f64,
    /// Seconds to measure once everybody plays.
    pub(crate) window_s: u32,
    /// True if datagrams go from page to page.
    pub(crate) is_direct: bool,
    /// A new folder to keep everything in.
    pub(crate) keep: Option<PathBuf>,
}

impl LoadOptions {
    /// Seconds until the last person has arrived.
    fn arrivals_s(&self) -> u32 {
        (self.sessions as f64 / self.per_s).ceil() as u32
    }

    /// Ticks of an episode: the first one still runs when the measurement after the last one's start is done.
    fn horizon(&self) -> u32 {
        TICK_HZ * (self.arrivals_s() + BEGINS_WITHIN_S + self.window_s)
    }
}

/// Runs a crowd.
///
/// # Errors
/// The server does not start or stop, or its data cannot be read.
pub(crate) async fn run(options: &LoadOptions) -> anyhow::Result<LoadReport> {
    let scratch = tempfile::Builder::new().prefix("load-").tempdir()?;
    let folder = match &options.keep {
        Some(folder) => {
            std::fs::create_dir(folder)
                .with_context(|| format!("{} is to be a new folder", folder.display()))?;
            folder.clone()
        }
        None => scratch.path().to_owned(),
    };
    write_study(&folder.join("study"), options.horizon())?;
    let world_memory = measure_world(options.horizon())?;
    let mut server = Server::start(&options.program, &folder, options.sessions).await?;
    sleep(SETTLES).await;
    let before = read_usage(server.pid)?;
    let crowd = Crowd::new(server.address, options.is_direct);
    let pages = crowd.arrive(options.sessions, options.per_s);
    wait_until_all_play(options, &crowd, &mut server).await?;
    let measured = measure(options, &crowd, server.pid, before).await?;
    let turned_away = crowd.knock(options.sessions, TURNED_AWAY_WITHIN).await;
    wait_until_all_are_over(options, &crowd, &mut server, &pages).await?;
    let usage_at_end = read_usage(server.pid)?;
    server.stop().await?;
    say("verifying");
    let verified = verify(&options.program, folder.join("data")).await?;
    let tally = crowd.tally.borrow();
    Ok(LoadReport {
        sessions: options.sessions,
        over: tally.over,
        refused: tally.refused.clone(),
        lost_connections: tally.lost_connections,
        failures: tally.failures.clone(),
        is_full_told: turned_away == Some(PageEnd::Refused("Full".to_owned())),
        measured,
        world_memory,
        cpu_s: usage_at_end.cpu_s,
        kept: count_kept(&tally.seats, &verified, options.horizon()),
    })
}

/// Waits until everybody plays, or the time for that is up.
async fn wait_until_all_play(
    options: &LoadOptions,
    crowd: &Rc<Crowd>,
    server: &mut Server,
) -> anyhow::Result<()> {
    let patience_s = options.arrivals_s() + BEGINS_WITHIN_S;
    let until = Instant::now() + Duration::from_secs(patience_s.into());
    let mut line = Progress::new();
    while Instant::now() < until {
        anyhow::ensure!(server.is_running(), "the server ended by itself");
        let (welcomed, playing, ended) = {
            let tally = crowd.tally.borrow();
            let refused: usize = tally.refused.values().sum();
            (
                tally.welcomed,
                tally.playing,
                refused + tally.failures.len(),
            )
        };
        line.tell(|| {
            format!("{welcomed} are in, {playing} play, {ended} were turned away or failed")
        });
        if playing + ended >= options.sessions {
            break;
        }
        sleep(LOOKS).await;
    }
    Ok(())
}

/// Measures while everybody plays.
async fn measure(
    options: &LoadOptions,
    crowd: &Rc<Crowd>,
    pid: u32,
    idle: Usage,
) -> anyhow::Result<Measured> {
    let own_pid = std::process::id();
    let playing = crowd.tally.borrow().playing;
    say(&format!(
        "measuring {playing} who play, for {} s",
        options.window_s
    ));
    let meter = tokio::task::spawn_local(Rc::clone(crowd).measure_lag());
    let (server, own) = (read_usage(pid)?, read_usage(own_pid)?);
    let sums = crowd.tally.borrow().sums();
    crowd.tally.borrow_mut().set_measuring(true);
    let began = Instant::now();
    sleep(Duration::from_secs(options.window_s.into())).await;
    let took = began.elapsed();
    crowd.tally.borrow_mut().set_measuring(false);
    meter.abort();
    let (server_after, own_after) = (read_usage(pid)?, read_usage(own_pid)?);
    let mut tally = crowd.tally.borrow_mut();
    let sums_after = tally.sums();
    let mut lags = crowd.lags.take();
    lags.sort_unstable();
    Ok(Measured {
        playing,
        took,
        server_cpu_s: server_after.cpu_s - server.cpu_s,
        own_cpu_s: own_after.cpu_s - own.cpu_s,
        idle_memory: idle.memory,
        server_memory: server_after.memory,
        own_memory: own_after.memory,
        server_threads: server_after.threads,
        bytes_out: sums_after.bytes_out - sums.bytes_out,
        bytes_in: sums_after.bytes_in - sums.bytes_in,
        uploads: sums_after.uploads - sums.uploads,
        waits: tally.sorted_waits(),
        lags,
        load_average: read_load_average(),
    })
}

/// Waits until everybody is on the last page, or the time for that is up.
async fn wait_until_all_are_over(
    options: &LoadOptions,
    crowd: &Rc<Crowd>,
    server: &mut Server,
    pages: &[JoinHandle<()>],
) -> anyhow::Result<()> {
    let patience_s = options.horizon() / TICK_HZ + ENDS_WITHIN_S;
    let until = Instant::now() + Duration::from_secs(patience_s.into());
    let mut line = Progress::new();
    while Instant::now() < until && !pages.iter().all(JoinHandle::is_finished) {
        anyhow::ensure!(server.is_running(), "the server ended by itself");
        let over = crowd.tally.borrow().over;
        line.tell(|| format!("{over} of {} are on the last page", options.sessions));
        sleep(LOOKS).await;
    }
    pages.iter().for_each(JoinHandle::abort);
    Ok(())
}

/// Holds what was acknowledged against what is in the data.
fn count_kept(
    seats: &BTreeMap<(String, u8), SeatTally>,
    verified: &Verified,
    horizon: u32,
) -> Kept {
    let mut kept = Kept {
        episodes: verified.ticks.len(),
        does_verify: verified.is_fine,
        ..Kept::default()
    };
    for ((episode, _), seat) in seats {
        let ticks = verified.ticks.get(episode).copied().unwrap_or(0);
        // Inputs for ticks after the end are said, and enter none.
        let acknowledged = seat.acknowledged.0.min(horizon);
        let judged = seat.verdict.map_or(0, |verdict| verdict.ticks.0);
        kept.sent += u64::from(seat.sent.0.min(horizon));
        kept.acknowledged += u64::from(acknowledged);
        kept.archived += u64::from(ticks);
        kept.lost += u64::from(acknowledged.max(judged).saturating_sub(ticks));
        kept.cut_short += usize::from(ticks < horizon);
    }
    kept
}

/// Says what is being done.
fn say(text: &str) {
    eprintln!("    {text}");
}

/// A line now and then.
struct Progress {
    told: Instant,
}

impl Progress {
    /// Time between two lines.
    const EACH: Duration = Duration::from_secs(5);

    fn new() -> Self {
        Self {
            told: Instant::now(),
        }
    }

    fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.told.elapsed() >= Self::EACH {
            self.told = Instant::now();
            say(&what());
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::Tick;

    use super::*;

    fn seat(sent: u32, acknowledged: u32) -> SeatTally {
        SeatTally {
            sent: Tick(sent),
            acknowledged: Tick(acknowledged),
            verdict: None,
        }
    }

    #[test]
    fn what_was_acknowledged_and_is_not_in_the_data_is_lost() {
        let place = |episode: &str, seat| (episode.to_owned(), seat);
        let seats = BTreeMap::from([
            (place("whole", 0), seat(103, 102)),
            (place("whole", 1), seat(103, 100)),
            (place("short", 0), seat(100, 95)),
            (place("gone", 1), seat(40, 30)),
        ]);
        let verified = Verified {
            ticks: BTreeMap::from([("whole".to_owned(), 100), ("short".to_owned(), 90)]),
            is_fine: true,
        };
        let kept = count_kept(&seats, &verified, 100);
        assert_eq!(kept.sent, 100 + 100 + 100 + 40);
        assert_eq!(kept.acknowledged, 100 + 100 + 95 + 30);
        assert_eq!(kept.archived, 100 + 100 + 90);
        assert_eq!((kept.lost, kept.cut_short), (5 + 30, 2));
    }
}
