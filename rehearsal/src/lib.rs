//! `coplay rehearse`: bots take part in a study through the real server and its protocol, before people do.
//!
//! The server is the program itself, in a process of its own with its own database and archive. Its clock and the
//! bots' run faster than real time, as fast as the machine keeps up with: when it lags behind, time slows down, so that
//! a busy machine is not mistaken for a bad network. Everything else is as in a study.

mod answers;
mod bot;
mod browser;
mod door;
mod fault;
mod hands;
mod host;
mod judge;
mod line;
mod messages;
mod pacer;
mod quiz;
mod quota;
mod record;
mod report;
mod tables;
mod trace;
mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use study::assign::Rng;
use study::{Assignment, EnvFactsByStage, StageKind, Study};
use tokio::sync::watch;
use tokio::task::LocalSet;

use bot::{Around, Ticket};
use browser::Chromium;
use catalog::StartError;
use catalog::models;
use catalog::read_study;
use clock::{Clock, Pace};
use door::Door;
use host::{Host, Place};
use line::Line;
use pacer::{Pacer, Who};
use record::{Phase, Shared};
use store::SqliteStore;

pub use fault::{Fault, Faults};
pub use report::RehearsalReport;

/// How a rehearsal is run.
#[derive(Clone, Debug)]
pub struct RehearsalOptions {
    /// The program whose `serve` is the server.
    pub program: PathBuf,
    /// Study folder.
    pub study: PathBuf,
    /// A new data folder that is kept; `None` for one that is removed at the end.
    pub data: Option<PathBuf>,
    /// Number of sessions.
    pub sessions: usize,
    /// Faults that may happen.
    pub faults: Faults,
    /// How often the server is killed, if that fault is chosen.
    pub kills: usize,
    /// People who arrive in a minute, on average.
    pub arrivals_per_min: f64,
    /// Seed of every random number.
    pub seed: u64,
    /// The highest speed of time, as a multiple of real time.
    pub speed: f64,
    /// Number of sessions, the first ones, that are real pages in a Chromium.
    pub browsers: usize,
    /// The Chromium; `None` for the one in the path.
    pub chromium: Option<PathBuf>,
    /// True if the program has the pages that a browser shows.
    pub has_pages: bool,
}

/// A second, microseconds.
const S: u64 = 1_000_000;

/// How often the rehearsal checks its progress.
const LOOKS: Duration = Duration::from_millis(50);

/// Stream of random numbers for the rehearsal itself.
const OF_REHEARSAL: u64 = 1;

/// Stream of random numbers for each session.
const OF_SESSION: u64 = 2;

/// Rehearses a study.
///
/// # Errors
/// [`StartError::Study`] with the problems of the study, or the reason why it cannot be rehearsed here. Problems of the
/// rehearsal itself are in the [`RehearsalReport`].
pub async fn rehearse(options: &RehearsalOptions) -> Result<RehearsalReport, StartError> {
    let (study, facts) = read_study(&options.study).map_err(StartError::Study)?;
    Ok(rehearsed(options, study, &facts).await?)
}

async fn rehearsed(
    options: &RehearsalOptions,
    study: Study,
    facts: &EnvFactsByStage,
) -> anyhow::Result<RehearsalReport> {
    can_be_rehearsed(&study)?;
    let scratch = tempfile::tempdir().context("a temporary folder")?;
    let data = match &options.data {
        Some(data) => data.clone(),
        None => scratch.path().join("data"),
    };
    anyhow::ensure!(
        !data.join(store::FILE).exists(),
        "{} holds data already; a rehearsal wants a folder of its own",
        data.display()
    );
    let place = Place {
        program: options.program.clone(),
        study: options.study.clone(),
        data: data.clone(),
        log: scratch.path().join("server.log"),
        links: if Door::is_by_links(&study) {
            options.sessions
        } else {
            0
        },
    };
    let chromium = match options.browsers {
        0 => None,
        _ => {
            anyhow::ensure!(
                options.has_pages,
                "this program was built without its pages, so no browser can show them; build it with `cargo xtask build`"
            );
            Some(Chromium::start(options.chromium.as_deref(), scratch.path()).await?)
        }
    };
    let mut stage = Rehearsal::open(options, Arc::new(study), facts, place, chromium).await?;
    let began = Instant::now();
    stage.run().await?;
    if let Some(chromium) = stage.chromium.take() {
        chromium.stop().await;
    }
    stage.settle().await?;
    let took = began.elapsed();
    stage.cpu_s += stage.host.cpu_s().unwrap_or(0.0);
    let out = scratch.path().join("tables");
    let report = judge::judge(stage.over(took).await?, &data, &out).await?;
    Ok(report)
}

