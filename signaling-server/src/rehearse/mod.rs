//! `coplay rehearse`: bots take part in a study through the real server and its protocol, before people do.
//!
//! The server is the program itself, in a process of its own with its own database and archive. Its clock and the
//! bots' run faster than life, as fast as the machine keeps up with: when it lags behind, time goes slower, so that
//! nobody takes a busy machine for a bad network. Everything else is as in a study.

mod answers;
mod bot;
mod door;
mod fault;
mod hands;
mod host;
mod judge;
mod pacer;
mod record;
mod report;
mod said;
mod trace;
mod wire;

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use study::assign::Rng;
use study::{Assignment, Kind, Playable, Study};
use tokio::sync::watch;
use tokio::task::LocalSet;

use crate::clock::{Clock, Pace};
use crate::networks;
use crate::server::{StartError, read_study};
use crate::store::{self, SqliteStore, Store as _};
use bot::{Around, Ticket};
use door::Door;
use host::{Host, Place};
use pacer::Pacer;
use record::{Phase, Shared};

pub use fault::{Fault, Faults};
pub use report::Report;

/// How a rehearsal goes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program whose `serve` is the server.
    pub program: PathBuf,
    /// Study folder.
    pub study: PathBuf,
    /// A new data folder that is kept; none for one that is removed at the end.
    pub data: Option<PathBuf>,
    /// Sessions.
    pub sessions: usize,
    /// What goes wrong.
    pub faults: Faults,
    /// How often the server is killed, if that goes wrong.
    pub kills: usize,
    /// People who come in a minute, on average.
    pub arrivals_per_min: f64,
    /// What everything is drawn from.
    pub seed: u64,
    /// How many times as fast as life time goes at most.
    pub speed: f64,
}

/// A second, microseconds.
const S: u64 = 1_000_000;

/// How often the rehearsal looks at how it goes.
const LOOKS: Duration = Duration::from_millis(50);

/// What is drawn for the rehearsal itself.
const OF_REHEARSAL: u64 = 1;

/// What is drawn for each session.
const OF_SESSION: u64 = 2;

/// Rehearses a study.
///
/// # Errors
/// [`StartError::Study`] with what is wrong in it, or why it cannot be rehearsed here. What went wrong in the
/// rehearsal is in the [`Report`].
pub async fn rehearse(options: &Options) -> Result<Report, StartError> {
    let (study, facts) = read_study(&options.study).map_err(StartError::Study)?;
    Ok(rehearsed(options, study, &facts).await?)
}

async fn rehearsed(options: &Options, study: Study, facts: &Playable) -> anyhow::Result<Report> {
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
    let mut stage = Rehearsal::open(options, Arc::new(study), facts, place).await?;
    let began = Instant::now();
    stage.run().await?;
    stage.settle().await?;
    let took = began.elapsed();
    stage.cpu_s += stage.host.cpu_s().unwrap_or(0.0);
    let out = scratch.path().join("tables");
    let report = judge::judge(stage.over(took).await?, &data, &out).await?;
    Ok(report)
}

/// # Errors
/// Why not.
fn can_be_rehearsed(study: &Study) -> anyhow::Result<()> {
    let many = |kind: &Kind| matches!(kind, Kind::Env(env) if env.people() > 1);
    let together = study.timeline.iter().any(|stage| many(&stage.kind));
    anyhow::ensure!(
        study.net.fallback || !together,
        "the study has `net: {{fallback: none}}`, and bots have no WebRTC: they play through the server's WebSockets. \
         Rehearse a copy with `fallback: websocket`"
    );
    Ok(())
}

/// What a rehearsal has found out by itself; the data say the rest.
pub(crate) struct Played {
    options: Options,
    study: Arc<Study>,
    /// By what the data know each session, and what is known of it here.
    sessions: Vec<(String, Shared)>,
    /// What was drawn for participants, each time that the server had been killed.
    snapshots: Vec<BTreeMap<String, Assignment>>,
    /// Time of the study that passed, and of the machine.
    lasted_us: u64,
    took: Duration,
    cpu_s: f64,
    round_trips: Vec<u64>,
    kills: usize,
    log: String,
}