/// # Errors
/// The reason why not.
fn can_be_rehearsed(study: &Study) -> anyhow::Result<()> {
    let many = |kind: &StageKind| matches!(kind, StageKind::Env(env) if env.people() > 1);
    let together = study.timeline.iter().any(|stage| many(&stage.kind));
    anyhow::ensure!(
        study.net.fallback || !together,
        "the study has `net: {{fallback: none}}`, and bots have no WebRTC: they play through the server's WebSockets. \
         Rehearse a copy with `fallback: websocket`"
    );
    Ok(())
}

/// The findings of a rehearsal before the data are read.
pub(crate) struct Played {
    options: RehearsalOptions,
    study: Arc<Study>,
    /// The key of each session in the data, and its record here.
    sessions: Vec<(String, Shared)>,
    /// The assignments of participants, each time that the server had been killed.
    snapshots: Vec<BTreeMap<String, Assignment>>,
    /// Time of the study that passed, and time of the machine.
    lasted_us: u64,
    took: Duration,
    cpu_s: f64,
    round_trips: Vec<u64>,
    kills: usize,
    /// Product name of the browser, if there was one.
    chromium: Option<String>,
    log: String,
}

/// A running rehearsal.
struct Rehearsal {
    options: RehearsalOptions,
    study: Arc<Study>,
    place: Place,
    host: Host,
    pacer: Pacer,
    clock: Clock,
    address: watch::Sender<Option<String>>,
    sessions: Vec<(String, Shared)>,
    round_trips: Arc<Mutex<Vec<u64>>>,
    began_us: u64,
    /// When the server is killed, the last time first, microseconds.
    kills: Vec<u64>,
    killed: usize,
    snapshots: Vec<BTreeMap<String, Assignment>>,
    cpu_s: f64,
    chromium: Option<Chromium>,
    product: Option<String>,
    line: Line,
}

impl Rehearsal {
    async fn open(
        options: &RehearsalOptions,
        study: Arc<Study>,
        facts: &EnvFactsByStage,
        place: Place,
        chromium: Option<Chromium>,
    ) -> anyhow::Result<Self> {
        let hz = facts.values().map(|facts| facts.tick_hz).max().unwrap_or(0);
        let pace = Pace::REAL;
        let host = Host::start(&place, 0, &pace).await?;
        anyhow::ensure!(
            host.links.len() >= place.links,
            "the server gave {} links for {} sessions",
            host.links.len(),
            options.sessions
        );
        let (set, clock) = Clock::paced(pace);
        let round_trips = Arc::new(Mutex::new(Vec::new()));
        let pacer = Pacer::new(
            set,
            clock.clone(),
            options.speed,
            hz,
            Arc::clone(&round_trips),
        );
        let mut rng = Rng::of(options.seed, &[OF_REHEARSAL]);
        let began_us = clock.now_us() + S;
        let tickets = tickets(options, &study, &host.links, began_us, &mut rng);
        let last_us = tickets.last().map_or(began_us, |ticket| ticket.arrives_us);
        let span_s = (last_us - began_us) / S + 90;
        let kills = options.faults.has(Fault::Server).then_some(options.kills);
        let mut kills: Vec<u64> = (0..kills.unwrap_or(0))
            .map(|_| began_us + rng.below((span_s * S) as usize) as u64)
            .collect();
        kills.sort_unstable_by(|one, other| other.cmp(one));
        let (address, _) = watch::channel(Some(host.address.clone()));
        let sessions = tickets.iter();
        let sessions = sessions.map(|ticket| (ticket.door.key(), ticket.record.clone()));
        let rehearsal = Self {
            options: options.clone(),
            sessions: sessions.collect(),
            study,
            place,
            host,
            pacer,
            clock,
            address,
            round_trips,
            began_us,
            kills,
            killed: 0,
            snapshots: Vec::new(),
            cpu_s: 0.0,
            product: chromium.as_ref().map(|chromium| chromium.product.clone()),
            chromium,
            line: Line::new(),
        };
        let (real, tickets) = tickets
            .into_iter()
            .partition(|ticket| ticket.record.lock().is_real);
        rehearsal.send_browsers(real);
        rehearsal.send_bots(tickets)?;
        Ok(rehearsal)
    }