/// A rehearsal that runs.
struct Rehearsal {
    options: Options,
    study: Arc<Study>,
    place: Place,
    host: Host,
    pacer: Pacer,
    clock: Clock,
    address: watch::Sender<Option<String>>,
    sessions: Vec<(String, Shared)>,
    round_trips: Arc<Mutex<Vec<u64>>>,
    began_us: u64,
    /// When the server is killed next, the last one first, microseconds.
    kills: Vec<u64>,
    killed: usize,
    snapshots: Vec<BTreeMap<String, Assignment>>,
    cpu_s: f64,
    line: Line,
}

impl Rehearsal {
    async fn open(
        options: &Options,
        study: Arc<Study>,
        facts: &Playable,
        place: Place,
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
            line: Line::new(),
        };
        rehearsal.send_bots(tickets)?;
        Ok(rehearsal)
    }

    /// Has the bots take part, on a few threads: a peer stays on the thread that it began on.
    fn send_bots(&self, tickets: Vec<Ticket>) -> anyhow::Result<()> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.div_ceil(2).min(tickets.len()).max(1);
        let mut shares: Vec<Vec<Ticket>> = vec![Vec::new(); threads];
        for (at, ticket) in tickets.into_iter().enumerate() {
            shares[at % threads].push(ticket);
        }
        for (number, share) in shares.into_iter().enumerate() {
            let (study, clock) = (Arc::clone(&self.study), self.clock.clone());
            let (address, round_trips) = (self.address.subscribe(), Arc::clone(&self.round_trips));
            let lag = self.pacer.meter();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            let work = move || {
                let around = Rc::new(Around {
                    partners: networks::partners(&study),
                    study,
                    clock,
                    address,
                    round_trips,
                });
                let local = LocalSet::new();
                local.spawn_local(lag.measure());
                let bots = share.into_iter().map(|ticket| {
                    let around = Rc::clone(&around);
                    local.spawn_local(bot::take_part(around, ticket))
                });
                let bots: Vec<_> = bots.collect();
                local.block_on(&runtime, async {
                    for bot in bots {
                        // A panic of a bot is found as a session that goes nowhere.
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

    /// Until every bot is done.
    async fn run(&mut self) -> anyhow::Result<()> {
        loop {
            let phases = self.phases();
            if phases.iter().all(Phase::is_over) {
                return Ok(());
            }
            let playing = phases.iter().filter(|phase| phase.is_playing()).count();
            let is_empty = phases
                .iter()
                .all(|phase| phase.is_over() || *phase == Phase::Coming);
            self.pacer.look(&mut self.host, playing, is_empty).await;
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

    /// Kills the server, looks at what is left, and starts it again.
    async fn kill(&mut self) -> anyhow::Result<()> {
        self.pacer.slow(&mut self.host).await;
        self.cpu_s += self.host.cpu_s().unwrap_or(0.0);
        let port = self.host.port();
        self.address.send_replace(None);
        // The old process goes before the new one comes.
        let (pace, place) = (self.pacer.pace(), self.place.clone());
        self.host.kill().await?;
        self.killed += 1;
        self.snapshots.push(assignments(&place.data).await?);
        self.host = Host::start(&place, port, &pace).await?;
        self.address.send_replace(Some(self.host.address.clone()));
        Ok(())
    }

    /// Until the server has ended by its own rules what nobody comes back to: every episode, and every session if the
    /// study lets sessions expire.
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

/// Tells how it goes: one line over the one before where a person reads it, and a line now and then elsewhere.
struct Line {
    is_terminal: bool,
    told: Instant,
}

impl Line {
    fn new() -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            told: Instant::now(),
        }
    }

    fn tell(&mut self, line: impl FnOnce() -> String) {
        let each = Duration::from_millis(if self.is_terminal { 200 } else { 5_000 });
        if self.told.elapsed() < each {
            return;
        }
        self.told = Instant::now();
        // Nobody may be reading; that is no reason to stop.
        let _ = match self.is_terminal {
            true => write!(std::io::stderr(), "\r\x1b[2K{}", line()),
            false => writeln!(std::io::stderr(), "{}", line()),
        };
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.is_terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// Who comes when, and what goes wrong with whom.
fn tickets(
    options: &Options,
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
        Some(Ticket {
            rng: Rng::of(options.seed, &[OF_SESSION, number as u64]),
            door: Door::of(study, number, links.get(number))?,
            arrives_us: at_us,
            fault,
            record: Shared::new(number, fault),
        })
    };
    scripts.into_iter().enumerate().filter_map(ticket).collect()
}

/// What was drawn for each participant, as the database has it.
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