    /// Starts the people at real pages.
    fn send_browsers(&self, tickets: Vec<Ticket>) {
        let around = Arc::new(self.around());
        for (ticket, chromium) in tickets.into_iter().zip(std::iter::repeat(&self.chromium)) {
            if let Some(chromium) = chromium {
                let person = browser::take_part(Arc::clone(&around), chromium.tools(), ticket);
                tokio::spawn(person);
            }
        }
    }

    /// The state that all participants share.
    fn around(&self) -> Around {
        Around {
            partners: models::partners(&self.study),
            study: Arc::clone(&self.study),
            clock: self.clock.clone(),
            address: self.address.subscribe(),
            round_trips: Arc::clone(&self.round_trips),
        }
    }

    /// Starts the bots, on a few threads: a peer stays on the thread that it began on.
    fn send_bots(&self, tickets: Vec<Ticket>) -> anyhow::Result<()> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.div_ceil(2).min(tickets.len());
        let mut shares: Vec<Vec<Ticket>> = vec![Vec::new(); threads];
        for (at, ticket) in tickets.into_iter().enumerate() {
            shares[at % threads].push(ticket);
        }
        for (number, share) in shares.into_iter().enumerate() {
            let (around, lag) = (self.around(), self.pacer.meter());
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            let work = move || {
                let around = Rc::new(around);
                let local = LocalSet::new();
                local.spawn_local(lag.measure());
                let bots = share.into_iter().map(|ticket| {
                    let around = Rc::clone(&around);
                    local.spawn_local(bot::take_part(around, ticket))
                });
                let bots: Vec<_> = bots.collect();
                local.block_on(&runtime, async {
                    for bot in bots {
                        // A bot that panics shows up as a session that gets stuck.
                        let _ = bot.await;
                    }
                });
            };
            std::thread::Builder::new()
                .name(format!("bots-{number}"))
                .spawn(work)?;
        }
        Ok(())
    }

    /// Runs until every bot is done.
    async fn run(&mut self) -> anyhow::Result<()> {
        loop {
            let phases = self.phases();
            if phases.iter().all(Phase::is_over) {
                return Ok(());
            }
            let who = self.who(&phases);
            self.pacer.look(&mut self.host, who).await;
            self.tell(&phases);
            if let Some(why) = self.host.ended() {
                anyhow::bail!(
                    "the server ended by itself: {why}; it says:\n{}",
                    host::tail(&self.place.log)
                );
            }
            if self
                .kills
                .last()
                .is_some_and(|at_us| *at_us <= self.clock.now_us())
            {
                self.kills.pop();
                self.kill().await?;
            }
            tokio::time::sleep(LOOKS).await;
        }
    }

    fn who(&self, phases: &[Phase]) -> Who {
        let is_here = |phase: &Phase| !phase.is_over() && *phase != Phase::Coming;
        let is_real =
            |(of, phase): (&(String, Shared), &Phase)| is_here(phase) && of.1.lock().is_real;
        if self.sessions.iter().zip(phases).any(is_real) {
            Who::Browsers
        } else if phases.iter().any(Phase::is_playing) {
            Who::Playing
        } else if phases.iter().any(is_here) {
            Who::Waiting
        } else {
            Who::Nobody
        }
    }

    /// Kills the server, reads the assignments that are left, and starts it again.
    async fn kill(&mut self) -> anyhow::Result<()> {
        self.pacer.slow(&mut self.host).await;
        self.cpu_s += self.host.cpu_s().unwrap_or(0.0);
        let port = self.host.port();
        self.address.send_replace(None);
        // The old process ends before the new one starts.
        let (pace, place) = (self.pacer.pace(), self.place.clone());
        self.host.kill().await?;
        self.killed += 1;
        self.snapshots.push(assignments(&place.data).await?);
        self.host = Host::start(&place, port, &pace).await?;
        self.address.send_replace(Some(self.host.address.clone()));
        Ok(())
    }

    /// Waits until the server has ended by its own rules whatever nobody returns to: every episode, and every session
    /// if the study lets sessions expire.
    async fn settle(&mut self) -> anyhow::Result<()> {
        let expires_h = self.study.keeping.expires_h;
        let waits_s = u64::from(expires_h.unwrap_or(0)) * 3_600 + 1_800;
        let until_us = self.clock.now_us() + waits_s * S;
        while self.clock.now_us() < until_us {
            let store = SqliteStore::read(&self.place.data).await?;
            let running = store.running_episodes().await?.len();
            let sessions = store.sessions().await?;
            store.close().await;
            let open = sessions
                .iter()
                .filter(|session| session.outcome.is_none())
                .count();
            if running == 0 && (open == 0 || expires_h.is_none()) {
                break;
            }
            self.pacer.leap(&mut self.host).await;
            self.line.tell(|| {
                format!("waiting for {open} sessions to expire, {running} episodes to end")
            });
            tokio::time::sleep(LOOKS).await;
        }
        Ok(())
    }

    async fn over(self, took: Duration) -> anyhow::Result<Played> {
        let lasted_us = self.clock.now_us().saturating_sub(self.began_us);
        let log = host::tail(&self.place.log);
        self.host.stop().await?;
        let round_trips = self.pacer.round_trips();
        Ok(Played {
            options: self.options,
            study: self.study,
            sessions: self.sessions,
            snapshots: self.snapshots,
            lasted_us,
            took,
            cpu_s: self.cpu_s,
            round_trips,
            kills: self.killed,
            chromium: self.product,
            log,
        })
    }

    fn phases(&self) -> Vec<Phase> {
        let phase = |(_, record): &(String, Shared)| record.lock().phase.clone();
        self.sessions.iter().map(phase).collect()
    }

    fn tell(&mut self, phases: &[Phase]) {
        let count = |is: &dyn Fn(&Phase) -> bool| phases.iter().filter(|phase| is(phase)).count();
        let (over, stuck) = (
            count(&|p| p.is_over()),
            count(&|p| matches!(p, Phase::Stuck(_))),
        );
        let (play, coming) = (count(&|p| p.is_playing()), count(&|p| *p == Phase::Coming));
        let (all, here) = (phases.len(), phases.len() - over - coming);
        let s = self.clock.now_us().saturating_sub(self.began_us) / S;
        let (min, s, speed) = (s / 60, s % 60, self.pacer.speed());
        let stuck = match stuck {
            0 => String::new(),
            stuck => format!(", {stuck} STUCK"),
        };
        self.line.tell(|| {
            format!(
                "{min:02}:{s:02} of study time, ×{speed:.1}: {over} of {all} done, {here} here, {play} of them \
                 playing, {coming} to come{stuck}"
            )
        });
    }
}

/// The arrival of each person, and the fault of each.
fn tickets(
    options: &RehearsalOptions,
    study: &Study,
    links: &[String],
    began_us: u64,
    rng: &mut Rng,
) -> Vec<Ticket> {
    let scripts = options.faults.scripts(study, options.sessions, rng);
    let mean_us = 60e6 / options.arrivals_per_min;
    let mut at_us = began_us;
    let ticket = |(number, fault): (usize, Option<Fault>)| {
        // Source: arrivals of a Poisson process have exponential gaps.
        let even = (rng.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        at_us += (-(1.0 - even).ln() * mean_us) as u64;
        let is_real = number < options.browsers;
        let fault = fault.filter(|fault| !is_real || browser::can_have(*fault));
        Some(Ticket {
            rng: Rng::of(options.seed, &[OF_SESSION, number as u64]),
            door: Door::of(study, number, links.get(number))?,
            arrives_us: at_us,
            fault,
            record: Shared::new(number, is_real, fault),
        })
    };
    scripts.into_iter().enumerate().filter_map(ticket).collect()
}

/// The random assignment of each participant, from the database.
async fn assignments(data: &Path) -> anyhow::Result<BTreeMap<String, Assignment>> {
    let store = SqliteStore::read(data).await?;
    let sessions = store.sessions().await?;
    store.close().await;
    let drawn = sessions.into_iter().map(|session| {
        let progress: study::Progress = serde_json::from_str(&session.position)?;
        Ok((session.participant, progress.assignment().clone()))
    });
    drawn.collect()
}
